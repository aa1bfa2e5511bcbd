import { groupBy } from '../../../../maps.ts';
import type { Account, ApiKey, Session, Team } from '../../../account.ts';
import type { BudgetWindow } from '../../../budgets.ts';
import type { Selection } from '../../../selection.ts';
import type { KeyHolder, Store } from '../../../store.ts';
import type { Database, Row } from '../database/database.ts';
import { decodeText, encodeText } from '../database/text.ts';
import { ACCOUNTS, KEYS, TEAMS, WINDOWS } from '../transactions/rows.ts';
import type { Balances } from './balances.ts';
import { ofAccount } from './balances.ts';
import type { LoadedKeys } from './key-cache.ts';

const accountOf = (row: Row): Account & { readonly accountId?: never } =>
  ACCOUNTS.read(row).account;

/** The account without the charges that this node has yet to book. */
export async function storedAccount(
  balances: Balances,
  idOrName: string,
): Promise<Account | undefined> {
  const [account] = await balances.read(
    idOrName,
    'SELECT * FROM $schema.accounts WHERE id = $1 OR name = $1 ORDER BY id = $1 DESC LIMIT 1',
    [encodeText(idOrName)],
    accountOf,
  );
  return account;
}

/**
 * The queries for accounts, keys, teams and windows.
 *
 * @param bookCharges waits until all charges of this node are in the database; rejects if the store is closed
 */
export function accountQueries(balances: Balances, bookCharges: () => Promise<void>) {
  const list =
    <Item extends Account | ApiKey | Team>(
      kind: 'account' | 'key' | 'team',
      read: (row: Row) => Item,
    ) =>
    async (accountId?: string, selection: Selection = {}) => {
      await bookCharges();
      return balances.selected(kind, accountId, selection, read);
    };
  const listAccounts = list('account', accountOf);
  return {
    async findAccount(idOrName) {
      await bookCharges();
      return storedAccount(balances, idOrName);
    },
    listAccounts: (selection) => listAccounts(undefined, selection),
    listKeys: list('key', KEYS.read),
    listTeams: list('team', TEAMS.read),
    async matchKeys(text, limit) {
      await bookCharges();
      // Each part reads one index. Characters of identifiers are before the tilde.
      return balances.read(
        undefined,
        `(SELECT * FROM $schema.keys WHERE hint = $1 ORDER BY hint LIMIT $2)
         UNION ALL (SELECT * FROM $schema.keys WHERE id >= $1 AND id < $1 || '~' ORDER BY id LIMIT $2)
         LIMIT $2`,
        [encodeText(text), limit],
        KEYS.read,
      );
    },
    async countKeys(teams) {
      const rows = await balances.reads.query<{ team: string; keys: number }>(
        teams[0]?.accountId,
        `SELECT team_id AS team, count(*) AS keys FROM $schema.keys
         WHERE account_id = ANY($1::text[]) AND team_id = ANY($2::text[]) AND revoked_at IS NULL GROUP BY team_id`,
        [[...new Set(teams.map(({ accountId }) => accountId))], teams.map(({ id }) => id)],
      );
      return new Map(rows.map(({ team, keys }) => [team, keys]));
    },
    async listBudgetWindows(accountId, holderIds) {
      await bookCharges();
      const conditions = ofAccount(accountId);
      conditions.addList('holder_id', holderIds);
      const { where, values } = conditions;
      const text = `SELECT * FROM $schema.windows ${where} ORDER BY seq`;
      const windows = await balances.read(accountId, text, values, WINDOWS.read);
      const groupOf = ({ holderId, period }: BudgetWindow) => `${holderId} ${period}`;
      const groups = groupBy(windows, groupOf);
      const later = (window: BudgetWindow) =>
        groups.get(groupOf(window))!.filter(({ from }) => from > window.from).length;
      // Older ones stay for credits that were drawn in advance, until the next window begins.
      return windows.filter((window) => window.reserved > 0 || later(window) < 2);
    },
  } satisfies Partial<Store>;
}

/** The revision and the keys of some hashes, in one snapshot. */
export async function loadKeys(database: Database, hashes: readonly string[]): Promise<LoadedKeys> {
  const [row] = await database.query<{
    number: number;
    holders: readonly { key: Row; account: Row; team: Row | null }[] | null;
  }>(
    `SELECT number, (
      SELECT json_agg(json_build_object('key', row_to_json(k), 'account', row_to_json(a), 'team', row_to_json(t)))
      FROM $schema.keys AS k JOIN $schema.accounts AS a ON a.id = k.account_id
      LEFT JOIN $schema.teams AS t ON t.id = k.team_id
      WHERE k.hash = ANY($1::text[])
    ) AS holders FROM $schema.revision`,
    [hashes.map(encodeText)],
  );
  const keys = (row!.holders ?? []).map(({ key, account, team }): [string, KeyHolder] => {
    const found = KEYS.read(key);
    const holder = { key: found, account: ACCOUNTS.read(account).account };
    return [found.hash, { ...holder, team: team ? TEAMS.read(team) : undefined }];
  });
  return { revision: row!.number, keys: new Map(keys) };
}

export async function hashOfKey(database: Database, keyId: string): Promise<string | undefined> {
  const [row] = await database.query<{ hash: string }>(
    'SELECT hash FROM $schema.keys WHERE id = $1',
    [encodeText(keyId)],
  );
  return row && decodeText(row.hash);
}

/** A session that has not expired, with the hash of its key. */
export async function loadSession(
  database: Database,
  hash: string,
  now: number,
): Promise<{ readonly session: Session; readonly keyHash: string } | undefined> {
  const [row] = await database.query<Omit<Session, 'hash'> & { readonly keyHash: string }>(
    `SELECT s.account_id AS "accountId", s.key_id AS "keyId", s.created_at AS "createdAt",
       s.expires_at AS "expiresAt", k.hash AS "keyHash"
     FROM $schema.sessions AS s JOIN $schema.keys AS k ON k.id = s.key_id
     WHERE s.hash = $1 AND s.expires_at > $2`,
    [encodeText(hash), now],
  );
  if (!row) return undefined;
  const { keyHash, ...session } = row;
  return { session: { hash, ...session }, keyHash: decodeText(keyHash) };
}
