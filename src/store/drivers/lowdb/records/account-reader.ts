import type { Account, ApiKey, Session, Team } from '../../../account.ts';
import { PERIODS } from '../../../calendar.ts';
import { unknownCursor } from '../../../errors.ts';
import type { Selection } from '../../../selection.ts';
import type { KeyHolder, Store } from '../../../store.ts';
import { compositeKey } from '../state/state.ts';
import type { GroupIndex, Table, UniqueIndex } from '../state/table.ts';
import type { Records } from './records.ts';

/** The methods that read accounts, keys, teams and windows. */
export function accountQueries(records: Records) {
  const { commits, bookedState, reservations } = records;

  /** The key as it was last on disk, with its account. */
  function holderAt(order: number | undefined): KeyHolder | undefined {
    if (order === undefined) return undefined;
    const key = commits.durable<ApiKey>('keys', order);
    const accountOrder = key && bookedState.accountById.order(key.accountId);
    const account = accountOrder && commits.durable<Account>('accounts', accountOrder);
    if (!key || !account) return undefined;
    const teamOrder = key.teamId === undefined ? undefined : bookedState.teamById.order(key.teamId);
    const team = teamOrder === undefined ? null : commits.durable<Team>('teams', teamOrder);
    const holder = { key: records.withReserved(key), account: records.withReserved(account) };
    return team ? { ...holder, team } : holder;
  }

  return {
    async findAccount(idOrName) {
      return records.readRow('accounts', () => {
        const { accountById, accountByName, accounts } = records.state;
        const order = accountById.order(idOrName) ?? accountByName.order(idOrName);
        if (order === undefined) return undefined;
        return { order, value: reservations.addTo(accounts.rows.get(order)!) };
      });
    },
    async listAccounts(selection) {
      return records.readRows(() => {
        const { accounts: table, accountById: byId } = records.state;
        const found = selectRows({ kind: 'account', table, byId }, undefined, selection);
        return found.map(reservations.addTo);
      });
    },
    /** Every request calls this. It does not wait for writes: it returns what was last on disk. */
    async findKey(hash) {
      return holderAt(bookedState.keyByHash.order(hash));
    },
    /** Like `findKey`, it does not wait for writes. */
    async findSession(hash) {
      const order = bookedState.sessionByHash.order(hash);
      const session = order === undefined ? null : commits.durable<Session>('sessions', order);
      if (!session || session.expiresAt <= records.now()) return undefined;
      const holder = holderAt(bookedState.keyById.order(session.keyId));
      return holder && { session, holder };
    },
    async listKeys(accountId, selection) {
      return records.readRows(() => {
        const { keys: table, keyById: byId, keysOfAccount: ofAccount } = records.state;
        const listed = { kind: 'key', table, byId, ofAccount, has: isOf(accountId) } as const;
        return selectRows(listed, accountId, selection).map(reservations.addTo);
      });
    },
    async matchKeys(text, limit) {
      return records.readRows(() => {
        const found: ApiKey[] = [];
        for (const key of records.state.keys.rows.values()) {
          if (found.length >= limit) break;
          if (key.hint === text || key.id.startsWith(text)) found.push(key);
        }
        return found.map(reservations.addTo);
      });
    },
    async countKeys(teams) {
      return records.readRows(() => {
        const { keysOfAccount } = records.state;
        const counts = new Map<string, number>();
        const ids = new Set(teams.map(({ id }) => id));
        for (const accountId of new Set(teams.map((team) => team.accountId))) {
          for (const [, { teamId, revokedAt }] of keysOfAccount.oldest(accountId)) {
            if (teamId === undefined || revokedAt !== null || !ids.has(teamId)) continue;
            counts.set(teamId, (counts.get(teamId) ?? 0) + 1);
          }
        }
        return counts;
      });
    },
    async listTeams(accountId, selection) {
      return records.readRows(() => {
        const { teams: table, teamById: byId } = records.state;
        const listed = { kind: 'team', table, byId, has: isOf(accountId) } as const;
        return selectRows(listed, accountId, selection).map(reservations.addTo);
      });
    },
    async listBudgetWindows(accountId, holderIds) {
      return records.readRows(() => {
        const { windows, windowsOfHolder } = records.state;
        const groups = holderIds?.flatMap((id) =>
          PERIODS.map((period) => compositeKey(id, period)),
        );
        const found = groups
          ? groups.flatMap((group) => Array.from(windowsOfHolder.oldest(group), ([, row]) => row))
          : [...windows.rows.values()];
        return found.filter(isOf(accountId)).map(reservations.addTo);
      });
    },
  } satisfies Partial<Store>;
}

/** A condition that rows of an account meet, or all where that is undefined. */
function isOf(accountId: string | undefined) {
  return (row: { readonly accountId: string }) =>
    accountId === undefined || row.accountId === accountId;
}

/** Accounts, keys or teams with the indexes by which a part of them is found. */
interface Listed<Row> {
  readonly kind: 'account' | 'key' | 'team';
  readonly table: Table<Row>;
  readonly byId: UniqueIndex<Row>;
  readonly ofAccount?: GroupIndex<Row>;
  /** Whether the list has a row. */
  readonly has?: (row: Row) => boolean;
}

/**
 * Rows of a part of a list, in the order of creation.
 *
 * @param group the account whose rows `ofAccount` finds; undefined for all accounts
 * @throws Failure 404 for an unknown `after`
 */
function selectRows<Row>(
  listed: Listed<Row>,
  group: string | undefined,
  { ids, limit = Infinity, after }: Selection = {},
): Row[] {
  const { kind, byId, has = () => true } = listed;
  const cursor = after === undefined ? undefined : byId.get(after);
  if (after !== undefined && (cursor === undefined || !has(cursor))) {
    throw unknownCursor(kind, after);
  }
  const last = after === undefined ? 0 : byId.order(after)!;
  const found: Row[] = [];
  for (const row of candidates(listed, group, ids, last)) {
    if (found.length >= limit) break;
    if (has(row)) found.push(row);
  }
  return found;
}

function* candidates<Row>(
  { table, byId, ofAccount }: Listed<Row>,
  group: string | undefined,
  ids: readonly string[] | undefined,
  last: number,
): Generator<Row> {
  if (ids !== undefined) {
    const orders = new Set(ids.map((id) => byId.order(id) ?? 0));
    const ascending = [...orders].filter((order) => order > last).sort((one, other) => one - other);
    for (const order of ascending) yield table.rows.get(order)!;
  } else if (group !== undefined && ofAccount) {
    for (const [, row] of ofAccount.oldest(group, last)) yield row;
  } else {
    for (let order = last + 1; order < table.next; order += 1) {
      const row = table.rows.get(order);
      if (row !== undefined) yield row;
    }
  }
}
