import { newId } from '../../store/identifier.ts';
import type { Load } from '../../text/billing/meter.ts';
import {
  type ActiveLoad,
  type DividedLoads,
  type LoadLimit,
  type LoadLimits,
  requestRefused,
  reservedTokens,
  tokensRefused,
} from './load-limits.ts';
import { BEGIN_LOAD, END_LOAD, LEASE_MS, RENEW_LOAD } from './redis-script.ts';
import { type RedisScripts, redisNameOf } from './redis-scripts.ts';

/** What this node holds of a key or a team, by a name of its lease. */
interface Held {
  readonly id: string;
  readonly lease: string;
  requests: number;
  tokens: number;
}

type Scripts = Pick<RedisScripts, 'run' | 'connections' | 'isAvailable'>;

/**
 * Limits that Redis counts for all nodes. What a node holds is a lease, which it renews: it is free soon after the node
 * has died. While Redis does not answer, each node has its share, of which its requests in progress are a part.
 *
 * A lease has another name after each command without an answer and on each connection, since Redis may have run that
 * command, or have lost all. Of former leases Redis gets the exact sums with the next renewal.
 */
export class SharedLoads implements LoadLimits {
  readonly #redis: Scripts;
  readonly #divided: DividedLoads;
  readonly #now: (() => number) | undefined;
  readonly #node = newId('lease');
  #unanswered = 0;
  /** By the identifier of the key or the team and the lease. */
  readonly #held = new Map<string, Held>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now milliseconds of a clock that all nodes share, in place of that of Redis */
  constructor(redis: Scripts, divided: DividedLoads, now?: () => number) {
    this.#redis = redis;
    this.#divided = divided;
    this.#now = now;
  }

  async begin(limit: LoadLimit, load: Load): Promise<ActiveLoad> {
    const { id, tpm, parallel } = limit;
    const wanted = reservedTokens(limit, load);
    const lease = this.#lease;
    const reply = await this.#run(BEGIN_LOAD, id, lease, [parallel ?? 0, tpm ?? 0, wanted]);
    // Never the name of a present lease: Redis learns of the request with the next renewal.
    if (reply === null) {
      return this.#watched(id, `${lease}.own`, this.#divided.begin(limit, load), null);
    }
    const [accepted, remaining, milliseconds] = reply as [number, number, number];
    if (accepted === 0 && remaining === 1) throw requestRefused(limit);
    if (accepted === 0) throw tokensRefused(limit, wanted, milliseconds / 1000);
    return this.#watched(id, lease, this.#divided.add(id, wanted, remaining), wanted);
  }

  get #lease(): string {
    return `${this.#node}.${this.#redis.connections}.${this.#unanswered}`;
  }

  async #run(
    script: Parameters<Scripts['run']>[0],
    id: string,
    lease: string,
    args: readonly number[],
  ): Promise<readonly number[] | null> {
    if (!this.#redis.isAvailable) return null;
    const clock = this.#now === undefined ? '' : Math.floor(this.#now());
    const reply = await this.#redis.run(script, redisNameOf('load', id), [lease, ...args, clock]);
    if (reply === null && lease === this.#lease) this.#unanswered += 1;
    return reply;
  }

  /** @param tokens null for a request that Redis has not counted */
  #watched(id: string, lease: string, local: ActiveLoad, tokens: number | null): ActiveLoad {
    const held = this.#heldOf(id, lease);
    const reserved = tokens ?? 0;
    held.requests += 1;
    held.tokens += reserved;
    let [requests, hasEnded] = [1, false];
    const leave = () => {
      const left = requests;
      requests = 0;
      held.requests -= left;
      return tokens === null ? 0 : left;
    };
    return {
      remaining: local.remaining,
      leave: () => {
        local.leave();
        const left = leave();
        if (left > 0) void this.#run(END_LOAD, id, lease, [left, 0, 0]);
      },
      end: (used) => {
        if (hasEnded) return;
        hasEnded = true;
        local.end(used);
        held.tokens -= reserved;
        void this.#run(END_LOAD, id, lease, [leave(), reserved, used]);
      },
    };
  }

  #heldOf(id: string, lease: string): Held {
    const name = `${id} ${lease}`;
    const held = this.#held.get(name) ?? { id, lease, requests: 0, tokens: 0 };
    this.#held.set(name, held);
    this.#timer ??= setTimeout(() => this.#renew(), LEASE_MS / 4).unref();
    return held;
  }

  #renew(): void {
    this.#timer = undefined;
    for (const [name, { id, lease, requests, tokens }] of this.#held) {
      const isFormer = lease !== this.#lease;
      if (requests === 0 && tokens === 0) this.#held.delete(name);
      else void this.#run(RENEW_LOAD, id, lease, [requests, tokens, isFormer ? 1 : 0]);
    }
    if (this.#held.size > 0) this.#timer = setTimeout(() => this.#renew(), LEASE_MS / 4).unref();
  }
}
