import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { overloaded } from './errors.ts';
import type { Gateway } from './gateway.ts';

/** Milliseconds between two measurements of the library. */
const INTERVAL = 1000;

/** Refuses requests while the process cannot keep up, rather than let all of them wait. */
export async function shedLoad(server: FastifyInstance, { config }: Gateway): Promise<void> {
  const { eventLoopDelay, memory } = config.overload;
  await server.register(underPressure, {
    maxEventLoopDelay: eventLoopDelay,
    ...(memory !== undefined && { maxRssBytes: memory }),
    pressureHandler: (request, _reply, type, value) => {
      // Whoever looks after the daemon must be able to see what is wrong with it.
      if (request.routeOptions.config.vital) return;
      // After a stall of an interval, in which nothing was measured, the library says that it is infinite.
      if (type === 'eventLoopDelay' && value === Infinity && eventLoopDelay > INTERVAL) return;
      throw overloaded('the server is overloaded');
    },
  });
}
