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
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: UNITS[step]!,
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step === 0 ? 0 : 1,
  }).format(bytes / 1000 ** step);
}

export function formatDuration(milliseconds: number): string {
  const [value, unit] =
    milliseconds < 1000 ? [milliseconds, 'millisecond'] : [milliseconds / 1000, 'second'];
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit,
    unitDisplay: 'narrow',
    maximumFractionDigits: unit === 'second' && value < 100 ? 2 : 0,
  }).format(value);
}
