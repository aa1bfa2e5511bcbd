import { access } from 'node:fs/promises';
import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import type { AppContext } from '../app-context.ts';
import { draining } from '../errors.ts';

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
export function healthRoutes(context: AppContext): FastifyPluginAsync {
  const probe = sharedProbe(context);
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
          'Whether requests are welcome: 503 while the daemon drains, its store cannot be written, its disk does not answer or image work is stuck',
        tags: ['Operation'],
        security: [],
        response: { 200: readiness },
      },
      handler: async () => {
        if (context.draining.aborted) throw draining();
        const { fault, checkpointFault: reason } = context.store.health();
        if (fault !== null) {
          throw new Failure('service_error', fault, { status: 503, code: 'store_unavailable' });
        }
        const stuck = await probe();
        if (stuck !== null) throw stuck;
        return { status: 'ok', ...(reason !== null && { store: { status: 'degraded', reason } }) };
      },
    });
  };
}

/** Milliseconds for the disk to answer, and for image work to be begun. */
const PROBE_PATIENCE = 5000;

/**
 * Asks the disk and the image pool. Requests meanwhile share one look: on a disk that hangs, each
 * would hold one of libuv's threads for ever.
 */
function sharedProbe({ pool, config }: AppContext): () => Promise<Failure | null> {
  let disk: Promise<string | null> | undefined;
  let current: Promise<Failure | null> | undefined;
  const askDisk = () => {
    disk ??= access(config.dataDir).then(
      () => null,
      ({ message }: Error) => message,
    );
    const answered = disk.finally(() => {
      disk = undefined;
    });
    const patience = PROBE_PATIENCE / 1000;
    return within(answered, PROBE_PATIENCE, `no answer within ${patience} s`);
  };
  const ask = async () => {
    const [diskFault, poolFault] = await Promise.all([askDisk(), pool.probe(PROBE_PATIENCE)]);
    if (diskFault !== null) return unavailable('disk_unavailable', `the data folder: ${diskFault}`);
    if (poolFault !== null) return unavailable('pool_unavailable', poolFault);
    return null;
  };
  return () => {
    current ??= ask().finally(() => {
      current = undefined;
    });
    return current;
  };
}

function within<Result>(
  work: Promise<Result>,
  milliseconds: number,
  late: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve(late), milliseconds);
  });
  return Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
}

function unavailable(code: string, message: string): Failure {
  return new Failure('service_error', message, { status: 503, code });
}
