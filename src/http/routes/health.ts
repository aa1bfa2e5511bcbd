import { access } from 'node:fs/promises';
import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import type { AppContext } from '../app-context.ts';
import { isOperator } from '../auth.ts';
import { shuttingDown } from '../errors.ts';
import { restingUpstreams } from '../owner/resting-upstreams.ts';
import { withTimeout } from '../timeout.ts';
import type { LoadShedding } from '../transport/overload.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is served although the server is overloaded. */
    vital?: boolean;
  }
}

const health = v.object({ status: v.literal('ok') });

const readiness = v.object({
  status: v.literal('ok'),
  /** Present only if the store works but needs attention. */
  store: v.optional(v.object({ status: v.literal('degraded'), reason: v.string() })),
  /** Present only if the bucket of files cannot be used; only the operator gets the service's words. */
  assets: v.optional(v.object({ status: v.literal('degraded'), reason: v.string() })),
  /** Present only while rate limits are less exact than configured. */
  limits: v.optional(v.object({ status: v.literal('degraded'), reason: v.string() })),
  /** Present only for the operator. */
  upstreams: v.optional(
    v.object({
      routes: v.array(
        v.object({
          provider: v.string(),
          model: v.string(),
          reason: v.string(),
          until: v.string(),
        }),
      ),
      keys: v.array(
        v.object({ provider: v.string(), key: v.string(), reason: v.string(), until: v.string() }),
      ),
    }),
  ),
});

/** Milliseconds for the bucket to answer: its failure must not make this check slow for load balancers. */
const STORAGE_TIMEOUT_MS = 500;

const BUCKET_MISSING = 'the bucket of files cannot be used';

/**
 * Health checks for supervisors and load balancers.
 *
 * @param load whose refusals make the daemon unready
 * @param isPublic whether clients reach the listener, who may not learn the names of providers
 */
export function healthRoutes(
  context: AppContext,
  load: Pick<LoadShedding, 'failure'>,
  isPublic: boolean,
): FastifyPluginAsync {
  const probe = sharedProbe(context);
  // Text is served without the bucket, so that its failure does not make the daemon unready.
  const storageFault = () => withTimeout(context.assets.health(), STORAGE_TIMEOUT_MS, 'no answer');
  return async (server) => {
    server.get('/healthz', {
      config: { vital: true },
      schema: {
        summary: 'Whether the process is alive',
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
          'Whether the daemon accepts requests: 503 while it drains, its store cannot be written, its disk does not answer, image work is stuck or it refuses requests for overload',
        tags: ['Operation'],
        security: [],
        response: { 200: readiness },
      },
      handler: async (request) => {
        if (context.draining.aborted) throw shuttingDown();
        const { fault, journal } = context.store.health();
        const reason = journal?.checkpointFault ?? null;
        if (fault !== null) {
          throw new Failure('service_error', fault, { code: 'store_unavailable' });
        }
        const [stuck, missing] = await Promise.all([probe(), storageFault()]);
        const refused = stuck ?? load.failure();
        if (refused !== null) throw refused;
        const { fault: limitsFault } = context.limits;
        const hasDetails = !isPublic || (await isOperator(context, request));
        return {
          status: 'ok',
          ...(reason !== null && { store: { status: 'degraded', reason } }),
          ...(missing !== null && {
            assets: { status: 'degraded', reason: hasDetails ? missing : BUCKET_MISSING },
          }),
          // Requests are served: refusing them would make a second failure of the first.
          ...(limitsFault !== null && { limits: { status: 'degraded', reason: limitsFault } }),
          ...(hasDetails && { upstreams: restingUpstreams(context) }),
        };
      },
    });
  };
}

/** Milliseconds for the disk to answer, and for a probe job to start. */
const PROBE_TIMEOUT_MS = 5000;

/**
 * Probes the disk and the image pool. Concurrent requests share one probe: on a disk that hangs, each
 * probe blocks one of libuv's threads for ever.
 */
function sharedProbe({ pool, config }: AppContext): () => Promise<Failure | null> {
  let disk: Promise<string | null> | undefined;
  let current: Promise<Failure | null> | undefined;
  const probeDisk = () => {
    disk ??= access(config.dataDir).then(
      () => null,
      ({ message }: Error) => message,
    );
    const answer = disk.finally(() => {
      disk = undefined;
    });
    const seconds = PROBE_TIMEOUT_MS / 1000;
    return withTimeout(answer, PROBE_TIMEOUT_MS, `no answer within ${seconds} s`);
  };
  const probe = async () => {
    const [diskFault, poolFault] = await Promise.all([probeDisk(), pool.probe(PROBE_TIMEOUT_MS)]);
    if (diskFault !== null) return unavailable('disk_unavailable', `the data folder: ${diskFault}`);
    if (poolFault !== null) return unavailable('pool_unavailable', poolFault);
    return null;
  };
  return () => {
    current ??= probe().finally(() => {
      current = undefined;
    });
    return current;
  };
}

function unavailable(code: 'disk_unavailable' | 'pool_unavailable', message: string): Failure {
  return new Failure('service_error', message, { code });
}
