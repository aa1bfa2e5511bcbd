import type { Asset } from '../../asset.ts';
import { dayOf, type LedgerEntry, type UsageCounts } from '../../ledger.ts';
import type { Statement } from '../database.ts';
import { encodeText } from '../text.ts';

type NewEntry = Omit<LedgerEntry, 'id'>;

interface UsageAddition extends Required<UsageCounts> {
  readonly accountId: string;
  readonly keyId: string;
  readonly teamId: string | null;
  readonly day: string;
  readonly model: string;
  readonly spent: number;
}

const encoded = (text: string | null) => (text === null ? null : encodeText(text));

const ENTRY_COLUMNS =
  'account_id, key_id, type, amount, task_id, model, requests, note, at, available';

/** Adds entries in their order: the order of one account's is the order of its history. */
export function insertEntries(entries: readonly NewEntry[]): Statement {
  return {
    text: `
INSERT INTO $schema.ledger (${ENTRY_COLUMNS})
SELECT ${ENTRY_COLUMNS} FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[],
  $6::text[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[])
  WITH ORDINALITY AS given (${ENTRY_COLUMNS}, place) ORDER BY place`,
    values: entryValues(entries),
  };
}

/** Adds to the sums of text charges of a day. */
export function upsertCharges(charges: readonly NewEntry[]): Statement {
  const sums = sumBy(
    charges,
    ({ accountId, keyId, model, at }) => [accountId, keyId, model, dayOf(at)],
    (sum, next) => ({
      ...next,
      amount: sum.amount + next.amount,
      requests: sum.requests! + next.requests!,
    }),
  );
  return {
    text: `
INSERT INTO $schema.ledger (${ENTRY_COLUMNS}, day)
SELECT ${ENTRY_COLUMNS}, day FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[],
  $6::text[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[], $11::text[])
  WITH ORDINALITY AS given (${ENTRY_COLUMNS}, day, place) ORDER BY place
ON CONFLICT (account_id, key_id, model, day) WHERE day IS NOT NULL DO UPDATE SET
  amount = ledger.amount + excluded.amount, requests = ledger.requests + excluded.requests,
  at = excluded.at, available = excluded.available`,
    values: [...entryValues(sums), sums.map(({ at }) => dayOf(at))],
  };
}

function entryValues(entries: readonly NewEntry[]): unknown[] {
  return [
    entries.map(({ accountId }) => accountId),
    entries.map(({ keyId }) => keyId),
    entries.map(({ type }) => type),
    entries.map(({ amount }) => amount),
    entries.map(({ taskId }) => taskId),
    entries.map(({ model }) => encoded(model)),
    entries.map(({ requests }) => requests),
    entries.map(({ note }) => encoded(note)),
    entries.map(({ at }) => at),
    entries.map(({ available }) => available),
  ];
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

const USAGE_COLUMNS = ['account_id', 'key_id', 'team_id', 'day', 'model'];

/** Adds to the usage of days. */
export function upsertUsage(additions: readonly UsageAddition[]): Statement {
  const sums = sumBy(
    additions,
    ({ accountId, keyId, teamId, day, model }) => [accountId, keyId, teamId, day, model],
    (sum, next) => {
      const counts = USAGE_COUNTS.map(([, name]) => [name, sum[name] + next[name]]);
      return { ...next, ...Object.fromEntries(counts) } as UsageAddition;
    },
  );
  const counted = USAGE_COUNTS.map(([column]) => column);
  const columns = [...USAGE_COLUMNS, ...counted].join(', ');
  const arrays = [...USAGE_COLUMNS, ...counted].map(
    (_, index) => `$${index + 1}::${index < USAGE_COLUMNS.length ? 'text' : 'bigint'}[]`,
  );
  return {
    text: `
INSERT INTO $schema.usage (${columns})
SELECT ${columns} FROM unnest(${arrays.join(', ')})
  WITH ORDINALITY AS given (${columns}, place) ORDER BY place
ON CONFLICT (account_id, day, key_id, team_id, model) DO UPDATE SET
  ${counted.map((column) => `${column} = usage.${column} + excluded.${column}`).join(', ')}`,
    values: [
      sums.map(({ accountId }) => accountId),
      sums.map(({ keyId }) => keyId),
      sums.map(({ teamId }) => teamId ?? ''),
      sums.map(({ day }) => day),
      sums.map(({ model }) => encodeText(model)),
      ...USAGE_COUNTS.map(([, name]) => sums.map((sum) => sum[name])),
    ],
  };
}

export function insertAssets(assets: readonly Asset[]): Statement {
  const columns = 'id, account_id, task_id, media_type, bytes, sha256, created_at, input';
  return {
    text: `
INSERT INTO $schema.assets (${columns})
SELECT ${columns} FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[],
  $7::bigint[], $8::text[]) WITH ORDINALITY AS given (${columns}, place) ORDER BY place`,
    values: [
      assets.map(({ id }) => id),
      assets.map(({ accountId }) => accountId),
      assets.map(({ taskId }) => taskId),
      assets.map(({ mediaType }) => mediaType),
      assets.map(({ bytes }) => bytes),
      assets.map(({ sha256 }) => sha256),
      assets.map(({ createdAt }) => createdAt),
      assets.map(({ input }) => input ?? null),
    ],
  };
}

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
export function insertCopiedEntries(entries: readonly LedgerEntry[]): Statement {
  const columns = `${ENTRY_COLUMNS}, day, id`;
  return {
    text: `
INSERT INTO $schema.ledger (${columns})
SELECT ${columns} FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[],
  $6::text[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[])
  AS given (${columns})`,
    values: [
      ...entryValues(entries),
      entries.map(({ type, taskId, at }) =>
        type === 'charge' && taskId === null ? dayOf(at) : null,
      ),
      entries.map(({ id }) => id),
    ],
  };
}
