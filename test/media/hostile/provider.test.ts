import { describe, expect, it } from 'vitest';
import { expectCalm, hostileDaemon, post, SECRET } from './hostile-daemon.ts';

const hostile = hostileDaemon();

const IMAGES = 'POST /images/generations';
const draw = () => post(hostile(), '/v1/images/generations/sync', { model: 'draws', prompt: 'a' });

describe('a hostile provider', () => {
  it('cannot block the event loop by a download faster than the disk', async () => {
    const { provider } = hostile();
    provider.images('url');
    provider.next('GET /files/:id', { trickle: { pieces: 8, pause: 20 } });
    expect(await draw()).toMatchObject({ status: 200, json: { data: [{}] } });
    provider.reset();
  });

  it('sending nested lists is rejected before parsing', async () => {
    const lists = `{"data":[${'[],'.repeat(250_000)}1]}`;
    hostile().provider.next(IMAGES, { type: 'application/json', body: lists });
    const { json } = await draw();
    expect(json.error).toMatchObject({ type: 'billable_error', code: 'invalid_upstream_answer' });
    expect(json.error.message).toContain('no JSON');
  });

  it.each([`http://${SECRET}.invalid/a.png`, `http://127.0.0.1:1/${SECRET}`])(
    'cannot leak the key by the URL of a result: %s',
    async (url) => {
      hostile().provider.next(IMAGES, { body: { data: [{ url }] } });
      const { json, text } = await draw();
      expect(json.error).toMatchObject({ type: 'billable_error' });
      expect(text).not.toContain(SECRET);
    },
  );

  it('cannot leak the key by category names of a moderation', async () => {
    const values = <Value>(value: Value) => ({ [SECRET]: value });
    const result = { flagged: true, categories: values(true), category_scores: values(1) };
    hostile().provider.next('POST /moderations', {
      body: { id: SECRET, model: SECRET, results: [{ ...result, note: [values(SECRET)] }] },
    });
    const { status, text } = await post(hostile(), '/v1/moderations', {
      model: 'judges',
      input: 'a',
    });
    expect([status, text.includes(SECRET)]).toEqual([200, false]);
  });

  it('sending infinite scores is rejected', async () => {
    const body =
      '{"id":"a","model":"b","results":[{"flagged":false,"categories":{"a":false},"category_scores":{"a":1e999}}]}';
    hostile().provider.next('POST /moderations', { type: 'application/json', body });
    expect(await post(hostile(), '/v1/moderations', { model: 'judges', input: 'a' })).toMatchObject(
      { status: 502, json: { error: { code: 'invalid_upstream_answer' } } },
    );
  });

  it('sending a large job record is rejected', async () => {
    const { daemon, provider } = hostile();
    provider.next('GET /videos/:id', { body: { status: 'completed', x: 'a'.repeat(2 ** 21) } });
    const made = await post(hostile(), '/v1/videos/generations', { model: 'films', prompt: 'a' });
    const look = async () => (await daemon.request(made.json.poll_url)).json();
    await expect
      .poll(look)
      .toMatchObject({ status: 'failed', error: { code: 'upstream_answer_too_large' } });
  });

  it('leaves the daemon idle without errors', () => expectCalm(hostile()));
});
