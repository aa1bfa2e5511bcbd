import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { draining } from './errors.ts';
import type { Gateway } from './gateway.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered under whatever load. */
    vital?: boolean;
  }
}

const health = v.object({ status: v.literal('ok') });

const readiness = v.object({
  status: v.literal('ok'),
  /** Only where the store works but needs attention. */
  store: v.optional(v.object({ status: v.literal('degraded'), reason: v.string() })),
});

/** What those who run the daemon ask it. */
export function healthRoutes(gateway: Gateway): FastifyPluginAsync {
  return async (server) => {
    server.get('/healthz', {
      config: { vital: true },
      schema: {
        summary: 'Whether the process lives',
        tags: ['Operation'],
        security: [],
        response: { 200: health },
      },
      handler: async () => ({ status: 'ok' }),
    });

    server.get('/readyz', {
      config: { vital: true },
      schema: {
        summary:
          'Whether requests are welcome: 503 while the daemon drains or its store cannot be written',
        tags: ['Operation'],
        security: [],
        response: { 200: readiness },
      },
      handler: async () => {
        if (gateway.draining.aborted) throw draining();
        const { fault, checkpointFault: reason } = gateway.store.health();
        if (fault !== null) {
          throw new Failure('service_error', fault, { status: 503, code: 'store_unavailable' });
        }
        return { status: 'ok', ...(reason !== null && { store: { status: 'degraded', reason } }) };
      },
    });
  };
}
