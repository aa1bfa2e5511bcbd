import type { Account, ApiKey, Session, Team } from '../../../account.ts';
import { PERIODS } from '../../../calendar.ts';
import { unknownCursor } from '../../../errors.ts';
import type { RecordsByKind } from '../../../operations/unit-of-work.ts';
import type { Selection } from '../../../selection.ts';
import type { KeyHolder, Store } from '../../../store.ts';
import { COLLECTION_OF, compositeKey, type State } from '../state/state.ts';
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

  const list = <Kind extends ListedKind>(kind: Kind, accountId?: string, selection?: Selection) =>
    records.readRows(() =>
      selectRows(records.state, kind, accountId, selection).map(reservations.addTo),
    );

  return {
    async findAccount(idOrName) {
      return records.readRow('accounts', () => {
        const { accountById, accountByName, accounts } = records.state;
        const order = accountById.order(idOrName) ?? accountByName.order(idOrName);
        if (order === undefined) return undefined;
        return { order, value: reservations.addTo(accounts.rows.get(order)!) };
      });
    },
    listAccounts: (selection) => list('account', undefined, selection),
    listKeys: (accountId, selection) => list('key', accountId, selection),
    listTeams: (accountId, selection) => list('team', accountId, selection),
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
  return (row: { readonly id: string; readonly accountId?: string }) =>
    accountId === undefined || row.accountId === accountId;
}

type ListedKind = 'account' | 'key' | 'team';

/**
 * Accounts, keys or teams of a part of a list, in the order of creation.
 *
 * @param accountId undefined for those of all accounts
 * @throws Failure 404 for an unknown `after`, also for one of another account
 */
function selectRows<Kind extends ListedKind>(
  state: State,
  kind: Kind,
  accountId: string | undefined,
  { ids, limit = Infinity, after }: Selection = {},
): RecordsByKind[Kind][] {
  const rows = state[COLLECTION_OF[kind]].rows as ReadonlyMap<number, RecordsByKind[Kind]>;
  const has = isOf(accountId);
  const last = after === undefined ? 0 : (state.byId[kind].order(after) ?? 0);
  if (after !== undefined && (last === 0 || !has(rows.get(last)!)))
    throw unknownCursor(kind, after);
  const found: RecordsByKind[Kind][] = [];
  for (const order of ordersAfter(last, state, kind, accountId, ids)) {
    if (found.length >= limit) break;
    const row = rows.get(order);
    if (row !== undefined && has(row)) found.push(row);
  }
  return found;
}

/** Orders of the rows that a list may have, ascending. */
function* ordersAfter(
  last: number,
  state: State,
  kind: ListedKind,
  accountId: string | undefined,
  ids: readonly string[] | undefined,
): Generator<number> {
  if (ids !== undefined) {
    const orders = new Set(ids.map((id) => state.byId[kind].order(id) ?? 0));
    yield* [...orders].filter((order) => order > last).sort((one, other) => one - other);
  } else if (kind === 'key' && accountId !== undefined) {
    for (const [order] of state.keysOfAccount.oldest(accountId, last)) yield order;
  } else {
    const { next } = state[COLLECTION_OF[kind]];
    for (let order = last + 1; order < next; order += 1) yield order;
  }
}
