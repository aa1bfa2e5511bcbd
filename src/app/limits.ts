import type { Logger } from 'pino';
import type { Config } from '../config/settings/schema.ts';
import { RedisScripts } from '../http/limits/redis-scripts.ts';
import { DividedLimits, type RequestLimits } from '../http/limits/request-limits.ts';
import { SharedLimits } from '../http/limits/shared-limits.ts';
import type { Metrics } from '../http/observability/metrics.ts';
import type { Nodes } from '../store/nodes.ts';
import type { Closers } from './closers.ts';

interface LimitsParts {
  readonly config: Config;
  readonly nodes: Nodes;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The limits of requests: those of Redis with `limits.shared`, else this node's share. */
export async function openLimits(
  { config, nodes, metrics, log }: LimitsParts,
  closers: Closers,
): Promise<RequestLimits> {
  const divided = new DividedLimits(nodes);
  const { shared: url, sharedPrefix: prefix } = config.limits;
  if (url === undefined) return divided;
  const observed = metrics.watchLimits(() => redis?.isAvailable ?? false);
  const redis: RedisScripts | undefined = await RedisScripts.open({
    url,
    prefix,
    observer: {
      answered: (milliseconds) => observed.observeAnswer(milliseconds),
      failed: (error) => observed.observeError(error),
      lost: (reason) =>
        log.warn(
          { reason, nodes: nodes.alive() },
          'the Redis of limits.shared does not answer; each node has its share of the rate limits',
        ),
      returned: () => log.info('the Redis of limits.shared answers again; nodes share rate limits'),
    },
  });
  closers.add(async () => redis.close());
  return new SharedLimits(redis, divided);
}
