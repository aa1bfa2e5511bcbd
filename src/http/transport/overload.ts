import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/settings/schema.ts';
import type { Failure } from '../../failure.ts';
import { overloaded } from '../responses/errors.ts';
import { Pressure } from './pressure.ts';

export interface LoadShedding {
  readonly pressure: Pressure;
  /** The failure of a request that would come now; null if it would be served. */
  readonly failure: () => Failure | null;
}

/**
 * Refuses requests while the process is overloaded, rather than let all of them wait. As memory or time
 * runs short, the server refuses in this order:
 *
 * 1. new connections (`limitConnections`);
 * 2. large bodies (`BodyBudget`);
 * 3. new requests of the account that has the most in progress (`MemoryShares`);
 * 4. here, new requests of all accounts.
 *
 * Requests in progress are finished, and vital routes always answer.
 */
export function shedLoad(
  server: FastifyInstance,
  { eventLoopDelay, memory }: Config['overload'],
): LoadShedding {
  const pressure = new Pressure(memory);
  const failure = () => {
    if (pressure.delay > eventLoopDelay) {
      return overloaded('the server is overloaded: its event loop is late');
    }
    if (pressure.freeMemory <= 0) pressure.relieve();
    return pressure.freeMemory > 0 ? null : overloaded('the server is overloaded: memory is short');
  };
  server.addHook('onListen', async () => pressure.reset());
  server.addHook('onClose', async () => pressure.close());
  server.addHook('onRequest', (request, _reply, next) => {
    // Health and metrics are served under overload, so that operators can see its cause.
    const refusal = request.routeOptions.config.vital ? null : failure();
    if (refusal === null) next();
    else next(refusal);
  });
  return { pressure, failure };
}
