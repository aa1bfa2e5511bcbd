import type { FastifyReply } from 'fastify';
import { codedFailure, type Failure } from '../../failure.ts';

/** Status in the log of a response whose client disconnected; nginx uses the same number. */
export const CLIENT_CLOSED_REQUEST = 499;

/** The failure of a request whose client disconnected. */
export const clientLeft = (): Failure => codedFailure('client_left', 'the client disconnected');

/** Calls `abort` once if the client disconnects before it has the whole response. */
export function onClientDisconnect(
  { raw: response }: FastifyReply,
  abort: (failure: Failure) => void,
): void {
  const onClose = () => {
    if (!response.writableFinished) abort(clientLeft());
  };
  // The connection may already be closed when this is called.
  if (response.destroyed) onClose();
  else response.once('close', onClose);
}

/** A signal that aborts when the client disconnects; its reason is a Failure. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  onClientDisconnect(reply, (failure) => controller.abort(failure));
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
