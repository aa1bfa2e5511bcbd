import { setImmediate } from 'node:timers/promises';
import type { Failure } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';
import { NO_USAGE, type UsageCounts, type UsageRow } from './ledger.ts';
import { TAG_NAME, tagIn } from './tags.ts';

/** What rows of usage can be summed by, in the order of the columns of a report. */
export const USAGE_DIMENSIONS = ['account', 'team', 'key', 'model', 'day'] as const;
/** The values of one tag: `tag:run`. */
export type TagDimension = `tag:${string}`;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number] | TagDimension;

/** Tags by which one report may sum. */
const MAX_TAG_DIMENSIONS = 4;

export function isTagDimension(dimension: string): dimension is TagDimension {
  return dimension.startsWith('tag:') && TAG_NAME.test(dimension.slice(4));
}

/** Usage that rows of the same dimensions have in sum. */
export interface UsageSum extends Required<UsageCounts> {
  /** Identifiers, model, day and tags by dimension. Null for no team, no such tag, and rows from before keys were recorded. */
  readonly names: Partial<Record<UsageDimension, string | null>>;
  /** Micro-credits. */
  readonly spent: number;
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

const COUNTERS = [...(Object.keys(NO_USAGE) as (keyof UsageCounts)[]), 'spent'] as const;

/** Conditions on rows; one that is undefined is met by all. */
export interface UsageFilter {
  readonly keyId?: string | undefined;
  readonly teamIds?: ReadonlySet<string> | undefined;
  readonly model?: string | undefined;
}

/** Dimensions, separated by commas, none of them twice; undefined for any other text. */
export function usageDimensions(text: string): UsageDimension[] | undefined {
  const names = text.split(',').map((name) => name.trim());
  const isKnown = (name: string): name is UsageDimension =>
    USAGE_DIMENSIONS.some((known) => known === name) || isTagDimension(name);
  if (!names.every(isKnown) || new Set(names).size < names.length) return undefined;
  return names.filter(isTagDimension).length > MAX_TAG_DIMENSIONS ? undefined : names;
}

/** Properties of rows by dimensions. */
const PROPERTIES = {
  account: 'accountId',
  team: 'teamId',
  key: 'keyId',
  model: 'model',
  day: 'day',
} as const;

function nameIn(row: UsageRow, dimension: UsageDimension): string | null {
  if (dimension.startsWith('tag:')) return tagIn(row.tags, dimension.slice(4));
  return row[PROPERTIES[dimension as Exclude<UsageDimension, TagDimension>]] ?? null;
}

function meets({ keyId, teamId, model }: UsageRow, filter: UsageFilter): boolean {
  if (filter.keyId !== undefined && filter.keyId !== keyId) return false;
  if (filter.teamIds && !(teamId !== undefined && filter.teamIds.has(teamId))) return false;
  return filter.model === undefined || filter.model === model;
}

/** Rows that are summed at once, in 2 ms; requests are answered between them. */
const SLICE = 4000;

export interface UsageQuery {
  readonly by: readonly UsageDimension[];
  readonly filter: UsageFilter;
  /** Sums at most. */
  readonly maxRows: number;
}

/**
 * Sums rows of usage by some dimensions.
 *
 * @returns the sums in the order of the first row of each, and the sum of all
 * @throws Failure for more sums than `maxRows`
 */
export async function sumUsage(
  rows: readonly UsageRow[],
  { by, filter, maxRows }: UsageQuery,
): Promise<{ readonly sums: readonly UsageSum[]; readonly total: UsageSum }> {
  const sums = new Map<string, Mutable<UsageSum>>();
  const total: Mutable<UsageSum> = { names: {}, ...NO_USAGE, spent: 0 };
  for (const [index, row] of rows.entries()) {
    if (index % SLICE === SLICE - 1) await setImmediate();
    if (!meets(row, filter)) continue;
    let name = '';
    for (const dimension of by) name += `\0${nameIn(row, dimension)}`;
    let sum = sums.get(name);
    if (!sum) {
      if (sums.size === maxRows) throw tooManyRows(maxRows);
      const names = Object.fromEntries(by.map((dimension) => [dimension, nameIn(row, dimension)]));
      sum = { names, ...NO_USAGE, spent: 0 };
      sums.set(name, sum);
    }
    for (const counter of COUNTERS) {
      const count = row[counter] ?? 0;
      sum[counter] += count;
      total[counter] += count;
    }
  }
  return { sums: [...sums.values()], total };
}

function tooManyRows(maxRows: number): Failure {
  const message = `the report would have more than ${maxRows} rows; name fewer columns, or fewer days by from and to`;
  return invalid('by', message);
}
