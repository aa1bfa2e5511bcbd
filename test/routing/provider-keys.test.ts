import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Provider } from '../../src/config/providers/provider-kinds.ts';
import { Failure } from '../../src/failure.ts';
import { keyCooldownTimes, ProviderKeys } from '../../src/routing/provider-keys.ts';
import { upstreamFailure } from '../../src/routing/upstream-failure.ts';

const COOLDOWN = { after: 5, for: 30_000 };
const NEVER = { after: 0, for: 30_000 };
const FAILURE = new Failure('rate_limit', 'slower');

function providerWith(...apiKeys: string[]): Provider {
  return { kind: 'openai', baseUrl: 'https://a.invalid/v1', concurrency: 1, apiKeys };
}

const keyOf = (taken: ReturnType<ProviderKeys['take']>) =>
  taken === null ? null : (taken.settings as { apiKey?: string }).apiKey;

describe('keyCooldownTimes', () => {
  const limited = (retryAfter?: string, message = 'slow down') =>
    upstreamFailure(429, { error: { message } }, { retryAfter });

  it.each([
    ['429 with Retry-After', limited('7'), { skipped: 7000, avoided: 7000 }],
    ['429 with a Retry-After of a day', limited('86400'), { skipped: 600_000, avoided: 600_000 }],
    ['429 without Retry-After', limited(), { skipped: 0, avoided: 30_000 }],
    ['401', upstreamFailure(401, {}), { skipped: 30_000, avoided: 300_000 }],
    ['403', upstreamFailure(403, {}), { skipped: 0, avoided: 300_000 }],
    ['402', upstreamFailure(402, {}), { skipped: 0, avoided: 300_000 }],
  ])('lets a key rest after %s', (_, failure, rest) => {
    expect(keyCooldownTimes(failure, COOLDOWN)).toEqual(rest);
    expect(keyCooldownTimes(failure, NEVER)?.skipped).toBe(0);
  });

  it.each([
    ['a request that is too large', limited('60', 'Request too large for gpt-4 on tokens per min')],
    ['500', upstreamFailure(500, {})],
    ['404', upstreamFailure(404, {})],
    ['an error within a stream', upstreamFailure(null, { error: { type: 'server_error' } })],
  ])('lets no key rest after %s', (_, failure) => {
    expect(keyCooldownTimes(failure, COOLDOWN)).toBeNull();
  });
});

