import { access } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { codedFailure, Failure } from '../../../failure.ts';
import { shared } from '../../../flow.ts';
import { optional } from '../../../schema/fields.ts';
import type { AppContext } from '../../request/app-context.ts';
import { isOperator } from '../../request/auth.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { shuttingDown } from '../../responses/errors.ts';
import type { LoadShedding } from '../../transport/pressure.ts';
import { withTimeout } from '../../transport/timeout.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is served although the server is overloaded. */
    vital?: boolean;
  }
}

const health = v.object({ status: v.literal('ok') });

const readinessQuery = v.object({
  for: optional(
    v.picklist(['text']),
    'readiness for these requests alone: text stays ready while only tasks wait, as in the first minute without PostgreSQL',
  ),
});

const degradation = v.optional(v.object({ status: v.literal('degraded'), reason: v.string() }));

const readiness = v.object({
  status: v.literal('ok'),
  /** Present only if the store needs attention, or cannot be written while text goes on. */
  store: degradation,
  /** Present only if the bucket of files cannot be used; only the operator gets the service's words. */
  assets: degradation,
  /** Present only while rate limits are less exact than configured. */
  limits: degradation,
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

/** Answer of `GET /readyz`. */
export type Readiness = v.InferOutput<typeof readiness>;

/** Reason of a drain after which another process serves the port. */
export const REPLACED = 'replaced';

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
  server: FastifyInstance,
  context: AppContext,
  load: Pick<LoadShedding, 'failure'>,
  isPublic: boolean,
): void {
  const probe = sharedProbe(context);
  // Text is served without the bucket, so that its failure does not make the daemon unready.
  const storageFault = () => withTimeout(context.assets.health(), STORAGE_TIMEOUT_MS, 'no answer');
  addEndpoint(server, {
    path: 'GET /healthz',
    tag: 'Operation',
    summary: 'Whether the process is alive',
    isPublic: true,
    config: { vital: true },
    answer: health,
    handler: async () => ({ status: 'ok' }) as const,
  });

  addEndpoint(server, {
    path: 'GET /readyz',
    tag: 'Operation',
    summary:
      'Whether the daemon accepts requests: 503 while it drains, its store cannot be written, its disk does not answer, image work is stuck or it refuses requests for overload',
    isPublic: true,
    config: { vital: true },
    query: readinessQuery,
    answer: readiness,
    handler: async (request) => {
      if (context.draining.aborted && context.draining.reason !== REPLACED) throw shuttingDown();
      const { for: only } = request.query;
      const { fault, textFault, journal } = context.store.health();
      const reason = fault ?? journal?.checkpointFault ?? null;
      const unready = only === 'text' ? textFault : fault;
      if (unready !== null) {
        throw codedFailure('store_unavailable', unready);
      }
      const [{ disk, images }, missing] = await Promise.all([probe(), storageFault()]);
      const refused = disk ?? (only === 'text' ? null : images) ?? load.failure();
      if (refused !== null) throw refused;
      const { fault: limitsFault } = context.limits;
      const hasDetails = !isPublic || (await isOperator(context, request));
      return {
        status: 'ok' as const,
        ...(reason !== null && { store: degraded(reason) }),
        ...(missing !== null && {
          assets: degraded(hasDetails ? missing : BUCKET_MISSING),
        }),
        // Requests are served: refusing them would make a second failure of the first.
        ...(limitsFault !== null && { limits: degraded(limitsFault) }),
        ...(hasDetails && { upstreams: currentCooldowns(context) }),
      };
    },
  });
}

const degraded = (reason: string) => ({ status: 'degraded' as const, reason });

/** Milliseconds for the disk to answer, and for a probe job to start. */
const PROBE_TIMEOUT_MS = 5000;

interface Probe {
  readonly disk: Failure | null;
  readonly images: Failure | null;
}

/**
 * Probes the disk and the image pool. Concurrent requests share one probe: on a disk that hangs, each
 * probe blocks one of libuv's threads for ever.
 */
function sharedProbe({ pool, config }: AppContext): () => Promise<Probe> {
  const faultOfDisk = shared(() =>
    access(config.dataDir).then(
      () => null,
      ({ message }: Error) => message,
    ),
  );
  const late = `no answer within ${PROBE_TIMEOUT_MS / 1000} s`;
  return shared(async () => {
    const [diskFault, poolFault] = await Promise.all([
      withTimeout<string | null>(faultOfDisk(), PROBE_TIMEOUT_MS, late),
      pool.probe(PROBE_TIMEOUT_MS),
    ]);
    return {
      disk:
        diskFault === null
          ? null
          : unavailable('disk_unavailable', `the data folder: ${diskFault}`),
      images: poolFault === null ? null : unavailable('pool_unavailable', poolFault),
    };
  });
}

function unavailable(code: 'disk_unavailable' | 'pool_unavailable', message: string): Failure {
  return new Failure('service_error', message, { code });
}

/** The routes and keys that cool down now, and why. */
export function currentCooldowns({ routings }: AppContext) {
  const reasonOf = ({ code, type }: Failure) => code ?? type;
  const timeOf = (until: number) => new Date(Date.now() + until - performance.now()).toISOString();
  return {
    routes: routings.flatMap((routing) =>
      Array.from(routing.routeCooldowns(), ({ provider, model, failure, until }) => {
        return { provider, model, reason: reasonOf(failure), until: timeOf(until) };
      }),
    ),
    keys: routings.flatMap((one) =>
      Array.from(one.keyCooldowns(), ({ provider, fingerprint: key, failure, avoidedUntil }) => {
        return { provider, key, reason: reasonOf(failure), until: timeOf(avoidedUntil) };
      }),
    ),
  };
}

export type CurrentCooldowns = ReturnType<typeof currentCooldowns>;
