const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Parses the start of a period: a date, a date and time, or a duration before now (`7d`).
 *
 * @returns milliseconds since the epoch; undefined for any other text
 */
export function parseSince(text: string, now: number): number | undefined {
  const trimmed = text.trim();
  const [, count, unit] = /^(\d{1,10})([smhd])$/.exec(trimmed) ?? [];
  if (unit !== undefined) return now - Number(count) * UNITS[unit]!;
  const date = DATE.test(trimmed) ? trimmed : DATE_TIME.exec(trimmed)?.[1];
  return date !== undefined && isDay(date) ? Date.parse(trimmed) : undefined;
}

/** The last day whose year has four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31);

/** Whether a day exists: `Date` reads the 30th of February as the 2nd of March. */
function isDay(date: string): boolean {
  const [, year, month, day] = DATE.exec(date)!.map(Number);
  const read = new Date(Date.UTC(year!, month! - 1, day));
  return read.getUTCMonth() === month! - 1 && read.getUTCDate() === day;
}

/**
 * Parses a time of expiry: a date (its start in UTC), a date and time with its zone (ISO 8601), or a
 * duration from now (`90d`, `12h`).
 *
 * @returns milliseconds since the epoch; undefined for any other text, and for a time in the past
 */
export function parseExpiry(text: string, now: number): number | undefined {
  const trimmed = text.trim();
  const [, count, unit] = /^(\d{1,10})([smhd])$/.exec(trimmed) ?? [];
  const date = DATE.test(trimmed) ? trimmed : DATE_TIME.exec(trimmed)?.[1];
  let time = Number.NaN;
  if (unit !== undefined) time = now + Number(count) * UNITS[unit]!;
  else if (date !== undefined && isDay(date)) time = Date.parse(trimmed);
  return time > now && time <= MAX_TIME ? time : undefined;
}
