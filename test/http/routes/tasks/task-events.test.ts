import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashOf } from '../../../../src/store/key.ts';
import { claimOf } from '../../../store/consistency.ts';
import { KEYS } from '../../test-server.ts';
import { mediaServer } from '../media-server.ts';

const server = mediaServer();

interface Event {
  readonly id?: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Opens a stream of events. */
async function open(key: string = KEYS.a, headers: Record<string, string> = {}) {
  const controller = new AbortController();
  const response = await fetch(`${server().url}/v1/tasks/events`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: controller.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<Event | null> => {
    while (!text.includes('\n\n')) {
      const { value, done } = await reader.read();
      if (done) return null;
      text += value;
    }
    const end = text.indexOf('\n\n');
    const fields = text
      .slice(0, end)
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
    text = text.slice(end + 2);
    const { id, event = '', data = 'null' } = Object.fromEntries(fields) as Record<string, string>;
    return { ...(id !== undefined && { id }), event, data: JSON.parse(data) as Event['data'] };
  };
  return { status: response.status, next, close: () => controller.abort() };
}

async function newTask(key: string = KEYS.a, model = 'image'): Promise<string> {
  const path = model === 'video' ? '/v1/videos/generations' : '/v1/images/generations';
  const body = { model, prompt: 'a lighthouse' };
  const { json } = await server().post(path, body, { authorization: `Bearer ${key}` });
  return String(json!['task_id']);
}

const taskOf = async (key: string, id: string) => {
  const { account } = (await server().store.findKey(hashOf(key)))!;
  return (await server().store.findTask(account.id, id))!;
};

describe('GET /v1/tasks/events', () => {
  it('begins with open tasks, then has changes of the own account only', async () => {
    const before = await newTask();
    const stream = await open();
    expect(await stream.next()).toMatchObject({ event: 'open', data: { complete: true } });
    expect((await stream.next())!.data).toMatchObject({ task_id: before, status: 'pending' });
    const foreign = await newTask(KEYS.b);
    server().taskEvents.changed(await taskOf(KEYS.b, foreign));
    const ended = await server().store.expireTask(await claimOf(server().store, before));
    server().taskEvents.changed(ended);
    const event = await stream.next();
    expect(event).toMatchObject({ event: 'task', data: { task_id: before, status: 'expired' } });
    stream.close();
    const resumed = await open(KEYS.a, { 'last-event-id': event!.id! });
    await resumed.next();
    expect((await resumed.next())!.data).toMatchObject({ task_id: before, status: 'expired' });
    resumed.close();
  });

  it('answers HEAD at once instead of opening a stream', async () => {
    const response = await fetch(`${server().url}/v1/tasks/events`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${KEYS.a}` },
    });
    expect(response.status).toBe(404);
  });

  it('is limited by account, and frees its place when the client disconnects', async () => {
    const streams = await Promise.all(Array.from({ length: 16 }, () => open(KEYS.b)));
    const { status, json } = await server().ask('/v1/tasks/events', {
      headers: { authorization: `Bearer ${KEYS.b}` },
    });
    expect([status, json]).toMatchObject([429, { error: { code: 'too_many_streams' } }]);
    const other = await open();
    expect(other.status).toBe(200);
    other.close();
    for (const stream of streams) stream.close();
    while ([...server().taskEvents.accounts()].length > 0) await new Promise(setImmediate);
  });
});

describe('GET /v1/tasks/events after the key was revoked', () => {
  it('ends', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const stream = await open(KEYS.free);
    await stream.next();
    // The first check has a valid key.
    vi.advanceTimersByTime(10_000);
    const { key } = (await server().store.findKey(hashOf(KEYS.free)))!;
    await server().store.revokeKey(key.id);
    vi.advanceTimersByTime(10_000);
    expect(await stream.next()).toBeNull();
  });
});

describe('GET /v1/tasks', () => {
  it('has tasks of a model and of days', async () => {
    const video = await newTask(KEYS.a, 'video');
    await newTask();
    const ids = async (query: string) => {
      const { json } = await server().ask(`/v1/tasks?${query}`);
      return (json!['data'] as { task_id: string }[]).map(({ task_id: id }) => id);
    };
    expect(await ids('model=video')).toEqual([video]);
    const today = new Date().toISOString().slice(0, 10);
    expect(await ids(`model=video&from=${today}&to=${today}`)).toEqual([video]);
    expect(await ids('from=2001-01-01&to=2001-01-02')).toEqual([]);
    const { json } = await server().ask('/v1/tasks?model=image&limit=1');
    expect(json).toMatchObject({ has_more: true });
  });

  it('answers searches after others that failed or whose clients disconnected', async () => {
    await newTask();
    const search = (query = '', signal?: AbortSignal) =>
      fetch(`${server().url}/v1/tasks?model=none${query}`, {
        headers: { authorization: `Bearer ${KEYS.a}` },
        ...(signal && { signal }),
      }).then(({ status }) => status);
    const aborted = Array.from({ length: 10 }, () => {
      const controller = new AbortController();
      const answer = search('', controller.signal).catch(() => null);
      controller.abort();
      return answer;
    });
    const failed = Array.from({ length: 10 }, () => search('&after=task_x'));
    const found = Array.from({ length: 10 }, () => search());
    await Promise.all(aborted);
    expect(new Set(await Promise.all(failed))).toEqual(new Set([404]));
    expect(new Set(await Promise.all(found))).toEqual(new Set([200]));
  });
});

describe('GET /v1/tasks/{task_id}/timeline', () => {
  it('has the times, the attempts and the charge; 404 for another account', async () => {
    const id = await newTask();
    await server().store.claimTask(id);
    server().taskAttempts.add(id, null);
    const { json } = await server().ask(`/v1/tasks/${id}/timeline`);
    const time = expect.closeTo(Date.now() / 1000, -2);
    expect(json).toMatchObject({
      task_id: id,
      status: 'processing',
      created: time,
      started: time,
      ended: null,
      starts: 1,
      attempts: [{ at: time, error: null }],
      credits: { reserved: 0, charged: 0 },
    });
    expect(json!['request']).toEqual({ prompt: 'a lighthouse', n: 1, edit: false });
    const headers = { authorization: `Bearer ${KEYS.b}` };
    expect((await server().ask(`/v1/tasks/${id}/timeline`, { headers })).status).toBe(404);
  });
});

describe('GET /v1/tasks/events while the server drains', () => {
  it('ends, and is refused', async () => {
    const stream = await open(KEYS.b);
    server().drain.abort();
    while ((await stream.next()) !== null);
    const { status, json } = await server().ask('/v1/tasks/events');
    expect([status, json]).toMatchObject([503, { error: { code: 'shutting_down' } }]);
  });
});
