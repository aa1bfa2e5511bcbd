import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gate } from '../../gate.ts';
import { started, succession } from './restart.ts';

const POST = 'POST /images/generations';
const NEVER = { wait: new Promise(() => {}) };
const NONE = { server: { grace: '0s' } };
const DONE = { status: 'completed', error: null };
const MANY = 12;

const routing = (afterCrash: string, more: object = {}) => ({
  routing: { retries: 0, cooldown: { after: 0 }, ...more, afterCrash },
});
const FAILED = { status: 'failed', error: { type: 'billable_error', code: 'interrupted_call' } };

/** How far the journal says that the call of its only task got. */
function lastCall(data: string): string | undefined {
  const folder = join(data, 'store', 'journal');
  const lines = readdirSync(folder)
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'latin1').split('\n'));
  const last = lines.findLast((line) => line.includes('"progress"'))!;
  return /"call":"(\w+)"/.exec(last)?.[1];
}

describe('a crash during a billable provider call', () => {
  it('repeats the request by default', async () => {
    const { first, next, daemon, ann } = await started(NONE);
    first.always(POST, NEVER);
    const ids = [];
    for (let n = 0; n < MANY; n += 1) ids.push(await ann.begin({ model: 'any' }));
    await first.received(POST, 7);
    await daemon.stop('SIGKILL');
    first.reset();
    const { daemon: second, ann: again } = await next();
    for (const id of ids) expect(await again.ended(id)).toMatchObject(DONE);
    expect(first.to(POST)).toHaveLength(MANY);
    expect(await again.credits()).toMatchObject({ reserved: 0, spent: 4 * MANY });
    const lines = second.log.filter(
      ({ msg }) => msg === 'the daemon had stopped during a request to the provider',
    );
    expect(lines.map(({ afterCrash }) => afterCrash)).toEqual(
      Array.from({ length: 8 }, () => 'retry'),
    );
  });

  it.each([
    ['kill -9', 'SIGKILL'],
    ['a stop without grace', 'SIGTERM'],
  ] as const)('fails the task after %s where routing.afterCrash is fail', async (_, signal) => {
    const { first, next, daemon, ann } = await started({ ...NONE, ...routing('fail') });
    first.always(POST, NEVER);
    const ids = [];
    for (let n = 0; n < MANY; n += 1) {
      ids.push(await ann.begin({ model: 'any', prompt: `number ${n}` }));
    }
    await first.received(POST, 7);
    const before = first.to(POST).map(({ json }) => json.prompt);
    expect(before).toHaveLength(8);
    await daemon.stop(signal);
    first.reset();
    const { ann: again } = await next();
    const ends = [];
    for (const id of ids) ends.push(await again.ended(id));
    expect(ends.filter(({ status }) => status === 'completed')).toHaveLength(MANY - 8);
    for (const end of ends) expect(end).toMatchObject(end.status === 'failed' ? FAILED : DONE);
    const after = first.to(POST).map(({ json }) => json.prompt);
    expect(new Set([...before, ...after]).size).toBe(MANY);
    expect(after).toHaveLength(MANY - 8);
    expect(await again.credits()).toMatchObject({ reserved: 0, spent: 4 * (MANY - 8) });
  });
});

describe('where routing.afterCrash is fail', () => {
  it('fails speech and video submissions as well, downloads results, polls jobs, and repeats requests that were refused or have idempotency keys', async () => {
    const { first, far, next } = await succession(routing('fail', { retries: 1 }));
    first.images('url');
    first.next(POST, { status: 429, headers: { 'retry-after': '10' }, body: 'later' });
    first.always('GET /files/:id', NEVER);
    first.jobs({ looks: 1_000_000, retryAfter: 0 });
    far.always(POST, NEVER);
    const { daemon, ann } = await next();
    const refused = await ann.begin({ model: 'any' });
    await first.received(POST);
    // The checkpoint is on disk while the task waits for its second attempt.
    await expect.poll(() => lastCall(daemon.data)).toBeUndefined();
    const image = await ann.begin({ model: 'any' });
    const film = await ann.begin({ model: 'film', duration: 2 }, '/v1/videos/generations');
    const repeated = await ann.begin({ model: 'far-native' });
    await Promise.all([first.received('GET /files/:id'), first.received('GET /videos/:id', 1)]);
    const { headers } = await far.received(POST);
    for (const path of ['POST /audio/speech', 'POST /videos']) first.always(path, NEVER);
    const submitted = [
      await ann.begin({ model: 'speech' }, '/v1/audio/generations'),
      await ann.begin({ model: 'film', duration: 2 }, '/v1/videos/generations'),
    ];
    await Promise.all([first.received('POST /audio/speech'), first.received('POST /videos', 1)]);
    await daemon.stop('SIGKILL');
    first.always('GET /files/:id', {});
    for (const job of first.shop.made.values()) Object.assign(job, { looks: 0 });
    far.always(POST, {});
    far.jobs({ looks: 0, retryAfter: 0 });
    const { ann: again } = await next();
    for (const id of [refused, image, film, repeated])
      expect(await again.ended(id)).toMatchObject(DONE);
    for (const id of submitted) expect(await again.ended(id)).toMatchObject(FAILED);
    const posts = [POST, 'POST /videos', 'POST /audio/speech'].map((path) => first.to(path).length);
    expect(posts).toEqual([3, 2, 1]);
    const { headers: same } = await far.received(POST, 1);
    expect(same['idempotency-key']).toBe(headers['idempotency-key']);
    expect(await again.credits()).toMatchObject({ reserved: 0, spent: 14 });
  });
});

it('saves a checkpoint before a billable request, and after its response', async () => {
  const { first, daemon, ann } = await started();
  const asked = gate();
  const fetched = gate();
  first.images('url');
  first.next(POST, { wait: asked.passed });
  first.next('GET /files/:id', { wait: fetched.passed });
  const id = await ann.begin({ model: 'any' });
  await first.received(POST);
  expect(lastCall(daemon.data)).toBe('asked');
  asked.open();
  await first.received('GET /files/:id');
  expect(lastCall(daemon.data)).toBe('answered');
  fetched.open();
  expect(await ann.ended(id)).toMatchObject(DONE);
});
