import type { Account, ApiKey, Session, Team } from '../../../account.ts';
import type { BudgetWindow } from '../../../budgets.ts';
import { PERIODS } from '../../../calendar.ts';
import type { Selection } from '../../../selection.ts';
import type { KeyHolder } from '../../../store.ts';
import { compositeKey } from '../state/state.ts';
import type { Records } from './records.ts';
import { selectRows } from './selected-rows.ts';

/**
 * The methods that read accounts, keys, teams and windows. Methods that read return only what is on disk: they
 * wait for records that are being written, and read again if the write failed.
 */
export class AccountReader {
  protected readonly records: Records;

  constructor(records: Records) {
    this.records = records;
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    return this.readRow('accounts', () => {
      const { accountById, accountByName, accounts } = this.records.state;
      const order = accountById.order(idOrName) ?? accountByName.order(idOrName);
      if (order === undefined) return undefined;
      return { order, value: this.records.reservations.addTo(accounts.rows.get(order)!) };
    });
  }

  async listAccounts(selection?: Selection): Promise<readonly Account[]> {
    return this.readRows(() => {
      const { accounts: table, accountById: byId } = this.records.state;
      const found = selectRows({ kind: 'account', table, byId }, undefined, selection);
      return found.map((account) => this.records.reservations.addTo(account));
    });
  }

  /** Every request calls this. It does not wait for writes: it returns what was last on disk. */
  async findKey(hash: string): Promise<KeyHolder | undefined> {
    return this.#holderAt(this.records.bookedState.keyByHash.order(hash));
  }

  /** Like `findKey`, it does not wait for writes. */
  async findSession(
    hash: string,
  ): Promise<{ readonly session: Session; readonly holder: KeyHolder } | undefined> {
    const { keyById, sessionByHash } = this.records.bookedState;
    const order = sessionByHash.order(hash);
    const session =
      order === undefined ? undefined : this.records.commits.durable<Session>('sessions', order);
    if (!session || session.expiresAt <= this.records.now()) return undefined;
    const holder = this.#holderAt(keyById.order(session.keyId));
    return holder && { session, holder };
  }

  #holderAt(order: number | undefined): KeyHolder | undefined {
    if (order === undefined) return undefined;
    const key = this.records.commits.durable<ApiKey>('keys', order);
    const accountOrder = key && this.records.bookedState.accountById.order(key.accountId);
    const account = accountOrder && this.records.commits.durable<Account>('accounts', accountOrder);
    if (!key || !account) return undefined;
    return { key: this.records.withReserved(key), account: this.records.withReserved(account) };
  }

  async listKeys(accountId?: string, selection?: Selection): Promise<readonly ApiKey[]> {
    return this.readRows(() => {
      const { keys: table, keyById: byId, keysOfAccount: ofAccount } = this.records.state;
      const has = isOf(accountId);
      const found = selectRows({ kind: 'key', table, byId, ofAccount, has }, accountId, selection);
      return found.map((key) => this.records.reservations.addTo(key));
    });
  }

  async matchKeys(text: string, limit: number): Promise<readonly ApiKey[]> {
    return this.readRows(() => {
      const found: ApiKey[] = [];
      for (const key of this.records.state.keys.rows.values()) {
        if (found.length >= limit) break;
        if (key.hint === text || key.id.startsWith(text)) found.push(key);
      }
      return found.map((key) => this.records.reservations.addTo(key));
    });
  }

  async countKeys(teams: readonly Team[]): Promise<ReadonlyMap<string, number>> {
    return this.readRows(() => {
      const { keysOfAccount } = this.records.state;
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
  }

  async listTeams(accountId?: string, selection?: Selection): Promise<readonly Team[]> {
    return this.readRows(() => {
      const { teams: table, teamById: byId } = this.records.state;
      const has = isOf(accountId);
      const found = selectRows({ kind: 'team', table, byId, has }, accountId, selection);
      return found.map((team) => this.records.reservations.addTo(team));
    });
  }

  async listBudgetWindows(
    accountId?: string,
    holderIds?: readonly string[],
  ): Promise<readonly BudgetWindow[]> {
    return this.readRows(() => {
      const { windows, windowsOfHolder } = this.records.state;
      const groups = holderIds?.flatMap((id) => PERIODS.map((period) => compositeKey(id, period)));
      const found = groups
        ? groups.flatMap((group) => Array.from(windowsOfHolder.oldest(group), ([, row]) => row))
        : [...windows.rows.values()];
      const own = found.filter(isOf(accountId));
      return own.map((window) => this.records.reservations.addTo(window));
    });
  }

  /** Value of one row, once that is on disk. */
  protected async readRow<Value>(
    collection: 'accounts' | 'tasks',
    read: () => { readonly order: number; readonly value: Value } | undefined,
  ): Promise<Value | undefined> {
    for (;;) {
      const found = read();
      if (!found) return undefined;
      const synced = this.records.commits.rowSynced(collection, found.order);
      if (synced === null || (await isWritten(synced))) return found.value;
    }
  }

  /** Value of many rows, once all of them are on disk. */
  protected async readRows<Value>(read: () => Value): Promise<Value> {
    for (;;) {
      const value = read();
      const synced = this.records.commits.synced();
      if (synced === null || (await isWritten(synced))) return value;
    }
  }
}

/** A condition that rows of an account meet, or all where that is undefined. */
function isOf(accountId: string | undefined) {
  return (row: { readonly accountId: string }) =>
    accountId === undefined || row.accountId === accountId;
}

/** Whether the rows reached the disk. If not, they were reverted and must be read again. */
function isWritten(durable: Promise<void>): Promise<boolean> {
  return durable.then(
    () => true,
    () => false,
  );
}
