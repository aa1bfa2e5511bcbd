import { describe, expect, it } from 'vitest';
import { expectCalm, hostileDaemon, post, SECRET } from './hostile-daemon.ts';

const hostile = hostileDaemon();

const IMAGES = 'POST /images/generations';
const draw = () => post(hostile(), '/v1/images/generations/sync', { model: 'draws', prompt: 'a' });

describe('whatever a provider sends', () => {
  it('a download that is slower than the disk leaves the daemon awake', async () => {
    const { provider } = hostile();
    provider.images('url');
    provider.next('GET /files/:id', { trickle: { pieces: 8, pause: 20 } });
    expect(await draw()).toMatchObject({ status: 200, json: { data: [{}] } });
    provider.reset();
  });

  it('an answer made of lists is not even parsed', async () => {
    const lists = `{"data":[${'[],'.repeat(250_000)}1]}`;
    hostile().provider.next(IMAGES, { type: 'application/json', body: lists });
    const { json } = await draw();
    expect(json.error).toMatchObject({ type: 'billable_error', code: 'invalid_upstream_answer' });
    expect(json.error.message).toContain('no JSON');
  });

  it.each([`http://${SECRET}.invalid/a.png`, `http://127.0.0.1:1/${SECRET}`])(
    'a key in the address of a result is not told: %s',
    async (url) => {
      hostile().provider.next(IMAGES, { body: { data: [{ url }] } });
      const { json, text } = await draw();
      expect(json.error).toMatchObject({ type: 'billable_error' });
      expect(text).not.toContain(SECRET);
    },
  );

  it('a key among the names of a moderation is not told', async () => {
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

  it('scores that are no numbers in JSON are no scores', async () => {
    const body =
      '{"id":"a","model":"b","results":[{"flagged":false,"categories":{"a":false},"category_scores":{"a":1e999}}]}';
    hostile().provider.next('POST /moderations', { type: 'application/json', body });
    expect(await post(hostile(), '/v1/moderations', { model: 'judges', input: 'a' })).toMatchObject(
      { status: 502, json: { error: { code: 'invalid_upstream_answer' } } },
    );
  });

  it('what is said of a job is short', async () => {
    const { daemon, provider } = hostile();
    provider.next('GET /videos/:id', { body: { status: 'completed', x: 'a'.repeat(2 ** 21) } });
    const made = await post(hostile(), '/v1/videos/generations', { model: 'films', prompt: 'a' });
    const look = async () => (await daemon.request(made.json.poll_url)).json();
    await expect
      .poll(look, { timeout: 20_000 })
      .toMatchObject({ status: 'failed', error: { code: 'upstream_answer_too_large' } });
  });

  it('it leaves no trace', () => expectCalm(hostile()));
});
