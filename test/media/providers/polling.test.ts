import { expect, it } from 'vitest';
import { jobIdOf, pollDelay } from '../../../src/media/providers/polling.ts';

it('a job is looked at ever less often, and never in step with others', () => {
  const waits = Array.from({ length: 12 }, (_, looks) => pollDelay(looks, null));
  const least = [1000, 1500, 2250, 3375, 5062.5, 7593.75, ...Array<number>(6).fill(10_000)];
  for (const [index, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(least[index]!);
    expect(wait).toBeLessThanOrEqual(least[index]! * 1.25);
  }
  expect(new Set(waits).size).toBe(waits.length);
  expect(pollDelay(1e9, null)).toBeLessThanOrEqual(12_500);
});

it.each([
  [0, 100],
  [0.5, 500],
  [7, 7000],
  [86_400, 60_000],
])('a provider that asks for %s seconds is left alone for %s ms', (asked, wait) => {
  expect(pollDelay(0, asked)).toBe(wait);
  expect(pollDelay(50, asked)).toBe(wait);
});

it.each(['', '.', '..', 'a b', 'é', '\ud800', 'a\r\n', 'a'.repeat(501), 7, null, {}, ['a']])(
  '%j is the name of no job',
  (name) => {
    expect(jobIdOf(name)).toBeNull();
  },
);

it.each(['video_1', 'a/b?c#d', '...', 'a'.repeat(500)])('%j may be the name of a job', (name) => {
  expect(jobIdOf(name)).toBe(name);
});
