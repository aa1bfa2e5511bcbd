import type { FastifyReply } from 'fastify';
import { Failure } from '../../failure.ts';

/** What stands in the log for an answer that nobody was there to get; nginx's number for it. */
const CLIENT_CLOSED_REQUEST = 499;

/** Tells when the client leaves before it has the whole answer. */
export function onDeparture({ raw }: FastifyReply, abort: (failure: Failure) => void): void {
  const leave = () => {
    if (raw.writableFinished) return;
    const failure = new Failure('invalid_request', 'the client left', {
      code: 'client_left',
      status: CLIENT_CLOSED_REQUEST,
    });
    abort(failure);
  };
  // Who has left already leaves no more.
  if (raw.destroyed) leave();
  else raw.once('close', leave);
}

/** Aborted when the client leaves before it has the whole answer; its reason is a Failure. */
export function departureOf(reply: FastifyReply): AbortSignal {
  const departure = new AbortController();
  onDeparture(reply, (failure) => departure.abort(failure));
  return departure.signal;
}

/** What a promise gives, or the signal's reason where that is aborted first. */
export async function unless<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  let leave = () => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([promise, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
