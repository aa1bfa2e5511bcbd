/** Numbers and dates as the reader's locale writes them. */

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });
const rounded = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const shortDay = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
const calendarDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

export function formatNumber(value: number): string {
  return whole.format(value);
}

/** Credits, which have up to six decimals. */
export function formatCredits(value: number): string {
  return precise.format(value);
}

/** Credits in large type, where decimals are of no interest beside many whole ones. */
export function formatRoundCredits(value: number): string {
  const size = Math.abs(value);
  return (size < 1 ? precise : size < 10_000 ? rounded : whole).format(value);
}

/** @param share from 0 to 1 */
export function formatPercent(share: number): string {
  return percent.format(share);
}

/** @param seconds since the epoch */
export function formatTime(seconds: number): string {
  return moment.format(seconds * 1000);
}

/** The time of a day. @param seconds since the epoch */
export function formatClock(seconds: number): string {
  return clock.format(seconds * 1000);
}

/** The day (UTC) and month of a time. @param seconds since the epoch */
export function formatShortDay(seconds: number): string {
  return shortDay.format(seconds * 1000);
}

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

function spanOf(seconds: number) {
  return SPANS.find(([, size]) => seconds >= size) ?? SPANS[3];
}

/** The day (UTC) of a time. @param seconds since the epoch */
export function formatDate(seconds: number): string {
  return calendarDay.format(seconds * 1000);
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
function withUnit(
  value: number,
  unit: string,
  unitDisplay: 'long' | 'short' | 'narrow',
  digits: number,
): string {
  const options = { style: 'unit', unit, unitDisplay, maximumFractionDigits: digits } as const;
  return new Intl.NumberFormat(undefined, options).format(value);
}
