import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { atEndOfTick } from './tick.ts';

/**
 * Sends all responses of one tick of the event loop at its end. Each response sent by itself wakes up its
 * client, which under load takes more CPU than the rest of the request: with 64 connections from the same
 * machine, 65 µs a request against 35 µs.
 */
export function sendTogether(server: FastifyInstance): void {
  server.addHook('onSend', (_request, { raw: response }, payload, next) => {
    atEndOfTick(() => {
      // Fastify does not close a stream whose response was closed before it began (`connections.ts`).
      if (response.destroyed && payload instanceof Readable) payload.destroy();
      try {
        next(null, payload);
      } catch (error) {
        // As Fastify handles an error that the hook throws.
        next(error as Error);
      }
    });
  });
}
