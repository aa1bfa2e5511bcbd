import { describe, expect, it } from 'vitest';
import { gate } from '../../gate.ts';
import { GENERATIONS } from './client.ts';
import { started, succession } from './restart.ts';

const POST = 'POST /images/generations';
const LONG = { server: { grace: '60s' } };
const NONE = { server: { grace: '0s' } };
const NEVER = { wait: new Promise(() => {}) };
const DONE = { status: 'completed', error: null };

describe('a daemon that shuts down', () => {
  it('finishes running tasks, answers waiting clients, keeps pending tasks, and requeues those that outlast its grace', async () => {
    const { first, next, daemon, ann } = await started({ concurrency: 1, ...LONG });
    const held = gate();
    first.next(POST, { wait: held.passed });
    const sync = ann.post(`${GENERATIONS}/sync`, { model: 'any', prompt: 'at work' });
    await first.received(POST);
    const waiting = await ann.begin({ model: 'any', prompt: 'waits' });
    const ended = daemon.stop();
    // Waiting clients get 202 at once, before the task ends.
    const response = await sync;
    expect([response.status, response.body.poll_url]).toEqual([
      202,
      `/v1/tasks/${response.body.task_id}`,
    ]);
    held.open();
    expect((await ended).status).toBe(0);
    expect(first.to(POST).map(({ json }) => json.prompt)).toEqual(['at work']);

    first.always(POST, NEVER);
    const { daemon: second, ann: again } = await next(NONE);
    expect(await again.look(response.body.task_id)).toMatchObject(DONE);
    await first.received(POST, 1);
    expect(await again.look(waiting)).toMatchObject({ status: 'processing' });
    expect(await again.credits()).toMatchObject({ reserved: 4, spent: 4 });

    expect((await second.stop()).status).toBe(0);
    first.always(POST, {});
    const { ann: last } = await next();
    expect(await last.ended(waiting)).toMatchObject(DONE);
    expect(first.to(POST)).toHaveLength(3);
    expect(await last.ledger(waiting)).toEqual([
      ['reserve', 4],
      ['charge', 4],
    ]);
  });

  it("stops polling a video job and a gateway's task, which the next process resumes", async () => {
    const { first, far, next } = await succession(LONG);
    const { daemon, ann } = await next();
    const polled = [
      [first, 'film', 'POST /videos', 'GET /videos/:id'],
      [far, 'far-film', 'POST /videos/generations', 'GET /tasks/:id'],
    ] as const;
    const ids: string[] = [];
    for (const [provider, model, , look] of polled) {
      provider.jobs({ looks: 1_000_000, retryAfter: 0 });
      ids.push(await ann.begin({ model, duration: 2 }, '/v1/videos/generations'));
      await provider.received(look, 1);
    }
    expect((await daemon.stop()).status).toBe(0);
    for (const [provider] of polled) {
      for (const job of provider.shop.made.values()) Object.assign(job, { looks: 0 });
    }
    const { ann: again } = await next();
    for (const id of ids) expect(await again.ended(id)).toMatchObject(DONE);
    for (const [provider, , post] of polled) expect(provider.to(post)).toHaveLength(1);
    expect(await again.credits()).toMatchObject({ reserved: 0, spent: 4 });
  });
});
