import { RedisScripts } from '../http/limits/redis-scripts.ts';
import { DividedLimits, type RequestLimits, SharedLimits } from '../http/limits/request-limits.ts';
import { addRedisMetrics } from '../http/observability/state-metrics.ts';
import type { Nodes } from '../store/nodes.ts';
import type { Start } from './start.ts';

/** The limits of requests: those of Redis with `limits.shared`, else this node's share. */
export async function openLimits(
  { state, metrics, log, closers }: Start,
  nodes: Nodes,
): Promise<RequestLimits> {
  const divided = new DividedLimits(nodes);
  const { shared: url, sharedPrefix: prefix } = state.config.limits;
  if (url === undefined) return divided;
  const redis: RedisScripts | undefined = await RedisScripts.open({
    url,
    prefix,
    observer: {
      ...addRedisMetrics(metrics, () => redis?.isAvailable ?? false),
      lost: (reason) =>
        log.warn(
          { reason, nodes: nodes.alive() },
          'the Redis of limits.shared does not answer; each node has its share of the rate limits',
        ),
      returned: () => log.info('the Redis of limits.shared answers again; nodes share rate limits'),
    },
  });
  closers.add(() => redis.close());
  return new SharedLimits(redis, divided);
}
