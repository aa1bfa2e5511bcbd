import type { Account, ApiKey, Team } from '../account.ts';
import type { Asset } from '../asset.ts';
import {
  type BudgetScope,
  type BudgetWindow,
  emptyWindow,
  type Payer,
  type ScopedPayer,
} from '../budgets.ts';
import { availableOf } from '../credits.ts';
import type { Delivery } from '../delivery.ts';
import { notFound } from '../errors.ts';
import type { ActiveReservations, Funds } from '../funds.ts';
import {
  type LedgerEntry,
  type MeteredUsage,
  NO_DETAILS,
  type UsageCounts,
  utcDayOf,
} from '../ledger.ts';
import type { KeyHolder } from '../store.ts';
import type { Task } from '../task.ts';

/** Identifiers of the records that an operation reads or changes. A database locks their accounts and reads them. */
export interface Needs {
  readonly accounts?: readonly string[];
  readonly keys?: readonly string[];
  readonly teams?: readonly string[];
  /** Teams whose keys are read. */
  readonly members?: readonly string[];
  /** With their keys. */
  readonly tasks?: readonly string[];
  readonly idempotency?: readonly { readonly accountId: string; readonly key: string }[];
}

/**
 * A change of records, the same for every driver. It draws the identifiers of what it creates before its first
 * attempt, because a transaction that was interrupted runs again. `apply` reads and changes records, awaits
 * nothing, and may run more than once.
 */
export interface Operation<Result> {
  readonly needs: Needs;
  readonly apply: (unit: UnitOfWork) => Result;
}

export type NewEntry = Omit<LedgerEntry, 'id'>;

type EntryFields = Pick<LedgerEntry, 'type' | 'amount'> &
  Partial<Pick<LedgerEntry, 'keyId' | 'taskId' | 'model' | 'requests' | 'note'>>;

/** Addition to the usage of a key by a model on a day. */
export interface UsageAddition {
  readonly accountId: string;
  readonly keyId: string;
  readonly teamId: string | null;
  readonly day: string;
  readonly model: string;
  /** Empty without tags. */
  readonly tags: string;
  readonly spent: number;
  readonly counts: Partial<UsageCounts>;
}

/** Sums over the open tasks and the files of an account. */
export interface AccountUse {
  readonly openTasks: number;
  readonly requestBytes: number;
  readonly storedBytes: number;
}

/** Records that have an identifier, by their kinds. */
export interface RecordsByKind {
  account: Account;
  key: ApiKey;
  team: Team;
  window: BudgetWindow;
  task: Task;
  delivery: Delivery;
}
export type RecordKind = keyof RecordsByKind;

/** The records that operations of one transaction read and change. Each driver reads and writes them in its own way. */
export abstract class UnitOfWork {
  /** Credits reserved in memory for requests in progress. */
  abstract readonly held: ActiveReservations;

  abstract find<Kind extends RecordKind>(kind: Kind, id: string): RecordsByKind[Kind] | undefined;
  abstract findTaskByIdempotencyKey(accountId: string, key: string): Task | undefined;
  abstract keysOfTeam(team: Team): Iterable<ApiKey>;
  abstract useOf(accountId: string): AccountUse;
  /** All windows of the holder and the period of a window. */
  protected abstract windowsLike(window: BudgetWindow): readonly BudgetWindow[];

  /** Sets a new or a changed record. @throws Failure 409 for a name or a hash that another has */
  abstract put<Kind extends RecordKind>(kind: Kind, record: RecordsByKind[Kind]): void;
  abstract addAsset(asset: Asset): void;
  /** Marks the inputs of an ended task, which can be deleted. */
  abstract spendInputs(taskId: string): void;
  /** Makes all nodes read an account, a key or a team again. */
  abstract revise(id: string): void;
  protected abstract removeWindow(id: string): void;
  protected abstract addEntry(entry: NewEntry): void;
  protected abstract addDailyCharge(entry: NewEntry): void;
  protected abstract addUsageRow(addition: UsageAddition): void;

  /** @throws Failure 404, such as `account_not_found` */
  get<Kind extends Exclude<RecordKind, 'window'>>(kind: Kind, id: string): RecordsByKind[Kind] {
    const record = this.find(kind, id);
    if (!record) throw notFound(kind, id);
    return record;
  }

  /** @throws Failure 404 if the account does not exist, or has no such key */
  holder({ accountId, keyId }: Payer): KeyHolder {
    const account = this.get('account', accountId);
    const key = this.find('key', keyId);
    if (key?.accountId !== accountId) throw notFound('key', keyId);
    return { account, key };
  }

  /** A key holder with the team and the windows of a charge. */
  funds(holder: KeyHolder, scope: BudgetScope | undefined): Funds {
    if (!scope) return holder;
    const { teamId, windows } = scope;
    return {
      ...holder,
      team: teamId === null ? undefined : this.find('team', teamId),
      windows: windows.map((id) => this.find('window', id) ?? emptyWindow(id, holder.account.id)),
    };
  }

  /** Sets the funds after a reservation or a charge. */
  putFunds({ account, key, team, windows = [] }: Funds): void {
    this.put('account', account);
    this.put('key', key);
    if (team) this.put('team', team);
    for (const window of windows) {
      const isNew = this.find('window', window.id) === undefined;
      this.put('window', window);
      if (isNew) this.#removeWindowsBefore(window);
    }
  }

  /** A new window replaces those of its holder and period that ended before the one before it. */
  #removeWindowsBefore(window: BudgetWindow): void {
    const earlier = this.windowsLike(window)
      .filter(({ from }) => from < window.from)
      .sort((one, other) => (one.from < other.from ? -1 : 1));
    for (const { id, reserved } of earlier.slice(0, -1)) {
      if (reserved + this.held(id) === 0) this.removeWindow(id);
    }
  }

  /** Adds an entry to the ledger. @param account the account after the entry */
  entry(account: Account, fields: EntryFields, at: number): void {
    if (fields.amount > 0) this.addEntry(this.#entryOf(account, fields, at));
  }

  /** Adds to the day's charge for text requests of a key to a model. @param requests requests that cost credits */
  dailyCharge(
    { account, key }: KeyHolder,
    charge: { readonly model: string; readonly requests: number; readonly amount: number },
    at: number,
  ): void {
    const fields = { type: 'charge', keyId: key.id, ...charge } as const;
    this.addDailyCharge(this.#entryOf(account, fields, at));
  }

  #entryOf(account: Account, fields: EntryFields, at: number): NewEntry {
    const available = this.availableTo(account);
    return { accountId: account.id, ...NO_DETAILS, at, available, ...fields };
  }

  /** Available credits for the ledger, which has no entries of requests in progress. */
  protected availableTo(account: Account): number {
    return availableOf(account);
  }

  /** Adds to the usage of a key by a model on a day. */
  addUsage(
    { accountId, keyId, scope }: ScopedPayer,
    { model, counts, charge: spent, tags = '' }: MeteredUsage,
    at: number,
  ): void {
    const day = utcDayOf(at);
    const teamId = scope?.teamId ?? null;
    this.addUsageRow({ accountId, keyId, teamId, day, model, tags, spent, counts });
  }
}
