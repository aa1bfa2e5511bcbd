/** Numbers and dates as the reader's locale writes them. */

const numbers = (options: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(undefined, options).format as (value: number) => string;

/** Times in seconds since the epoch. */
function times(options: Intl.DateTimeFormatOptions): (seconds: number) => string {
  const { format } = new Intl.DateTimeFormat(undefined, options);
  return (seconds) => format(seconds * 1000);
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });

export const formatNumber = numbers({ maximumFractionDigits: 0 });

/** Credits, which have up to six decimals. */
export const formatCredits = numbers({ maximumFractionDigits: 6 });

const rounded = numbers({ maximumFractionDigits: 2 });

/** Credits in large type, where decimals are of no interest beside many whole ones. */
export function formatRoundCredits(value: number): string {
  const size = Math.abs(value);
  return (size < 1 ? formatCredits : size < 10_000 ? rounded : formatNumber)(value);
}

/** A share from 0 to 1. */
export const formatPercent = numbers({ style: 'percent', maximumFractionDigits: 1 });

export const formatTime = times({ dateStyle: 'medium', timeStyle: 'medium' });

/** The time of a day. */
export const formatClock = times({ hour: '2-digit', minute: '2-digit' });

/** The day (UTC) and month of a time. */
export const formatShortDay = times({ day: 'numeric', month: 'short', timeZone: 'UTC' });

const SPANS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time from now, in its largest unit: `5 min ago`. @param seconds between the two, negative for the past */
export function formatSpan(seconds: number): string {
  if (Math.abs(seconds) < 10) return 'now';
  const [unit, size] = spanOf(Math.abs(seconds));
  return relative.format(Math.trunc(seconds / size), unit);
}

/** A duration in its largest unit. */
export function formatUptime(seconds: number): string {
  const [unit, size] = spanOf(seconds);
  return withUnit(Math.floor(seconds / size), unit, 'long', 0);
}

const spanOf = (seconds: number) => SPANS.find(([, size]) => seconds >= size) ?? SPANS[3];

/** The day (UTC) of a time. */
export const formatDate = times({ dateStyle: 'medium', timeZone: 'UTC' });

/** @param day UTC, such as `2026-11-22` */
export const formatDay = (day: string): string => formatDate(Date.parse(day) / 1000);

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
function withUnit(
  value: number,
  unit: string,
  unitDisplay: 'long' | 'short' | 'narrow',
  digits: number,
): string {
  const options = { style: 'unit', unit, unitDisplay, maximumFractionDigits: digits } as const;
  return new Intl.NumberFormat(undefined, options).format(value);
}
