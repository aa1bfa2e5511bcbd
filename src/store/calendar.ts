import { getOrInsert } from '../maps.ts';

export const PERIODS = ['day', 'week', 'month'] as const;
export type Period = (typeof PERIODS)[number];

/** One day, week (from Monday) or month of a time zone. */
export interface CalendarWindow {
  /** Local date of its first day: `2026-11-22`. */
  readonly from: string;
  /** First millisecond, and the first one after it, since the epoch. */
  readonly start: number;
  readonly end: number;
}

const DAY = 86_400_000;

/** Milliseconds between the probes for the start of a day. Clocks change at multiples of it, or a minute later. */
const PROBE = 900_000;

/** Local time is at most this far from UTC. */
const MAX_OFFSET = 16 * 3_600_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return getOrInsert(formats, timeZone, () => newFormat(timeZoneNamed(timeZone) ?? 'UTC'));
}

function newFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US-u-ca-iso8601-nu-latn', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
}

/**
 * The name of an IANA time zone in its usual spelling, such as `Europe/Berlin` for `europe/berlin`.
 *
 * @returns undefined for a name that is not known, and for an offset
 */
export function timeZoneNamed(text: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(text)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    // For an alias, Node returns an older name: Asia/Calcutta for Asia/Kolkata.
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch {
    return undefined;
  }
}

/** Local date: `2026-11-22`. */
function localDate(timeZone: string, at: number): string {
  const parts = formatOf(timeZone).formatToParts(at);
  const part = (name: string) => parts.find(({ type }) => type === name)!.value;
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
}

/**
 * The first instant of a local date, or of the next one that exists: Samoa had no 2011-12-30. Where the
 * clock goes back over midnight, the day starts once, at the first midnight.
 */
function startOf(timeZone: string, date: string): number {
  const utc = Date.parse(date);
  let after = utc - MAX_OFFSET;
  while (localDate(timeZone, after) < date) after += PROBE;
  let before = after - PROBE;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (localDate(timeZone, middle) < date) before = middle;
    else after = middle;
  }
  return after;
}

const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** The first date of the period that contains a date, and of the period after that one. */
function periodOf(period: Period, date: string): readonly [from: string, next: string] {
  const time = Date.parse(date);
  const day = new Date(time);
  switch (period) {
    case 'day':
      return [date, dateOf(time + DAY)];
    case 'week': {
      const monday = time - ((day.getUTCDay() + 6) % 7) * DAY;
      return [dateOf(monday), dateOf(monday + 7 * DAY)];
    }
    case 'month': {
      const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
      return [dateOf(Date.UTC(year, month, 1)), dateOf(Date.UTC(year, month + 1, 1))];
    }
  }
}

function computeWindow(timeZone: string, period: Period, at: number): CalendarWindow {
  let [from, next] = periodOf(period, localDate(timeZone, at));
  let end = startOf(timeZone, next);
  // In the hour that is repeated after midnight the local date is that of the day before.
  while (end <= at) {
    [from, next] = periodOf(period, next);
    end = startOf(timeZone, next);
  }
  return { from, start: startOf(timeZone, from), end };
}

/** The last window of each time zone and period: computing one takes a millisecond. */
const latest = new Map<string, Map<Period, CalendarWindow>>();

/**
 * The day, week or month of a time zone that contains a time.
 *
 * @param timeZone a name that `timeZoneNamed` returned
 */
export function calendarWindow(timeZone: string, period: Period, at: number): CalendarWindow {
  const windows = getOrInsert(latest, timeZone, () => new Map());
  const known = windows.get(period);
  if (known && at >= known.start && at < known.end) return known;
  const computed = computeWindow(timeZone, period, at);
  windows.set(period, computed);
  return computed;
}
