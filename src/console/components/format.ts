/** Numbers and dates as the reader's locale writes them. */

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const calendarDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

export function formatNumber(value: number): string {
  return whole.format(value);
}

/** Credits, which have up to six decimals. */
export function formatCredits(value: number): string {
  return precise.format(value);
}

/** @param share from 0 to 1 */
export function formatPercent(share: number): string {
  return percent.format(share);
}

/** @param seconds since the epoch */
export function formatTime(seconds: number): string {
  return moment.format(seconds * 1000);
}

/** @param day UTC, such as `2026-11-22` */
export function formatDay(day: string): string {
  return calendarDay.format(new Date(`${day}T00:00:00Z`));
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

export function formatBytes(bytes: number): string {
  const step = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const unit = UNITS[step]!;
  return withUnit(bytes / 1000 ** step, unit, step === 0 ? 'long' : 'short', step === 0 ? 0 : 1);
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return withUnit(milliseconds, 'millisecond', 'narrow', 0);
  const seconds = milliseconds / 1000;
  return withUnit(seconds, 'second', 'narrow', seconds < 100 ? 2 : 0);
}

/** A number with its unit. @param digits at most, after the decimal separator */
export function withUnit(
  value: number,
  unit: string,
  unitDisplay: 'long' | 'short' | 'narrow',
  digits: number,
): string {
  const options = { style: 'unit', unit, unitDisplay, maximumFractionDigits: digits } as const;
  return new Intl.NumberFormat(undefined, options).format(value);
}
