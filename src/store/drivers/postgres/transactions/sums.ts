import type { Asset } from '../../../asset.ts';
import { type LedgerEntry, type UsageCounts, utcDayOf } from '../../../ledger.ts';
import type { NewEntry, UsageAddition } from '../../../operations/unit-of-work.ts';
import { type Columns, rowStatement } from '../database/arrays.ts';
import type { Statement } from '../database/database.ts';
import { encodeText } from '../database/text.ts';
import { insertInto } from './table.ts';

/** Usage that is added to the row of a key, a model and a day. */
export type UsageSum = Omit<UsageAddition, 'counts'> & Required<UsageCounts>;

const encoded = (text: string | null) => (text === null ? null : encodeText(text));

const ENTRIES: Columns<NewEntry> = {
  account_id: ['text', ({ accountId }) => accountId],
  key_id: ['text', ({ keyId }) => keyId],
  type: ['text', ({ type }) => type],
  amount: ['bigint', ({ amount }) => amount],
  task_id: ['text', ({ taskId }) => taskId],
  model: ['text', ({ model }) => encoded(model)],
  requests: ['bigint', ({ requests }) => requests],
  note: ['text', ({ note }) => encoded(note)],
  at: ['bigint', ({ at }) => at],
  available: ['bigint', ({ available }) => available],
};

/** Adds entries in their order: the order of one account's is the order of its history. */
export const insertEntries = rowStatement(ENTRIES, insertInto('ledger'));

const upsertDays = rowStatement<NewEntry>(
  { ...ENTRIES, day: ['text', ({ at }) => utcDayOf(at)] },
  (relation) => `${insertInto('ledger')(relation)}
ON CONFLICT (account_id, key_id, model, day) WHERE day IS NOT NULL DO UPDATE SET
  amount = ledger.amount + excluded.amount, requests = ledger.requests + excluded.requests,
  at = excluded.at, available = excluded.available`,
);

/** Adds to the sums of text charges of a day. */
export function upsertCharges(charges: readonly NewEntry[]): Statement {
  const sums = sumBy(
    charges,
    ({ accountId, keyId, model, at }) => [accountId, keyId, model, utcDayOf(at)],
    (sum, next) => ({
      ...next,
      amount: sum.amount + next.amount,
      requests: sum.requests! + next.requests!,
    }),
  );
  return upsertDays(sums);
}

const USAGE_COUNTS = [
  ['requests', 'requests'],
  ['input_tokens', 'inputTokens'],
  ['cached_input_tokens', 'cachedInputTokens'],
  ['cache_write_tokens', 'cacheWriteTokens'],
  ['cache_write_1h_tokens', 'cacheWrite1hTokens'],
  ['output_tokens', 'outputTokens'],
  ['outputs', 'outputs'],
  ['errors', 'errors'],
  ['spent', 'spent'],
] as const;

const USAGE: Columns<UsageSum> = {
  account_id: ['text', ({ accountId }) => accountId],
  key_id: ['text', ({ keyId }) => keyId],
  team_id: ['text', ({ teamId }) => teamId ?? ''],
  day: ['text', ({ day }) => day],
  model: ['text', ({ model }) => encodeText(model)],
  ...Object.fromEntries(
    USAGE_COUNTS.map(([column, name]) => [
      column,
      ['bigint', (sum: UsageSum) => sum[name]] as const,
    ]),
  ),
};

const COUNT_SETS = USAGE_COUNTS.map(
  ([column]) => `${column} = usage.${column} + excluded.${column}`,
);

const upsertCounts = rowStatement(
  USAGE,
  (relation) => `${insertInto('usage')(relation)}
ON CONFLICT (account_id, day, key_id, team_id, model) DO UPDATE SET ${COUNT_SETS.join(', ')}`,
);

/** Adds to the usage of days. */
export function upsertUsage(additions: readonly UsageSum[]): Statement {
  const sums = sumBy(
    additions,
    ({ accountId, keyId, teamId, day, model }) => [accountId, keyId, teamId, day, model],
    (sum, next) => {
      const counts = USAGE_COUNTS.map(([, name]) => [name, sum[name] + next[name]]);
      return { ...next, ...Object.fromEntries(counts) } as UsageSum;
    },
  );
  return upsertCounts(sums);
}

const ASSETS: Columns<Asset> = {
  id: ['text', ({ id }) => id],
  account_id: ['text', ({ accountId }) => accountId],
  task_id: ['text', ({ taskId }) => taskId],
  media_type: ['text', ({ mediaType }) => mediaType],
  bytes: ['bigint', ({ bytes }) => bytes],
  sha256: ['text', ({ sha256 }) => sha256],
  created_at: ['bigint', ({ createdAt }) => createdAt],
  input: ['text', ({ input }) => input ?? null],
};

export const insertAssets = rowStatement(ASSETS, insertInto('assets'));

/** One row for each name: an upsert cannot change a row twice. In the order of the first of each. */
function sumBy<Row>(
  rows: readonly Row[],
  nameOf: (row: Row) => readonly (string | null)[],
  add: (sum: Row, next: Row) => Row,
): Row[] {
  const sums = new Map<string, Row>();
  for (const row of rows) {
    const name = JSON.stringify(nameOf(row));
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? row : add(sum, row));
  }
  return [...sums.values()];
}

/** Adds entries of another store with their identifiers. */
export const insertCopiedEntries = rowStatement<LedgerEntry>(
  {
    id: ['bigint', ({ id }) => id],
    ...ENTRIES,
    day: ['text', ({ type, taskId, at }) => (type === 'charge' && !taskId ? utcDayOf(at) : null)],
  },
  insertInto('ledger'),
);
