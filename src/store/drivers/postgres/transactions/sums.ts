import type { Asset } from '../../../asset.ts';
import { type LedgerEntry, type UsageCounts, type UsageRow, utcDayOf } from '../../../ledger.ts';
import type { NewEntry, UsageAddition } from '../../../operations/unit-of-work.ts';
import { rowStatement } from '../database/arrays.ts';
import type { Row, Statement } from '../database/database.ts';
import { fieldsOf, insertInto } from './table.ts';

/** Usage that is added to the row of a key, a model, a day and tags. */
export type UsageSum = Omit<UsageAddition, 'counts'> & Required<UsageCounts>;

const ENTRIES = fieldsOf<NewEntry>({
  account_id: ['text', 'accountId'],
  key_id: ['text', 'keyId'],
  type: ['text', 'type'],
  amount: ['bigint', 'amount'],
  task_id: ['text', 'taskId'],
  model: ['text', 'model', 'encoded'],
  requests: ['bigint', 'requests'],
  note: ['text', 'note', 'encoded'],
  at: ['bigint', 'at'],
  available: ['bigint', 'available'],
});

export function entryOf(row: Row): LedgerEntry {
  return { id: row.id as number, ...ENTRIES.read(row) };
}

/** Adds entries in their order: the order of one account's is the order of its history. */
export const insertEntries = rowStatement(ENTRIES.columns, insertInto('ledger'));

const upsertDays = rowStatement<NewEntry>(
  { ...ENTRIES.columns, day: ['text', ({ at }) => utcDayOf(at)] },
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

const USAGE_COUNTS = {
  requests: 'requests',
  input_tokens: 'inputTokens',
  cached_input_tokens: 'cachedInputTokens',
  cache_write_tokens: 'cacheWriteTokens',
  cache_write_1h_tokens: 'cacheWrite1hTokens',
  output_tokens: 'outputTokens',
  cache_hits: 'cacheHits',
  outputs: 'outputs',
  errors: 'errors',
  spent: 'spent',
} as const;

const USAGE_FIELDS = {
  account_id: ['text', 'accountId'],
  key_id: ['text', 'keyId', 'blank'],
  team_id: ['text', 'teamId', 'blank'],
  day: ['text', 'day'],
  model: ['text', 'model', 'encoded'],
  ...Object.fromEntries(
    Object.entries(USAGE_COUNTS).map(([column, name]) => [column, ['bigint', name] as const]),
  ),
} as const;

const USAGE = fieldsOf<UsageSum>(USAGE_FIELDS);
const TAGGED_USAGE = fieldsOf<UsageSum>({ ...USAGE_FIELDS, tags: ['text', 'tags', 'blank'] });

/** All rows of usage, with and without tags. */
export const ALL_USAGE =
  "(SELECT *, '' AS tags FROM $schema.usage UNION ALL SELECT * FROM $schema.tagged_usage) AS usage";

/** Rows of earlier versions have no key, and those of keys without a team no team. */
export const usageOf = (row: Row) => TAGGED_USAGE.read(row) as UsageRow;

const addCountsTo = (table: string) =>
  Object.keys(USAGE_COUNTS).map((column) => `${column} = ${table}.${column} + excluded.${column}`);

const upsertPlain = rowStatement(
  USAGE.columns,
  (relation) => `${insertInto('usage')(relation)}
ON CONFLICT (account_id, day, key_id, team_id, model) DO UPDATE SET ${addCountsTo('usage').join(', ')}`,
);

const upsertTagged = rowStatement(
  TAGGED_USAGE.columns,
  ({ names, given }) => `INSERT INTO $schema.tagged_usage (seq, ${names})
SELECT nextval(pg_get_serial_sequence('$schema.usage', 'seq')), ${names} FROM ${given}
ON CONFLICT (account_id, day, key_id, team_id, model, tags)
DO UPDATE SET ${addCountsTo('tagged_usage').join(', ')}`,
);

/** Adds to the usage of days. */
export function upsertUsage(additions: readonly UsageSum[]): Statement[] {
  const sums = sumBy(
    additions,
    ({ accountId, keyId, teamId, day, model, tags }) => [
      ...[accountId, keyId, teamId, day, model, tags],
    ],
    (sum, next) => {
      const counts = Object.values(USAGE_COUNTS).map((name) => [name, sum[name] + next[name]]);
      return { ...next, ...Object.fromEntries(counts) } as UsageSum;
    },
  );
  const tagged = sums.filter(({ tags }) => tags !== '');
  const plain = tagged.length === 0 ? sums : sums.filter(({ tags }) => tags === '');
  return [
    ...(plain.length > 0 ? [upsertPlain(plain)] : []),
    ...(tagged.length > 0 ? [upsertTagged(tagged)] : []),
  ];
}

export const ASSETS = fieldsOf<Asset>({
  id: ['text', 'id'],
  account_id: ['text', 'accountId'],
  task_id: ['text', 'taskId'],
  media_type: ['text', 'mediaType'],
  bytes: ['bigint', 'bytes'],
  sha256: ['text', 'sha256'],
  created_at: ['bigint', 'createdAt'],
  input: ['text', 'input', 'optional'],
});

export const insertAssets = rowStatement(ASSETS.columns, insertInto('assets'));

/** One row for each name: an upsert cannot change a row twice. In the order of the first of each. */
function sumBy<Item>(
  rows: readonly Item[],
  groupOf: (row: Item) => readonly (string | null)[],
  add: (sum: Item, next: Item) => Item,
): Item[] {
  const sums = new Map<string, Item>();
  for (const row of rows) {
    const name = JSON.stringify(groupOf(row));
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? row : add(sum, row));
  }
  return [...sums.values()];
}

/** Adds entries of another store with their identifiers. */
export const insertCopiedEntries = rowStatement<LedgerEntry>(
  {
    id: ['bigint', ({ id }) => id],
    ...ENTRIES.columns,
    day: ['text', ({ type, taskId, at }) => (type === 'charge' && !taskId ? utcDayOf(at) : null)],
  },
  insertInto('ledger'),
);
