import type { UsageRow } from '../../../http/routes/account/usage.ts';

const SUMMED = [
  ...(['requests', 'errors', 'outputs', 'credits'] as const),
  ...(['input_tokens', 'cached_input_tokens', 'output_tokens'] as const),
];

/** Sums of rows. */
export type UsageSums = Pick<UsageRow, (typeof SUMMED)[number]>;

export interface UsageList {
  readonly data: readonly UsageRow[];
}

/** What a row of the table is the sum of, and its title. */
export const DIMENSIONS = {
  model: 'Model',
  key: 'API key',
  team: 'Team',
  day: 'Day',
  account: 'Account',
  tag: 'Tag',
} as const;

export type Dimension = keyof typeof DIMENSIONS;

export interface Period {
  /** First and last day, UTC, such as `2026-11-22`. */
  readonly from: string;
  readonly to: string;
}

/** What a report is asked for. */
export interface Question extends Period {
  readonly by: Dimension;
  /** Name of the tag by whose values it sums. */
  readonly tag: string;
  /** Whether it has all accounts, which only the owner may see. */
  readonly all: boolean;
}

const DAY_MS = 86_400_000;

/** Days of the period that is shown first. */
const DEFAULT_DAYS = 30;

/** Days that the server reports at most in one chart. */
const MAX_DAYS = 366;

function isDay(text: string | null): text is string {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

const dayText = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The last days up to today. @param now milliseconds since the epoch */
export function lastDays(days: number, now: number): Period {
  return { from: dayText(now - (days - 1) * DAY_MS), to: dayText(now) };
}

/** What an address asks for: `?from=…&to=…&by=model&accounts=all`. What it lacks or misspells is the default. */
export function questionOf(query: URLSearchParams, isOwner: boolean, now: number): Question {
  const [from, to] = [query.get('from'), query.get('to')];
  const isPeriod = isDay(from) && isDay(to) && from <= to;
  const all = isOwner && query.get('accounts') === 'all';
  const [asked = '', tag = 'run'] = (query.get('by') ?? '').split(':');
  const isKnown = Object.hasOwn(DIMENSIONS, asked) && (asked !== 'account' || all);
  return {
    ...(isPeriod ? { from, to } : lastDays(DEFAULT_DAYS, now)),
    by: isKnown ? (asked as Dimension) : all ? 'account' : 'model',
    ...{ tag, all },
  };
}

/** The dimension of a question, as the server names it. */
export function dimensionOf({ by, tag }: Pick<Question, 'by' | 'tag'>): string {
  return by === 'tag' ? `tag:${tag}` : by;
}

/** The place of a question within the console. */
export function placeOf({ from, to, all, ...dimension }: Question): string {
  const by = dimensionOf(dimension);
  const query = new URLSearchParams({ from, to, by, ...(all && { accounts: 'all' }) });
  return `usage?${query}`;
}

/** Path of a report on the server. */
export function pathOf(
  { from, to, all }: Pick<Question, 'from' | 'to' | 'all'>,
  by: string,
  format: 'json' | 'csv' = 'json',
): string {
  const query = new URLSearchParams({ by, from, to, ...(format === 'csv' && { format }) });
  return `${all ? 'v1/admin/usage' : 'v1/account/usage'}?${query}`;
}

export function sumOf(rows: readonly UsageRow[]): UsageSums {
  const sum = (name: keyof UsageSums) => rows.reduce((total, row) => total + row[name], 0);
  return Object.fromEntries(SUMMED.map((name) => [name, sum(name)])) as UsageSums;
}

/** Share of input tokens that came from a cache; null without input. */
export function cachedShare(sums: UsageSums): number | null {
  return sums.input_tokens === 0 ? null : sums.cached_input_tokens / sums.input_tokens;
}

/** Name of a row in the table. */
export function rowName(row: UsageRow, by: Dimension): string {
  if (by === 'key') return row.key_name ?? row.key_id ?? 'removed key';
  if (by === 'team') return row.team_name ?? row.team_id ?? 'no team';
  if (by === 'tag') return Object.values(row.tags ?? {})[0] ?? 'without this tag';
  if (by === 'account') return row.account_name ?? '';
  return (by === 'day' ? row.day : row.model) ?? '';
}

/** What the chart shows of a day. */
export const MEASURES = {
  credits: 'Credits',
  requests: 'Requests',
  errors: 'Errors',
  tokens: 'Tokens',
  outputs: 'Files made',
} as const;

export type Measure = keyof typeof MEASURES;

function measured(row: UsageRow, measure: Measure): number {
  return measure === 'tokens' ? row.input_tokens + row.output_tokens : row[measure];
}

/** A part of each day's bar. */
interface Part {
  readonly name: string;
  readonly values: readonly number[];
}

/** Parts of a bar; the smaller ones together are the last. */
const PARTS = 6;

/**
 * A number for each day of a period, also for days without usage, in parts of a dimension.
 *
 * @returns the days in seconds since the epoch, at most the last 366; and the parts, the largest first
 */
export function seriesOf(
  rows: readonly UsageRow[],
  { from, to }: Period,
  measure: Measure,
  by: Dimension = 'day',
): { readonly times: readonly number[]; readonly series: readonly Part[] } {
  const last = Date.parse(to);
  const first = Math.max(Date.parse(from), last - (MAX_DAYS - 1) * DAY_MS);
  const length = Math.round((last - first) / DAY_MS) + 1;
  const nameOf = (row: UsageRow) => (by === 'day' ? MEASURES[measure] : rowName(row, by));
  const parts = new Map<string, number[]>();
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = nameOf(row);
    sums.set(name, (sums.get(name) ?? 0) + measured(row, measure));
  }
  const largest = [...sums].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const shown = new Set(largest.slice(0, largest.length > PARTS + 1 ? PARTS : PARTS + 1));
  for (const row of rows) {
    const name = nameOf(row);
    const part = shown.has(name) ? name : OTHERS;
    const values = parts.get(part) ?? new Array<number>(length).fill(0);
    const index = Math.round((Date.parse(row.day!) - first) / DAY_MS);
    if (index >= 0) values[index]! += measured(row, measure);
    parts.set(part, values);
  }
  return {
    times: Array.from({ length }, (_, index) => (first + index * DAY_MS) / 1000),
    series: [...shown, OTHERS].flatMap((name) => {
      const values = parts.get(name);
      return values ? [{ name, values }] : [];
    }),
  };
}

const OTHERS = 'Others';
