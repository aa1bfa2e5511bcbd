import type { FastifyRequest } from 'fastify';
import type { Store } from '../store/store.ts';
import { CLIENT_CLOSED_REQUEST } from './transport/client-disconnect.ts';

/**
 * Adds a request for text or embeddings that failed to the day's usage of its key and model, once if it was metered too. Its cost is that of
 * a free request: the store writes all of a turn of the event loop together. Failures before the model is known,
 * and clients that disconnect, do not count.
 */
export function recordError(request: FastifyRequest, status: number, store: Store): void {
  const { holder, failure, textReport: report } = request;
  if (!report || report.model === null || status === CLIENT_CLOSED_REQUEST) return;
  if (failure === null && report.failure === null) return;
  const payer = { accountId: holder.account.id, keyId: holder.key.id };
  const metered = {
    model: report.model,
    counts: { requests: report.usage === null ? 1 : 0, errors: 1 },
    charge: 0,
  };
  // A key may have been deleted during its request.
  store.settle(payer, metered).catch((error: unknown) => {
    request.log.debug({ err: error, requestId: request.id }, 'an error was not counted');
  });
}
