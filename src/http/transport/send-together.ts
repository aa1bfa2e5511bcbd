import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { atEndOfTick } from './tick.ts';

/**
 * Sends the answers of one turn of the event loop one right after the other. Each that is sent by
 * itself wakes up whoever waits for it, and under load that costs more than all the rest of a request:
 * at 64 connections 65 µs of processor a request against 35 µs, with clients on the same machine.
 */
export function sendTogether(server: FastifyInstance): void {
  server.addHook('onSend', (_request, { raw: response }, payload, next) => {
    atEndOfTick(() => {
      // Nobody closes the files of a stream whose response was closed before it began (`connections.ts`).
      if (response.destroyed && payload instanceof Readable) payload.destroy();
      try {
        next(null, payload);
      } catch (error) {
        // As Fastify would, had it been thrown before the hook returned.
        next(error as Error);
      }
    });
  });
}
