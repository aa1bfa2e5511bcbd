import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { RateLimiter } from '../../../src/http/limits/rate-limiter.ts';
import { WINDOW_MS } from '../../../src/http/limits/sliding-minute.ts';
import { sharedDaemon } from '../../daemon.ts';
import { newKey } from '../../text/gateway-daemon.ts';

/** Sends a request at each time; returns which were accepted. */
function replay(times: readonly number[], limit: number): number[] {
  let now = 0;
  const limiter = new RateLimiter(() => now);
  return times.filter((time) => {
    now = time;
    try {
      limiter.take('key', limit);
      return true;
    } catch (error) {
      if (error instanceof Failure) return false;
      throw error;
    }
  });
}

const arrivals = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }).map((gaps) => {
  let time = 0;
  return gaps.map((gap) => {
    time += gap;
    return time;
  });
});

describe('the rate limiter', () => {
  it('accepts at most the limit in any minute less a second and a quarter', () => {
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 10 }), (times, limit) => {
        const passed = replay(times, limit);
        for (const time of passed) {
          const within = passed.filter((other) => other >= time && other < time + WINDOW_MS - 1000);
          expect(within.length).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });

  it('accepts a request after the time in Retry-After', () => {
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 10 }), (times, limit) => {
        let now = 0;
        const limiter = new RateLimiter(() => now);
        for (const time of times) {
          now = Math.max(now, time);
          try {
            limiter.take('key', limit);
          } catch (error) {
            now = Math.round(now + (error as Failure).retryAfter! * 1000);
            limiter.take('key', limit);
          }
        }
      }),
    );
  });

  it('accepts a client that spreads its limit over each minute, whatever its phase and jitter', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 0, max: 999 }),
        fc.array(fc.integer({ min: -120, max: 120 }), { minLength: 1, maxLength: 20 }),
        (limit, phase, jitters) => {
          const times = Array.from({ length: limit * 3 }, (_, index) => {
            const jitter = limit > 100 ? 0 : jitters[index % jitters.length]!;
            return 1000 + phase + Math.floor((index * 60_000) / limit) + jitter;
          });
          expect(replay(times, limit)).toEqual(times);
        },
      ),
    );
  });

  it('counts each key separately', () => {
    const limiter = new RateLimiter(() => 0);
    limiter.take('one', 1);
    expect(limiter.take('two', 1)).toMatchObject({ limit: 1, remaining: 0 });
    expect(() => limiter.take('one', 1)).toThrow(/1 requests in a minute/);
  });

  it('accepts no request with a limit of zero', () => {
    expect(replay([0, 100_000, 200_000], 0)).toEqual([]);
  });

  it('returns the remaining requests and the time until the full limit', () => {
    let now = 500;
    const limiter = new RateLimiter(() => now);
    expect(limiter.take('key', 3)).toEqual({ limit: 3, remaining: 2, reset: 59.75 });
    now = 30_500;
    expect(limiter.take('key', 3)).toEqual({ limit: 3, remaining: 1, reset: 59.75 });
    now = 60_300;
    expect(limiter.take('key', 3)).toMatchObject({ remaining: 1 });
  });
});

describe('the rate limit over HTTP', () => {
  const daemon = sharedDaemon({ config: { limits: { paid: { rpm: 2 } } } });
  /** Requests of an account of its own. */
  const newClient = async (account: string) => {
    const headers = { authorization: `Bearer ${await newKey(daemon(), account)}` };
    return (path: string) => daemon().request(path, { headers });
  };

  it('counts requests by key, reports the state in headers, and refuses with 429', async () => {
    const request = await newClient('counted');
    const first = await request('/v1/models');
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect(first.headers.get('x-ratelimit-reset-requests')).toBe('60s');
    await request('/v1/tasks');
    const refused = await request('/v1/models');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(refused.headers.get('x-ratelimit-reset-requests')).toMatch(/^[56]\ds$/);
    expect(await refused.json()).toEqual({
      error: {
        type: 'rate_limit',
        message: 'this key may send 2 requests in a minute',
        param: null,
        code: 'rate_limit_exceeded',
      },
    });
  });

  it('does not count reading the account, which reports the state', async () => {
    const request = await newClient('reader');
    const states: (readonly (string | null)[])[] = [];
    const read = async (path: string) => {
      const { status, headers } = await request(path);
      expect([path, status]).toEqual([path, 200]);
      states.push([
        headers.get('x-ratelimit-remaining-requests'),
        headers.get('x-ratelimit-reset-requests'),
      ]);
    };
    await read('/v1/account');
    await read('/v1/models');
    await read('/v1/models');
    for (const path of ['', '/credits', '/callback-secret']) {
      await read(`/v1/account${path}`);
    }
    expect(states[0]).toEqual(['2', '0s']);
    expect(states[1]).toEqual(['1', '60s']);
    for (const state of states.slice(2)) {
      expect(state).toEqual(['0', expect.stringMatching(/^[1-6]\ds$/)]);
    }
    // A report reads as many rows as it sums.
    expect((await request('/v1/account/usage')).status).toBe(429);
  });

  it('does not count requests without a key, nor health checks', async () => {
    const request = await newClient('other');
    for (let count = 0; count < 3; count += 1) {
      expect((await fetch(`${daemon().url}/v1/account`)).status).toBe(401);
      expect((await fetch(`${daemon().url}/healthz`)).status).toBe(200);
    }
    expect((await request('/v1/models')).status).toBe(200);
  });
});