describe('ProviderKeys', () => {
  it('takes keys in turn and skips those that cool down, each on its route', () => {
    let now = 0;
    const keys = new ProviderKeys(() => now);
    const provider = providerWith('a', 'b', 'c');
    const taken = () => keys.take('route', provider, 'ann', null)!;
    expect([taken(), taken(), taken(), taken()].map(keyOf)).toEqual(['a', 'b', 'c', 'a']);
    keys.beginCooldown('route', 'p', taken(), { skipped: 1000, avoided: 1000 }, FAILURE, 'ann');
    expect([taken(), taken(), taken()].map(keyOf)).toEqual(['c', 'a', 'c']);
    expect(keyOf(keys.take('another', provider, 'ann', null))).toBe('a');
    expect(keyOf(keys.take('another', provider, 'ann', null))).toBe('b');
    now = 1000;
    expect([taken(), taken()].map(keyOf)).toEqual(['c', 'a']);
    expect(keyOf(taken())).toBe('b');
  });

  it('takes a key that is only avoided after all others, the one avoided longest first', () => {
    let now = 0;
    const keys = new ProviderKeys(() => now);
    const provider = providerWith('a', 'b');
    for (const _ of [1, 2]) {
      keys.beginCooldown(
        'r',
        'p',
        keys.take('r', provider, 'ann', null)!,
        { skipped: 0, avoided: 9000 },
        FAILURE,
        'ann',
      );
      now += 1;
    }
    const first = keys.take('r', provider, 'ann', null)!;
    expect(keyOf(first)).toBe('a');
    expect(keyOf(keys.take('r', provider, 'ann', new Set([first.fingerprint])))).toBe('b');
    expect(keys.remaining('r', provider, 'ann')).toBe(0);
  });

  it('ends a cooldown at a success of a request that was sent after it began', () => {
    let now = 10;
    const keys = new ProviderKeys(() => now);
    const provider = providerWith('a');
    const key = keys.take('r', provider, 'ann', null)!;
    keys.beginCooldown('r', 'p', key, { skipped: 1000, avoided: 1000 }, FAILURE, 'ann');
    keys.wake('r', key, 5);
    expect(keys.remaining('r', provider, 'ann')).toBe(1000);
    expect(Array.from(keys.cooldowns(), ({ provider }) => provider)).toEqual(['p']);
    now = 20;
    keys.wake('r', key, 15);
    expect(keys.remaining('r', provider, 'ann')).toBe(0);
    expect(Array.from(keys.cooldowns())).toEqual([]);
  });

  it('skips a key for one account until the request of another fails too', () => {
    let now = 0;
    const keys = new ProviderKeys(() => now);
    const provider = providerWith('a');
    const key = keys.take('r', provider, 'ann', null)!;
    const remaining = () => ['ann', 'bob', null].map((who) => keys.remaining('r', provider, who));
    const rest = (who: string) =>
      keys.beginCooldown('r', 'p', key, { skipped: 1000, avoided: 9000 }, FAILURE, who);
    expect([rest('ann'), rest('ann'), remaining()]).toEqual([true, false, [1000, 0, 0]]);
    expect(keyOf(keys.take('r', provider, 'ann', null))).toBeNull();
    expect(keyOf(keys.take('r', provider, 'bob', null))).toBe('a');
    expect([rest('bob'), rest('ann'), remaining()]).toEqual([true, false, [1000, 1000, 1000]]);
    now = 1000;
    // Time is up for all; the next probe is that of one account again.
    expect(remaining()).toEqual([0, 0, 0]);
    rest('ann');
    expect(remaining()).toEqual([1000, 0, 0]);
  });

  it('keeps a cooldown when a reload moves the key', () => {
    const keys = new ProviderKeys(() => 0);
    const before = providerWith('a', 'b');
    keys.beginCooldown(
      'r',
      'p',
      keys.take('r', before, 'ann', null)!,
      { skipped: 9, avoided: 9999 },
      FAILURE,
      'ann',
    );
    const after = providerWith('new', 'a');
    expect([1, 2, 3].map(() => keyOf(keys.take('r', after, 'ann', null)))).toEqual([
      'new',
      'new',
      'new',
    ]);
  });

  it('never takes a skipped or tried key, and finds each usable one', () => {
    const command = fc.record({
      advance: fc.nat(50),
      rest: fc.option(fc.record({ skipped: fc.nat(100), more: fc.nat(100) }), { nil: null }),
      tries: fc.nat(4),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(command), (count, commands) => {
        let now = 0;
        const keys = new ProviderKeys(() => now);
        const names = ['a', 'b', 'c', 'd'].slice(0, count);
        const provider = providerWith(...names);
        const skippedUntil = new Map<string, number>();
        for (const { advance, rest, tries } of commands) {
          now += advance;
          const tried = new Set<string>();
          const seen: string[] = [];
          for (let asked = 0; asked < tries; asked += 1) {
            const taken = keys.take('r', provider, 'ann', tried);
            if (taken === null) break;
            seen.push(keyOf(taken)!);
            tried.add(taken.fingerprint);
            if (rest === null || asked > 0) continue;
            const { skipped, more } = rest;
            keys.beginCooldown(
              'r',
              'p',
              taken,
              { skipped, avoided: skipped + more },
              FAILURE,
              'ann',
            );
          }
          expect(new Set(seen).size).toBe(seen.length);
          // A timer may fire 10 ms before the end of a rest.
          for (const name of seen)
            expect((skippedUntil.get(name) ?? 0) - now).toBeLessThanOrEqual(10);
          const usable = names.filter((name) => (skippedUntil.get(name) ?? 0) <= now);
          if (tries > count) expect(seen).toEqual(expect.arrayContaining(usable));
          if (rest !== null && seen.length > 0) skippedUntil.set(seen[0]!, now + rest.skipped);
        }
      }),
      { numRuns: 60 },
    );
  });
});
