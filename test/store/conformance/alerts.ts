import { describe, expect, it } from 'vitest';
import { type AlertRequest, MAX_ALERTS } from '../../../src/store/alert.ts';
import { bothOf, freshStore } from '../fresh-store.ts';
import type { DriverFactory } from './driver-factory.ts';

const HOUR = 3_600_000;

let count = 0;

const request = (change: Partial<AlertRequest> = {}): AlertRequest => {
  count += 1;
  const about = { subject: { key: 'key_1\u0000' }, figures: { percent: 80 } };
  const text = { message: `the ${count}th`, link: 'http://127.0.0.1/console/' };
  return {
    alert: { id: `alert_${count}`, type: 'budget.reached', at: count, ...about, ...text },
    ...{ subject: 'budget/key_1', window: '2026-11-26', level: 80, until: HOUR },
    ...change,
  };
};

type Step = readonly [change: Partial<AlertRequest>, at: number, isRaised: boolean];

const DOWN = { subject: 'route/a/m', window: '', level: 1 };
const BACK = { ...DOWN, level: 2, isFollowUp: true };

const SEQUENCES: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'once in a window, also at a lower level, and again in the next one',
    [
      [{ level: 50 }, 0, true],
      [{ level: 50 }, 1, false],
      [{ level: 100 }, 2, true],
      [{ level: 80 }, 3, false],
      [{ window: '2026-11-27', level: 50 }, 4, true],
    ],
  ],
  [
    'again once the window has ended',
    [
      [{}, 0, true],
      [{ until: 3 * HOUR }, HOUR - 1, false],
      [{ until: 3 * HOUR }, HOUR, true],
      [{ until: 3 * HOUR }, HOUR + 1, false],
    ],
  ],
  [
    'once down and once back where a route flaps, and down at the end of the window',
    [
      [BACK, 0, false],
      [{ ...DOWN, until: HOUR }, 1, true],
      [{ ...DOWN, until: HOUR }, 2, false],
      [{ ...BACK, until: 9 * HOUR }, 3, true],
      [{ ...DOWN, until: HOUR + 4 }, 4, false],
      [{ ...BACK, until: 9 * HOUR }, 5, false],
      [{ ...DOWN, until: 2 * HOUR }, HOUR, true],
      [{ ...BACK, until: 9 * HOUR }, 3 * HOUR, true],
    ],
  ],
];

/** Tests of alerts for every driver. */
export function describeAlerts(driver: DriverFactory): void {
  describe('alerts', () => {
    it.each(SEQUENCES)('are raised %s', async (_, steps) => {
      let now = 0;
      const { store, reopened } = await freshStore(driver, { now: () => now });
      const ids: string[] = [];
      for (const [change, at, isRaised] of steps) {
        now = at;
        const asked = request(change);
        const { raised, claims } = await store.raiseAlerts([asked]);
        expect(raised, `at ${at}`).toEqual(isRaised ? [asked.alert] : []);
        if (isRaised) ids.unshift(asked.alert.id);
        expect(claims.map(({ id }) => id)).toEqual(ids.slice(0, 1));
      }
      for await (const each of bothOf(store, reopened)) {
        expect((await each.listAlerts(9)).map(({ id }) => id)).toEqual(ids);
        // A restart does not raise them again.
        expect((await each.raiseAlerts([request(steps.at(-1)![0])])).raised).toEqual([]);
      }
    });

    it('are decided one after the other, and raised where the transaction runs again', async () => {
      const { store } = await freshStore(driver, { now: () => 0 });
      const asked = [request({ level: 50 }), request({ level: 50 }), request({ level: 80 })];
      const [first, , third] = asked.map(({ alert }) => alert);
      expect((await store.raiseAlerts(asked)).raised).toEqual([first, third]);
      expect((await store.raiseAlerts(asked.slice(2))).raised).toEqual([third]);
      expect(await store.listAlerts(9)).toEqual([third, first]);
      expect(await store.listAlerts(1)).toEqual([third]);
      expect(await store.raiseAlerts([])).toEqual({ raised: [], claims: [] });
    });

    it('are kept in a limited number, with the claims of windows that have not ended', async () => {
      let now = 0;
      const { store, reopened } = await freshStore(driver, { now: () => now });
      const many = Array.from({ length: MAX_ALERTS }, (_, at) => request({ subject: `key_${at}` }));
      await store.raiseAlerts(many);
      const later = request({ subject: 'later', until: 99 * HOUR });
      await store.raiseAlerts([later]);
      for await (const each of bothOf(store, reopened)) {
        const kept = await each.listAlerts(2 * MAX_ALERTS);
        expect(kept).toHaveLength(MAX_ALERTS);
        expect([kept[0], kept.at(-1)]).toEqual([later.alert, many[1]!.alert]);
        expect((await each.raiseAlerts(many.slice(0, 1))).raised).toHaveLength(1);
      }
      now = 50 * HOUR;
      const again = await reopened();
      await again.raiseAlerts([request({ subject: 'last' })]);
      // The claims of windows that ended a day ago are gone.
      const back = request({ subject: 'key_1', level: 100, isFollowUp: true });
      expect((await again.raiseAlerts([back])).raised).toEqual([]);
      expect((await again.raiseAlerts([request({ subject: 'later' })])).raised).toEqual([]);
    });

    it.runIf(driver.openAnother)('of several nodes are raised by one of them', async () => {
      const { store, place } = await freshStore(driver);
      const other = await driver.openAnother!(place);
      try {
        const until = Date.now() + HOUR;
        const asked = Array.from({ length: 40 }, (_, at) =>
          (at % 2 ? store : other).raiseAlerts([request({ until })]),
        );
        const raised = (await Promise.all(asked)).flatMap((one) => one.raised);
        expect(raised).toHaveLength(1);
        expect(await other.listAlerts(9)).toEqual(raised);
      } finally {
        await other.close();
      }
    });
  });
}
