import { expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import type { ClockAhead } from '../../../src/store/options.ts';
import { temporaryFolder } from '../../oriel.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 21);

/** Opens a store at a time. Returns the time comparison if the clock was not trusted. */
async function start(
  directory: string,
  at: number,
  { acceptClock = false, works = false } = {},
): Promise<ClockAhead | null> {
  let ahead: ClockAhead | null = null;
  const store = await openLowdbStore({
    directory,
    now: () => at,
    acceptClock,
    onClockAhead: (clock) => {
      ahead = clock;
    },
  });
  if (works) await store.createAccount({ name: `at ${at}`, plan: 'paid', credits: 1 });
  await store.close();
  return ahead;
}

it('trusts a clock up to a day after the newest record or the last stop', async () => {
  const directory = temporaryFolder();
  expect(await start(directory, START, { works: true })).toBeNull();
  expect(await start(directory, START + DAY)).toBeNull();
  expect(await start(directory, START - 9 * DAY)).toBeNull();
});

it('does not trust a clock that is further ahead until it is accepted', async () => {
  const directory = temporaryFolder();
  await start(directory, START, { works: true });
  const wrong = START + 1500 * DAY;
  const ahead = { now: wrong, newest: START };
  expect(await start(directory, wrong, { works: true })).toEqual(ahead);
  expect(await start(directory, wrong)).toEqual(ahead);
  expect(await start(directory, wrong, { acceptClock: true })).toBeNull();
  expect(await start(directory, wrong + DAY)).toBeNull();
});

it('trusts a clock again once it is corrected', async () => {
  const directory = temporaryFolder();
  await start(directory, START, { works: true });
  expect(await start(directory, START + 2 * DAY)).not.toBeNull();
  expect(await start(directory, START + DAY / 2)).toBeNull();
  expect(await start(directory, START + DAY)).toBeNull();
});
