import { codedFailure, Failure } from '../../failure.ts';
import { getOrInsert } from '../../maps.ts';
import { type Nodes, shareOf } from '../../store/nodes.ts';
import type { Load } from '../../text/billing/meter.ts';
import { SLOTS, SlidingMinute } from './sliding-minute.ts';

/** Limits of a key or a team; null for none. */
export interface LoadLimit {
  /** Identifier of the key or the team. */
  readonly id: string;
  readonly holder: 'key' | 'team';
  /** Tokens in a minute. */
  readonly tpm: number | null;
  /** Requests at once. */
  readonly parallel: number | null;
}

/** A request that counts. */
export interface ActiveLoad {
  /** Tokens of the limit that remain. */
  readonly remaining: number;
  /** Ends its part of the requests at once: its client may have left before its tokens are known. */
  leave(): void;
  /** Ends it, with the tokens that it has used. */
  end(used: number): void;
}

/** Limits of tokens in a minute and of requests at once. */
export interface LoadLimits {
  /**
   * Counts a request until its end. Its estimate counts meanwhile, afterwards what it has used.
   *
   * @throws Failure rate_limit
   */
  begin(limit: LoadLimit, load: Load): ActiveLoad | Promise<ActiveLoad>;
}

/**
 * The tokens that a request reserves. A longer answer than the whole limit may be requested, and then waits until
 * nothing else counts; longer input never passes.
 *
 * @throws Failure rate_limit
 */
export function reservedTokens({ holder, tpm }: LoadLimit, { input, output }: Load): number {
  if (tpm === null) return input + output;
  if (input > tpm) throw tokensExceeded(inputExceeds({ holder, tpm }, { input }), 60);
  return Math.min(input + output, tpm);
}

export function inputExceeds(
  { holder, tpm }: Pick<LoadLimit, 'holder' | 'tpm'>,
  { input }: Pick<Load, 'input'>,
): string {
  return `the request has about ${input} tokens of input, more than this ${holder} may use in a minute (${tpm})`;
}

function tokensExceeded(message: string, retryAfter: number): Failure {
  const code = 'tokens_per_minute_exceeded';
  return new Failure('rate_limit', message, { code, param: 'tpm', retryAfter });
}

/** @param retryAfter seconds until enough tokens are free; 0 while requests in progress hold them */
export function tokensRefused({ holder, tpm }: LoadLimit, wanted: number, retryAfter = 0): Failure {
  const message = `this ${holder} may use ${tpm} tokens in a minute, and the ${wanted} that the request may need are not free`;
  return tokensExceeded(message, Math.max(1, retryAfter));
}

export function requestRefused({ holder, parallel }: LoadLimit): Failure {
  const requests = parallel === 1 ? '1 request' : `${parallel} requests`;
  return codedFailure(
    'parallel_requests_exceeded',
    `this ${holder} may have ${requests} in progress at once`,
    { param: 'parallel', retryAfter: 1 },
  );
}

interface Loads {
  requests: number;
  tokens: number;
  readonly used: SlidingMinute;
}

/** Limits of which each living node has its share. */
export class DividedLoads implements LoadLimits {
  readonly #nodes: Nodes;
  readonly #now: () => number;
  readonly #loads = new Map<string, Loads>();
  #swept = 0;

  /** @param now milliseconds of a monotonic clock */
  constructor(nodes: Nodes, now: () => number = () => performance.now()) {
    this.#nodes = nodes;
    this.#now = now;
  }

  begin(limit: LoadLimit, load: Load): ActiveLoad {
    const { tpm, parallel } = limit;
    const loads = this.#of(limit.id);
    const now = this.#now();
    const used = loads.used.totalAt(now);
    if (parallel !== null && loads.requests >= shareOf(parallel, this.#nodes)) {
      throw requestRefused(limit);
    }
    const share = tpm === null ? Infinity : shareOf(tpm, this.#nodes);
    const tokens = Math.min(reservedTokens(limit, load), share);
    const excess = used + loads.tokens + tokens - share;
    if (tokens > 0 && excess > 0) {
      throw tokensRefused(limit, tokens, excess > used ? 0 : loads.used.secondsUntil(excess, now));
    }
    return this.add(limit.id, tokens, Math.max(0, share - used - loads.tokens - tokens));
  }

  /** Counts a request that was accepted, here or elsewhere. */
  add(id: string, tokens: number, remaining = 0): ActiveLoad {
    const loads = this.#of(id);
    loads.requests += 1;
    loads.tokens += tokens;
    let [hasLeft, hasEnded] = [false, false];
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      loads.requests -= 1;
    };
    return {
      remaining,
      leave,
      end: (used) => {
        leave();
        if (hasEnded) return;
        hasEnded = true;
        loads.tokens -= tokens;
        if (used > 0) loads.used.add(used, this.#now());
      },
    };
  }

  #of(id: string): Loads {
    const now = this.#now();
    this.#sweep(now);
    const newLoads = () => ({ requests: 0, tokens: 0, used: new SlidingMinute(now) });
    return getOrInsert(this.#loads, id, newLoads);
  }

  /** Deletes what has no load, once a minute. */
  #sweep(now: number): void {
    if (now - this.#swept < SLOTS * 1000) return;
    this.#swept = now;
    for (const [id, { requests, tokens, used }] of this.#loads) {
      if (requests === 0 && tokens === 0 && used.totalAt(now) === 0) this.#loads.delete(id);
    }
  }
}
