import { setImmediate } from 'node:timers/promises';
import { invalid } from '../schema/invalid.ts';
import { decimal, toCredits } from '../store/credits.ts';
import { notFound } from '../store/errors.ts';
import { utcDayOf } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';
import {
  isTagDimension,
  sumUsage,
  type UsageDimension,
  type UsageFilter,
  type UsageSum,
} from '../store/usage-report.ts';
import { accountIdOf, matchingTeams } from './find.ts';

/** Usage and credits, as a decimal. */
export type UsageTotal = ReturnType<typeof totalOf>;

/** One sum of a report. It has the names by which the report sums. */
export type UsageRecord = ReturnType<typeof recordOf>;

/** The cell of a dimension in a table: the name of what the row sums, or the value of a tag; null for none. */
export function cellOf(record: UsageRecord, dimension: UsageDimension): string | null {
  const value = isTagDimension(dimension) ? record.tags?.[dimension.slice(4)] : record[dimension];
  return value ?? null;
}

export type UsageReport = Awaited<ReturnType<typeof reportUsage>>;

export interface ReportOptions extends UsageFilter {
  readonly by: readonly UsageDimension[];
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Identifier; undefined for all accounts. */
  readonly accountId?: string | undefined;
}

/** Rows of a report at most, some 4 MB of JSON, which take 30 ms. */
const MAX_ROWS = 20_000;

/** Records that are made at once; requests are answered between them. */
const SLICE = 1000;

const DAY = 86_400_000;

/** Days of a report where no first one is given. */
const DEFAULT_DAYS = 30;

/** Compares texts in the order of their code units, null first. */
function compare(one: string | null, other: string | null): number {
  if (one === other) return 0;
  return (one ?? '') < (other ?? '') ? -1 : 1;
}

/** Sums usage for a report, in the order of the names of its columns. @throws Failure for too many rows */
export async function reportUsage(store: Store, options: ReportOptions) {
  const { by, accountId, ...filter } = options;
  const to = options.to ?? utcDayOf(Date.now());
  const from = options.from ?? utcDayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY);
  if (from > to) {
    throw invalid('from', `expected a day up to ${to}, received ${from}`);
  }
  const rows = await store.listUsage(accountId, { from, to });
  const { sums, total } = await sumUsage(rows, { by, filter, maxRows: MAX_ROWS });
  const nameOf = await namesIn(store, by, sums);
  const records: UsageRecord[] = [];
  for (const sum of sorted(sums, by, nameOf)) {
    if (records.length % SLICE === SLICE - 1) await setImmediate();
    records.push(recordOf(sum, nameOf));
  }
  return { from, to, by, rows: records, total: totalOf(total) };
}

/**
 * Sums in the order of names, then of identifiers, column by column. Compares ranks: comparing the names of
 * 20,000 sums takes ten times as long.
 */
function sorted(
  sums: readonly UsageSum[],
  by: readonly UsageDimension[],
  nameOf: NameOf,
): readonly UsageSum[] {
  const columns = by.map((dimension) => {
    const ids = [...new Set(sums.map(({ names }) => names[dimension] ?? null))].sort(
      (one, other) =>
        compare(nameOf(dimension, one), nameOf(dimension, other)) || compare(one, other),
    );
    return { dimension, ranks: new Map(ids.map((id, rank) => [id, rank])) };
  });
  return sums
    .map((sum) => ({
      sum,
      order: columns.map(({ dimension, ranks }) => ranks.get(sum.names[dimension] ?? null)!),
    }))
    .sort((one, other) => {
      for (const [column, rank] of one.order.entries()) {
        if (rank !== other.order[column]) return rank - other.order[column]!;
      }
      return 0;
    })
    .map(({ sum }) => sum);
}

type NameOf = (dimension: UsageDimension, id: string | null) => string | null;

function totalOf({ names: _, spent, ...counts }: UsageSum) {
  return { ...counts, credits: toCredits(spent) };
}

