import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ActiveLoad,
  DividedLoads,
  type LoadLimit,
} from '../../../src/http/limits/load-limits.ts';
import { admitInBackground } from '../../../src/http/request/admission.ts';
import type { KeyHolder } from '../../../src/store/store.ts';
import { setNodes } from '../../engines/nodes.ts';
import { runs } from '../../runs.ts';

const NO_LIMIT: LoadLimit = { id: 'key_1', holder: 'key', tpm: null, parallel: null };

describe('limits of loads', () => {
  let now = 0;
  const loads = (alive = 1) => {
    now = 0;
    return new DividedLoads(setNodes(alive), () => now);
  };

  it('count requests at once until they end or their client leaves', () => {
    const limits = loads();
    const limit = { ...NO_LIMIT, parallel: 2 };
    const begin = () => limits.begin(limit, { input: 5, output: 5 });
    const [first, second] = [begin(), begin()];
    expect(begin).toThrow(
      expect.objectContaining({
        message: 'this key may have 2 requests in progress at once',
        ...{ status: 429, code: 'parallel_requests_exceeded', param: 'parallel', retryAfter: 1 },
      }),
    );
    first.leave();
    first.leave();
    first.end(7);
    first.end(7);
    begin();
    expect(begin).toThrow();
    second.end(0);
    begin();
  });

  it('leave the key free where a request without a client is too long for its team', async () => {
    const limits = loads();
    const holder = { key: { id: 'key_1', parallel: 1 }, team: { id: 'team_1', tpm: 100 } };
    const admit = (input: number) =>
      admitInBackground(limits, holder as KeyHolder, { input, output: 0 });
    await expect(admit(101)).rejects.toMatchObject({ code: 'context_length_exceeded' });
    await admit(100);
  });

  it.each([
    // Estimate, used, what passes at once afterwards, and what is refused then with the seconds to wait.
    [{ input: 40, output: 60 }, 100, null, 1, 59.75],
    [{ input: 40, output: 60 }, 30, 70, 71, 59.75],
    [{ input: 40, output: 60 }, 0, 100, null, null],
    // Longer answers than the limit wait for an empty minute, and may use more.
    [{ input: 40, output: 9999 }, 140, null, 1, 59.75],
  ] as const)('of tokens reserve %o and count %d', (load, used, passes, refused, retryAfter) => {
    const limits = loads();
    const limit = { ...NO_LIMIT, tpm: 100 };
    const begin = (input: number) => limits.begin(limit, { input, output: 0 });
    const active = limits.begin(limit, load);
    expect(() => begin(1)).toThrow(expect.objectContaining({ param: 'tpm', retryAfter: 1 }));
    active.end(used);
    if (passes !== null) begin(passes).end(0);
    if (refused === null) return;
    expect(() => begin(refused)).toThrow(expect.objectContaining({ status: 429, retryAfter }));
    now = 59_749;
    expect(() => begin(refused)).toThrow();
    now = 59_750;
    begin(refused);
  });

  it('of tokens refuse input that can never pass', () => {
    const limit: LoadLimit = { ...NO_LIMIT, holder: 'team', tpm: 100 };
    expect(() => loads().begin(limit, { input: 101, output: 0 })).toThrow(
      expect.objectContaining({
        ...{ status: 429, code: 'tokens_per_minute_exceeded', param: 'tpm', retryAfter: 60 },
        message:
          'the request has about 101 tokens of input, more than this team may use in a minute (100)',
      }),
    );
  });

  it('are divided among the living nodes', () => {
    const limits = loads(4);
    const limit = { ...NO_LIMIT, tpm: 100, parallel: 8 };
    limits.begin(limit, { input: 20, output: 5 });
    expect(() => limits.begin(limit, { input: 1, output: 0 })).toThrow();
    limits.begin({ ...limit, tpm: null }, { input: 1, output: 0 });
    const third = () => limits.begin({ ...limit, tpm: null }, { input: 1, output: 0 });
    expect(third).toThrow(expect.objectContaining({ param: 'parallel' }));
  });

  it('are never exceeded in any minute, and nothing is left when all has ended', () => {
    const step = fc.record({
      input: fc.integer({ min: 1, max: 40 }),
      output: fc.integer({ min: 0, max: 40 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      ends: fc.nat(5),
      pause: fc.constantFrom(0, 0, 900, 20_000),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const limits = loads();
        const limit = { ...NO_LIMIT, tpm: 100, parallel: 4 };
        const open: { active: ActiveLoad; used: number }[] = [];
        const used: { at: number; tokens: number }[] = [];
        for (const { input, output, share, ends, pause } of steps) {
          now += pause;
          if (ends > 3 && open.length > 0) {
            const one = open.shift()!;
            one.active.end(one.used);
            used.push({ at: now, tokens: one.used });
          }
          try {
            const active = limits.begin(limit, { input, output });
            open.push({ active, used: Math.floor((input + output) * share) });
          } catch {}
          expect(open.length).toBeLessThanOrEqual(4);
          // A second counts as long as the first of its requests.
          const lately = used.filter(({ at }) => at > now - 58_750);
          const sum = [...lately.map(({ tokens }) => tokens), ...open.map((one) => one.used)];
          expect(sum.reduce((all, tokens) => all + tokens, 0)).toBeLessThanOrEqual(100);
        }
        for (const one of open) one.active.end(one.used);
        now += 61_000;
        for (let request = 0; request < 4; request += 1) {
          limits.begin(limit, { input: 25, output: 0 });
        }
      }),
      { numRuns: runs(400) },
    );
  });
});
