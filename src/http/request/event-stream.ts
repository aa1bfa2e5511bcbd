import { setMaxListeners } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { codedFailure } from '../../failure.ts';
import { Sums } from '../../store/sums.ts';
import { shuttingDown } from '../responses/errors.ts';
import { SseResponse } from '../transport/sse-response.ts';
import type { AppContext } from './app-context.ts';
import { isStillValid } from './auth.ts';

/** Streams of one account, and of all: each holds a connection. */
const MAX_PER_ACCOUNT = 16;
const MAX_STREAMS = 512;

/** Bytes that wait for a slow client before its connection is closed. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Interval at which the key or the session of a stream is checked. */
const KEY_CHECK_MS = 10_000;

/** Sends frames of server-sent events. */
export type SendFrames = (frames: string) => void;

/** What a stream has. */
export interface EventSource {
  /** @returns ends the subscription */
  subscribe(send: SendFrames): () => void;
  /** Sends the first events. */
  begin(send: SendFrames): Promise<void>;
}

/** Open streams by server and account. */
const OPEN = new WeakMap<AppContext, Sums>();

/**
 * Streams events until the client disconnects, the key ends or the server drains.
 *
 * @throws Failure rate_limit `too_many_streams`
 */
export async function streamEvents(
  context: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  source: EventSource,
): Promise<void> {
  const { draining } = context;
  if (draining.aborted) throw shuttingDown();
  const { id } = request.holder.account;
  const open = OPEN.get(context) ?? new Sums();
  // Every stream listens.
  if (!OPEN.has(context)) setMaxListeners(0, draining);
  OPEN.set(context, open);
  if (open.total >= MAX_STREAMS || open.of(id) >= MAX_PER_ACCOUNT) {
    throw codedFailure(
      'too_many_streams',
      'too many streams of events are open; close one of them',
      { retryAfter: KEY_CHECK_MS / 1000 },
    );
  }
  open.add(id, 1);
  const { raw } = reply;
  const stream = new SseResponse(reply);
  const send = (frames: string) => {
    if (raw.destroyed) return;
    stream.write(frames);
    // A client that does not read must not fill the memory.
    if (raw.writableLength > MAX_WAITING_BYTES) raw.destroy();
  };
  const unsubscribe = source.subscribe(send);
  let timer: NodeJS.Timeout | undefined;
  let end = () => {};
  try {
    await source.begin(send);
    stream.keepAlive();
    await new Promise<void>((resolve) => {
      end = resolve;
      timer = setInterval(() => {
        // The store may fail at present: the next interval tries again.
        isStillValid(context, request).then(
          (isValid) => !isValid && end(),
          () => {},
        );
      }, KEY_CHECK_MS);
      draining.addEventListener('abort', end);
      raw.once('close', end);
      if (draining.aborted || raw.destroyed) end();
    });
  } finally {
    clearInterval(timer);
    draining.removeEventListener('abort', end);
    unsubscribe();
    open.add(id, -1);
    stream.end();
  }
}
