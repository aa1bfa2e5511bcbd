import { expect, it } from 'vitest';
import { mediaDaemon, PROVIDER_KEYS } from './media-daemon.ts';

const PATH = '/v1/moderations';
const POST = 'POST /moderations';

const media = mediaDaemon({ routing: { retries: 1, cooldown: { after: 0 } } });

it('returns one result per text, and is charged per request', async () => {
  const { first, ann } = await media.fresh();
  const { status, body } = await ann.post(PATH, { model: 'judge', input: ['fine', 'flag'] });
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: expect.any(String), model: expect.any(String) });
  expect(body.results.map(({ flagged }: { flagged: boolean }) => flagged)).toEqual([false, true]);
  expect(body.results[1]).toMatchObject({
    categories: { violence: true, illicit: false },
    category_scores: { violence: 0.9, illicit: 0 },
  });
  const asked = first.only();
  expect(asked.json).toEqual({ model: 'upstream-moderation', input: ['fine', 'flag'] });
  expect(asked.headers.authorization).toBe(`Bearer ${PROVIDER_KEYS.first}`);
  // On disk some milliseconds after the answer.
  await expect.poll(() => ann.credits()).toMatchObject({ reserved: 0, spent: 0.5 });
});

it('uses the default model where none is named', async () => {
  const { ann } = await media.fresh();
  const parts = [
    { type: 'text', text: 'flag' },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
  ];
  const { status, body } = await ann.post(PATH, { input: parts });
  expect([status, body.results.length]).toEqual([200, 1]);
});

it('retries after a failure, and charges once', async () => {
  const { first, ann } = await media.fresh();
  first.next(POST, { status: 500, body: 'no' });
  expect((await ann.post(PATH, { model: 'judge', input: 'fine' })).status).toBe(200);
  expect(first.to(POST)).toHaveLength(2);
  // On disk some milliseconds after the answer.
  await expect.poll(() => ann.credits()).toMatchObject({ reserved: 0, spent: 0.5 });
});

it.each([
  ['fails', { status: 500, body: `no ${PROVIDER_KEYS.first}` }, 502, 'service_error'],
  ['sends a page', { body: '<html>' }, 502, 'service_error'],
])('releases the reservation where the provider %s', async (_, behaviour, status, type) => {
  const { first, ann } = await media.fresh();
  first.always(POST, behaviour);
  const answer = await ann.post(PATH, { model: 'judge', input: 'fine' });
  expect(answer.status).toBe(status);
  expect(answer.body.error).toMatchObject({ type });
  expect(answer.body.error.message).not.toContain('5ecre7');
  expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0, available: 1000 });
});

it('is refused without credits, and with an invalid body', async () => {
  const { first, ann } = await media.fresh({ credits: '0.4' });
  const { status, body } = await ann.post(PATH, { model: 'judge', input: 'fine' });
  expect([status, body.error.type]).toEqual([402, 'insufficient_quota']);
  const invalid = await ann.post(PATH, { model: 'judge', input: ['a', 5] });
  expect([invalid.status, invalid.body.error.param]).toEqual([400, 'input[1]']);
  expect(first.requests).toHaveLength(0);
});
