import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';

let waiting: (() => void)[] = [];
let isScheduled = false;

function run(): void {
  isScheduled = false;
  const all = waiting;
  waiting = [];
  for (const work of all) work();
}

/**
 * Schedules the end of this tick before there is work for it. Work that an earlier callback of the same phase of
 * the event loop adds then runs in this tick, not in the next: one system call less.
 */
export function scheduleEndOfTick(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(run);
}

/**
 * Runs some work at the end of this tick of the event loop, when all data that has arrived is read.
 *
 * @param work must not throw
 */
export function atEndOfTick(work: () => void): void {
  scheduleEndOfTick();
  waiting.push(work);
}

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
