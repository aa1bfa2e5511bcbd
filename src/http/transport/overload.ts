import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/schema.ts';
import { overloaded } from '../errors.ts';
import { Pressure } from './pressure.ts';

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
): Pressure {
  const pressure = new Pressure(memory);
  server.addHook('onClose', async () => pressure.close());
  server.addHook('onRequest', (request, _reply, next) => {
    const isLate = pressure.delay > eventLoopDelay;
    // Health and metrics are served under overload, so that operators can see its cause.
    if ((!isLate && pressure.freeMemory > 0) || request.routeOptions.config.vital) next();
    else
      next(
        overloaded(
          `the server is overloaded: ${isLate ? 'its event loop is late' : 'memory is short'}`,
        ),
      );
  });
  return pressure;
}
