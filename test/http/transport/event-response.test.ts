import fastify from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { sendFailure } from '../../../src/http/responses/errors.ts';
import { sendEvents } from '../../../src/http/transport/sse-response.ts';

const KEEP_ALIVE_MS = 15_000;

/** Serves one stream of events, and returns the response to a request for it. */
async function responseOf(pieces: () => AsyncIterable<string>) {
  const server = fastify();
  server.decorateRequest('failure', null);
  server.setErrorHandler(sendFailure);
  const failures: (Failure | null)[] = [];
  server.addHook('onResponse', async ({ failure }) => {
    failures.push(failure);
  });
  server.get('/', (request, reply) => sendEvents(request, reply, pieces()));
  const response = await fetch(await server.listen({ port: 0 }));
  const text = await response.text().catch((error: Error) => error.message);
  await server.close();
  return { status: response.status, text, failures };
}

const failure = new Failure('timeout', 'too late', { code: 'task_running' });

/** Events of which none comes. */
function failsAfter(wait: () => Promise<void>): AsyncIterable<string> {
  const next = async () => {
    await wait();
    throw failure;
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

describe('a stream of events', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is an error with its status where it fails before it begins', async () => {
    const { status, text, failures } = await responseOf(() => failsAfter(async () => {}));
    expect([status, JSON.parse(text).error.code]).toEqual([504, 'task_running']);
    expect(failures).toEqual([failure]);
  });

  it('has comments until its first event, and an error as event after them', async () => {
    const { status, text, failures } = await responseOf(() =>
      failsAfter(async () => {
        vi.advanceTimersByTime(2 * KEEP_ALIVE_MS);
        await new Promise(setImmediate);
      }),
    );
    expect([status, failures]).toEqual([200, [failure]]);
    const [comment, ...rest] = text.trim().split('\n\n');
    expect(comment).toBe(': keep-alive');
    expect(rest.at(-1)).toMatch(
      /^event: error\ndata: {"type":"error","error":{"type":"timeout","message":"too late",.*"code":"task_running"}}$/,
    );
  });

  it('has no comments within an event that comes in pieces', async () => {
    const { text } = await responseOf(async function* () {
      yield 'data: {"a":';
      vi.advanceTimersByTime(2 * KEEP_ALIVE_MS);
      await new Promise(setImmediate);
      vi.advanceTimersByTime(2 * KEEP_ALIVE_MS);
      yield '1}\n\n';
    });
    expect(text).toBe('data: {"a":1}\n\n');
  });

  it('is cut where it fails within an event', async () => {
    const { status, text } = await responseOf(async function* () {
      yield 'data: {"a":';
      await new Promise(setImmediate);
      throw failure;
    });
    expect([status, text]).toEqual([200, 'terminated']);
  });
});
