import type { FastifyReply } from 'fastify';
import { Failure } from '../../failure.ts';

/** Status in the log of a response whose client disconnected; nginx uses the same number. */
export const CLIENT_CLOSED_REQUEST = 499;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the request was logged although its response did not end. */
    isAbandoned: boolean;
  }
  interface FastifyReply {
    /** Logs and counts a request whose client has disconnected. */
    abandon(): void;
  }
}

/** Calls `abort` once if the client disconnects before it has the whole response. */
export function onClientDisconnect(reply: FastifyReply, abort: (failure: Failure) => void): void {
  const { raw: response } = reply;
  const onClose = () => {
    if (response.writableFinished) return;
    const failure = new Failure('invalid_request', 'the client disconnected', {
      code: 'client_left',
      status: CLIENT_CLOSED_REQUEST,
    });
    reply.request.failure = failure;
    abort(failure);
  };
  // The connection may already be closed when this is called.
  if (response.destroyed) onClose();
  else response.once('close', onClose);
}

/** Logs a request, once its handler is done, if its client has disconnected before the end of the response. */
export function logIfAbandoned(reply: FastifyReply): void {
  if (reply.raw.destroyed && !reply.raw.writableFinished) reply.abandon();
}

/**
 * A signal that aborts when the client disconnects; its reason is a Failure. The request is logged then, unless
 * its handler has more to say of it afterwards.
 */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  onClientDisconnect(reply, (failure) => {
    controller.abort(failure);
    // A text report is filled until the handler ends.
    if (reply.request.textReport === null) reply.abandon();
  });
  return controller.signal;
}

/** Resolves with the promise, or rejects with the signal's reason if it aborts first. */
export async function abortable<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
