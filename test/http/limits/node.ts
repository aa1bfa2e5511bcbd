import { onTestFinished } from 'vitest';
import type { RateLimitState } from '../../../src/http/limits/rate-limiter.ts';
import { type RedisError, RedisScripts } from '../../../src/http/limits/redis-scripts.ts';
import { DividedLimits, SharedLimits } from '../../../src/http/limits/request-limits.ts';
import { setNodes } from '../../engines/nodes.ts';

/** What one node saw of its Redis. */
interface Seen {
  answers: number;
  readonly errors: RedisError[];
  readonly lost: string[];
  returned: number;
}

export interface LimitNode {
  readonly limits: SharedLimits;
  readonly seen: Seen;
  /** Resolves at the next change from available to not, or back. */
  changed(): Promise<void>;
}

interface NodeSettings {
  readonly url: string;
  readonly alive?: number;
  readonly prefix?: string;
  readonly now?: () => number;
  /** A minute by default: machines under load are late. */
  readonly maxWaitMs?: number;
}

/** A node's limits; the running test's end closes them. */
export async function startNode({
  url,
  alive = 2,
  prefix = 'test',
  now,
  maxWaitMs = 60_000,
}: NodeSettings): Promise<LimitNode> {
  const seen: Seen = { answers: 0, errors: [], lost: [], returned: 0 };
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
    listeners.clear();
  };
  const redis = await RedisScripts.open({
    url,
    prefix,
    maxWaitMs,
    observer: {
      answered: () => {
        seen.answers += 1;
      },
      failed: (error) => seen.errors.push(error),
      lost: (reason) => {
        seen.lost.push(reason);
        notify();
      },
      returned: () => {
        seen.returned += 1;
        notify();
      },
    },
  });
  onTestFinished(() => redis.close());
  const limits = new SharedLimits(redis, new DividedLimits(setNodes(alive), now), now);
  const changed = () =>
    new Promise<void>((resolve) => {
      listeners.add(resolve);
    });
  return { limits, seen, changed };
}

export async function acceptedOf(takes: readonly Promise<RateLimitState>[]): Promise<number> {
  const results = await Promise.allSettled(takes);
  return results.filter(({ status }) => status === 'fulfilled').length;
}

export function times<Result>(count: number, make: (index: number) => Result): Result[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
