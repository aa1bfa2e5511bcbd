import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseByteSize } from '../../../src/images/byte-size.ts';
import {
  type Goal,
  MAX_TRIALS,
  reaches,
  searchQuality,
} from '../../../src/images/encoding/quality-search.ts';
import { runs } from '../../runs.ts';

const QUALITIES = Array.from({ length: 100 }, (_, index) => index + 1);

interface Encoder {
  readonly sizes: readonly number[];
  readonly ssims: readonly number[];
}

/** An encoder whose size and SSIM grow with its quality. */
const growing = fc
  .tuple(
    fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 100, maxLength: 100 }),
    fc.array(fc.double({ min: 0.0001, max: 1, noNaN: true }), { minLength: 101, maxLength: 101 }),
  )
  .map(([steps, gains]): Encoder => {
    const total = gains.reduce((sum, gain) => sum + gain, 0);
    let size = 100;
    let ssim = 0;
    const sizes = steps.map((step) => (size += step));
    const ssims = steps.map((_, index) => (ssim += gains[index]! / total));
    return { sizes, ssims };
  });

/** An encoder whose size and SSIM are anything. */
const erratic = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 1e6 }), { minLength: 100, maxLength: 100 }),
  ssims: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 100, maxLength: 100 }),
});

const goals: fc.Arbitrary<Goal> = fc.oneof(
  fc.integer({ min: 1, max: 300_000 }).map((bytes): Goal => ({ kind: 'size', bytes })),
  fc.double({ min: 0.5, max: 1, noNaN: true }).map((least): Goal => ({ kind: 'ssim', least })),
);

async function search({ sizes, ssims }: Encoder, goal: Goal, first: number) {
  const trialOf = (setting: number) => ({
    setting,
    size: sizes[setting - 1]!,
    ssim: ssims[setting - 1]!,
  });
  const found = await searchQuality(async (setting) => trialOf(setting), QUALITIES, {
    goal,
    first,
  });
  return { ...found, all: QUALITIES.map(trialOf) };
}

describe('the search for a quality', () => {
  test('finds the best setting, or one close to the goal, within its trials', async () => {
    await fc.assert(
      fc.asyncProperty(growing, goals, fc.nat(99), async (encoder, goal, first) => {
        const { best, trials, all } = await search(encoder, goal, first);
        const good = all.filter((trial) => reaches(goal, trial));
        const optimum = goal.kind === 'size' ? good.at(-1) : good[0];
        expect(trials.length).toBeLessThanOrEqual(MAX_TRIALS);
        if (!optimum || !best) expect(best).toBe(optimum ?? null);
        else if (goal.kind === 'size') {
          expect(best.size).toBeGreaterThanOrEqual(Math.min(optimum.size, goal.bytes * 0.97));
        } else {
          expect(best.ssim).toBeLessThanOrEqual(Math.max(optimum.ssim, goal.least + 0.0004));
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('of an encoder without order tries no setting twice and returns what reaches the goal', async () => {
    await fc.assert(
      fc.asyncProperty(erratic, goals, fc.nat(99), async (encoder, goal, first) => {
        const { best, trials } = await search(encoder, goal, first);
        const settings = trials.map(({ setting }) => setting);
        expect(new Set(settings).size).toBe(settings.length);
        expect(settings.length).toBeLessThanOrEqual(MAX_TRIALS);
        expect(best !== null).toBe(trials.some((trial) => reaches(goal, trial)));
        if (best) expect(reaches(goal, best)).toBe(true);
      }),
      { numRuns: runs(200) },
    );
  });

  test('for a size that no setting reaches has tried the least quality', async () => {
    const { best, trials } = await search(
      { sizes: QUALITIES.map((quality) => quality * 1000), ssims: QUALITIES.map(() => 1) },
      { kind: 'size', bytes: 999 },
      79,
    );
    expect(best).toBeNull();
    expect(trials.map(({ setting }) => setting)).toContain(1);
  });
});

describe('a size with its unit', () => {
  test.each([
    ['200KB', 200_000],
    ['200KiB', 204_800],
    ['1.5MB', 1_500_000],
    ['1.1 KB', 1100],
    ['1MiB', 1_048_576],
    ['300B', 300],
    ['0.0005MB', null],
    ['200', null],
    ['200K', null],
    ['200kb', null],
    ['0KB', null],
    ['-1KB', null],
    ['1e3KB', null],
    ['KB', null],
    ['1,5MB', null],
    ['1GB', null],
  ])('%s is %j bytes', (text, bytes) => {
    expect(parseByteSize(text)).toBe(bytes);
  });
});
