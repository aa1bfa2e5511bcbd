import { NO_USAGE, type UsageCounts, type UsageRow } from './ledger.ts';

/** What rows of usage can be summed by, in the order of the columns of a report. */
export const USAGE_DIMENSIONS = ['account', 'team', 'key', 'model', 'day'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** Usage that rows of the same dimensions have in sum. */
export interface UsageSum extends UsageCounts {
  /** Identifiers, model and day by dimension. Null for no team, and for rows from before keys were recorded. */
  readonly names: Partial<Record<UsageDimension, string | null>>;
  /** Micro-credits. */
  readonly spent: number;
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

const COUNTERS = [
  'requests',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'outputs',
  'spent',
] as const;

/** Conditions on rows; one that is undefined is met by all. */
export interface UsageFilter {
  readonly keyIds?: ReadonlySet<string> | undefined;
  readonly teamIds?: ReadonlySet<string> | undefined;
  readonly model?: string | undefined;
}

/** Dimensions with commas between them, none of them twice; undefined for any other text. */
export function usageDimensions(text: string): UsageDimension[] | undefined {
  const names = text.split(',').map((name) => name.trim());
  const isKnown = (name: string): name is UsageDimension =>
    USAGE_DIMENSIONS.some((known) => known === name);
  return names.every(isKnown) && new Set(names).size === names.length ? names : undefined;
}

function nameIn(row: UsageRow, dimension: UsageDimension): string | null {
  switch (dimension) {
    case 'account':
      return row.accountId;
    case 'team':
      return row.teamId ?? null;
    case 'key':
      return row.keyId ?? null;
    case 'model':
      return row.model;
    case 'day':
      return row.day;
  }
}

function meets({ keyId, teamId, model }: UsageRow, filter: UsageFilter): boolean {
  if (filter.keyIds && !(keyId !== undefined && filter.keyIds.has(keyId))) return false;
  if (filter.teamIds && !(teamId !== undefined && filter.teamIds.has(teamId))) return false;
  return filter.model === undefined || filter.model === model;
}

/** Sums rows of usage by some dimensions, in the order of the first row of each sum. */
export function sumUsage(
  rows: Iterable<UsageRow>,
  by: readonly UsageDimension[],
  filter: UsageFilter = {},
): UsageSum[] {
  const sums = new Map<string, Mutable<UsageSum>>();
  for (const row of rows) {
    if (!meets(row, filter)) continue;
    let name = '';
    for (const dimension of by) name += `\0${nameIn(row, dimension)}`;
    let sum = sums.get(name);
    if (!sum) {
      const names = Object.fromEntries(by.map((dimension) => [dimension, nameIn(row, dimension)]));
      sum = { names, ...NO_USAGE, spent: 0 };
      sums.set(name, sum);
    }
    for (const counter of COUNTERS) sum[counter] += row[counter];
  }
  return [...sums.values()];
}
