import { expect, it } from 'vitest';
import { jobIdOf, pollDelay } from '../../../src/media/provider/polling.ts';

it('pollDelay grows and has jitter', () => {
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
])('pollDelay for a Retry-After of %s seconds is %s ms', (asked, wait) => {
  expect(pollDelay(0, asked)).toBe(wait);
  expect(pollDelay(50, asked)).toBe(wait);
});

it.each(['', '.', '..', 'a b', 'é', '\ud800', 'a\r\n', 'a'.repeat(501), 7, null, {}, ['a']])(
  'jobIdOf rejects %j',
  (name) => {
    expect(jobIdOf(name)).toBeNull();
  },
);

it.each(['video_1', 'a/b?c#d', '...', 'a'.repeat(500)])('jobIdOf accepts %j', (name) => {
  expect(jobIdOf(name)).toBe(name);
});
