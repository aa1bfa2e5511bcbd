import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calendarWindow, PERIODS, timeZoneNamed } from '../../src/store/calendar.ts';

const HOUR = 3_600_000;

/** Zones with changes at midnight, of half an hour and of two hours, west and east of the date line. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Havana',
  'America/St_Johns',
  'America/Asuncion',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
];

/** Local date and time: `2026-11-22 00:00:00`. */
const local = (timeZone: string, at: number) => new Date(at).toLocaleString('sv-SE', { timeZone });

describe('calendarWindow', () => {
  it('has windows without gaps that begin at the first instant of a local day, Monday or first', () => {
    const times = fc.integer({ min: Date.UTC(1995, 0), max: Date.UTC(2037, 0) });
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.constantFrom(...PERIODS),
        times,
        (timeZone, period, at) => {
          const { from, start, end } = calendarWindow(timeZone, period, at);
          expect(start).toBeLessThanOrEqual(at);
          expect(end).toBeGreaterThan(at);
          // A date that the zone skipped has no window; the next one begins in its place.
          expect(local(timeZone, start).slice(0, 10) >= from).toBe(true);
          expect(local(timeZone, start - 1).slice(0, 10) < from).toBe(true);
          const hours = (end - start) / HOUR;
          if (period === 'day') expect(hours).toBeGreaterThanOrEqual(22);
          if (period === 'day') expect(hours).toBeLessThanOrEqual(26);
          const first = new Date(from);
          if (period === 'week') expect(first.getUTCDay()).toBe(1);
          if (period === 'month') expect(first.getUTCDate()).toBe(1);
          for (const inside of [start, end - 1]) {
            expect(calendarWindow(timeZone, period, inside)).toEqual({ from, start, end });
          }
          expect(calendarWindow(timeZone, period, end).start).toBe(end);
          expect(calendarWindow(timeZone, period, start - 1).end).toBe(start);
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([
    ['Europe/Berlin', '2026-03-29T12:00Z', '2026-03-29', '2026-03-28T23:00Z', 23],
    ['Europe/Berlin', '2026-10-25T12:00Z', '2026-10-25', '2026-10-24T22:00Z', 25],
    // Clocks go from 00:00 to 01:00.
    ['America/Havana', '2026-03-08T12:00Z', '2026-03-08', '2026-03-08T05:00Z', 23],
    ['Africa/Cairo', '2026-04-24T12:00Z', '2026-04-24', '2026-04-23T22:00Z', 23],
    // Clocks went from 00:01 back to 23:01 of the day before.
    ['America/St_Johns', '2008-11-02T02:29:59Z', '2008-11-01', '2008-11-01T02:30Z', 24],
    ['America/St_Johns', '2008-11-02T02:31:30Z', '2008-11-02', '2008-11-02T02:30Z', 25],
    // There was no 2011-12-30.
    ['Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29', '2011-12-29T10:00Z', 24],
    ['Pacific/Apia', '2011-12-30T10:00Z', '2011-12-31', '2011-12-30T10:00Z', 24],
    ['Australia/Lord_Howe', '2026-04-05T00:00Z', '2026-04-05', '2026-04-04T13:00Z', 24.5],
  ])('in %s has the day of %s', (timeZone, at, from, start, hours) => {
    const window = calendarWindow(timeZone, 'day', Date.parse(at));
    expect(window).toEqual({
      from,
      start: Date.parse(start),
      end: Date.parse(start) + hours * HOUR,
    });
  });

  it('takes a zone that this Node does not know for UTC', () => {
    const at = Date.UTC(2026, 10, 22, 23);
    expect(calendarWindow('Mars/Olympus', 'day', at)).toEqual(calendarWindow('UTC', 'day', at));
  });
});

it.each([
  ['utc', 'UTC'],
  ['europe/berlin', 'Europe/Berlin'],
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['Etc/GMT+3', 'Etc/GMT+3'],
  ['+01:00', undefined],
  ['Mars/Olympus', undefined],
  ['', undefined],
  ['x'.repeat(100), undefined],
  ['__proto__', undefined],
])('the time zone of %j is %j', (text, name) => {
  expect(timeZoneNamed(text)).toBe(name);
});