function recordOf(sum: UsageSum, nameOf: NameOf) {
  const { account, team, key, model, day, ...others } = sum.names;
  const tags = Object.entries(others).map(([dimension, value]) => [dimension.slice(4), value]);
  return {
    ...(account != null && { account: nameOf('account', account)!, accountId: account }),
    ...(team !== undefined && { team: nameOf('team', team), teamId: team }),
    ...(key !== undefined && { key: nameOf('key', key), keyId: key }),
    ...(model != null && { model }),
    ...(day != null && { day }),
    ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
    ...totalOf(sum),
  };
}

/** A function for the name of an account, a team or a key with an identifier; other names stay. */
async function namesIn(
  store: Store,
  by: readonly UsageDimension[],
  sums: readonly UsageSum[],
): Promise<NameOf> {
  const idsOf = (dimension: UsageDimension) => ({
    ids: [...new Set(sums.flatMap(({ names }) => names[dimension] ?? []))],
  });
  const all = [
    ...(by.includes('account') ? await store.listAccounts(idsOf('account')) : []),
    ...(by.includes('team') ? await store.listTeams(undefined, idsOf('team')) : []),
    ...(by.includes('key') ? await store.listKeys(undefined, idsOf('key')) : []),
  ];
  const names = new Map(all.map(({ id, name }) => [id, name]));
  const isNamed = (dimension: UsageDimension) => ['account', 'team', 'key'].includes(dimension);
  return (dimension, id) => (id !== null && isNamed(dimension) ? (names.get(id) ?? id) : id);
}

/** A report for the operator. @throws Failure for an unknown account or team */
export async function reportNamed(
  store: Store,
  {
    account,
    team,
    ...options
  }: ReportOptions & {
    readonly account?: string | undefined;
    readonly team?: string | undefined;
  },
) {
  const accountId = await accountIdOf(store, account);
  const teamIds = team === undefined ? undefined : await teamIdsOf(store, team, accountId);
  if (teamIds?.size === 0) throw notFound('team', team!);
  return reportUsage(store, { ...options, accountId, teamIds });
}

/** Identifiers of the teams with an identifier or a name, removed ones too, of one account or of all. */
export async function teamIdsOf(
  store: Store,
  team: string,
  accountId?: string,
): Promise<ReadonlySet<string>> {
  return new Set((await matchingTeams(store, team, accountId)).map(({ id }) => id));
}

/** Counts of a report: property, name in CSV and JSON, title in tables, place among those that a narrow terminal drops. */
export const COUNTS = [
  ['requests', 'requests', 'REQUESTS', 8],
  ['inputTokens', 'input_tokens', 'INPUT', 5],
  ['cachedInputTokens', 'cached_input_tokens', 'CACHED', 3],
  ['cacheWriteTokens', 'cache_write_tokens', 'WRITE', 2],
  ['cacheWrite1hTokens', 'cache_write_1h_tokens', 'WRITE 1H', 1],
  ['outputTokens', 'output_tokens', 'OUTPUT', 6],
  ['cacheHits', 'cache_hits', 'HITS', 0],
  ['outputs', 'outputs', 'OUTPUTS', 4],
  ['errors', 'errors', 'ERRORS', 7],
] as const;

/** A field of CSV (RFC 4180). */
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A report as comma-separated values, a line for each row. */
export function csvOf({ by, rows }: UsageReport): string {
  const hasId = (dimension: UsageDimension) => dimension === 'team' || dimension === 'key';
  const header = [
    ...by.flatMap((dimension) => (hasId(dimension) ? [dimension, `${dimension}_id`] : dimension)),
    ...COUNTS.map(([, name]) => name),
    'credits',
  ];
  const lines = rows.map((record) => [
    ...by.flatMap((dimension) => {
      const name = cellOf(record, dimension) ?? '';
      if (dimension === 'team') return [name, record.teamId ?? ''];
      return dimension === 'key' ? [name, record.keyId ?? ''] : name;
    }),
    ...COUNTS.map(([count]) => String(record[count])),
    decimal(record.credits),
  ]);
  return [header, ...lines].map((line) => line.map(quoted).join(',')).join('\n');
}
