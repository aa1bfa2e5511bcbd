import type { Account, ApiKey } from '../account.ts';
import type { Asset } from '../asset.ts';
import type { Delivery } from '../delivery.ts';
import { type Counts, dayOf, type LedgerEntry, type UsageRow } from '../ledger.ts';
import type { KeyHolder } from '../store.ts';
import { isTerminal, type Task } from '../task.ts';
import { Grouped, Sum, Table, Unique } from './table.ts';

/** What text requests of one key to one model used on one day, as long as it is not booked. */
export interface ChargeRow {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  /** Requests that cost something. */
  readonly paid: number;
  /** Micro-credits. */
  readonly amount: number;
  readonly counts: Counts;
  /** When it last grew, in milliseconds since 1970. */
  readonly at: number;
}

interface Rows {
  accounts: Account;
  keys: ApiKey;
  tasks: Task;
  assets: Asset;
  deliveries: Delivery;
  ledger: LedgerEntry;
  usage: UsageRow;
  charges: ChargeRow;
}

export const COLLECTIONS = [
  'accounts',
  'keys',
  'tasks',
  'assets',
  'deliveries',
  'ledger',
  'usage',
  'charges',
] as const;
export type Collection = keyof Rows;

/** One row set, or removed: what the journal holds and replays. */
export type Change = {
  [Name in Collection]: readonly [collection: Name, order: number, row: Rows[Name] | null];
}[Collection];

/** The group of assets that belong to no task. */
export const UPLOADS = '';

/** Which sum of text charges, or which row of usage. No part of them can have a NUL in it. */
export function keyOfSum(...parts: readonly (string | null)[]): string {
  return parts.join('\0');
}

/** A key with its account; undefined where there is no such account, or the key is not its own. */
export function holderIn(
  { accountById, keyById }: State,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
): KeyHolder | undefined {
  const account = accountById.get(accountId);
  const key = keyById.get(keyId);
  return account && key?.accountId === accountId ? { account, key } : undefined;
}

/** All that is stored, in memory, with the ways to find it. */
export class State {
  readonly accounts = new Table<Account>();
  readonly accountById = this.accounts.index((rows) => new Unique(rows, ({ id }) => id));
  readonly accountByName = this.accounts.index((rows) => new Unique(rows, ({ name }) => name));

  readonly keys = new Table<ApiKey>();
  readonly keyById = this.keys.index((rows) => new Unique(rows, ({ id }) => id));
  readonly keyByHash = this.keys.index((rows) => new Unique(rows, ({ hash }) => hash));
  readonly keysOfAccount = this.keys.index(
    (rows) => new Grouped(rows, ({ accountId }) => accountId),
  );

  readonly tasks = new Table<Task>();
  readonly taskById = this.tasks.index((rows) => new Unique(rows, ({ id }) => id));
  readonly taskByIdempotency = this.tasks.index(
    (rows) =>
      new Unique(
        rows,
        ({ accountId, idempotency }) => idempotency && keyOfSum(accountId, idempotency.key),
      ),
  );
  readonly allTasks = this.tasks.index((rows) => new Grouped(rows, () => ''));
  readonly tasksOfAccount = this.tasks.index(
    (rows) => new Grouped(rows, ({ accountId }) => accountId),
  );
  readonly tasksInState = this.tasks.index((rows) => new Grouped(rows, ({ status }) => status));
  /** Counts by account. */
  readonly openTasks = this.tasks.index(
    () => new Sum<Task>(({ accountId, status }) => (isTerminal(status) ? null : [accountId, 1])),
  );

  readonly assets = new Table<Asset>();
  readonly assetById = this.assets.index((rows) => new Unique(rows, ({ id }) => id));
  /** Uploads are those of the task without a name. */
  readonly assetsOfTask = this.assets.index(
    (rows) => new Grouped(rows, ({ taskId }) => taskId ?? UPLOADS),
  );
  /** Bytes by account. */
  readonly uploaded = this.assets.index(
    () =>
      new Sum<Asset>(({ accountId, taskId, bytes }) =>
        taskId === null ? [accountId, bytes] : null,
      ),
  );

  readonly deliveries = new Table<Delivery>();
  readonly deliveryById = this.deliveries.index((rows) => new Unique(rows, ({ id }) => id));
  readonly deliveryOfTask = this.deliveries.index(
    (rows) => new Unique(rows, ({ taskId }) => taskId),
  );
  readonly deliveriesInState = this.deliveries.index(
    (rows) => new Grouped(rows, ({ status }) => status),
  );

  readonly ledger = new Table<LedgerEntry>();
  readonly ledgerOfAccount = this.ledger.index(
    (rows) => new Grouped(rows, ({ accountId }) => accountId),
  );
  readonly sumOfCharges = this.ledger.index(
    (rows) =>
      new Unique(rows, ({ type, taskId, accountId, keyId, model, at }) =>
        type === 'charge' && taskId === null ? keyOfSum(accountId, keyId, model, dayOf(at)) : null,
      ),
  );

  readonly usage = new Table<UsageRow>();
  readonly usageByDay = this.usage.index(
    (rows) => new Unique(rows, ({ accountId, day, model }) => keyOfSum(accountId, day, model)),
  );
  readonly usageOfAccount = this.usage.index(
    (rows) => new Grouped(rows, ({ accountId }) => accountId),
  );

  readonly charges = new Table<ChargeRow>();

  /** Of all accounts together, in micro-credits. */
  readonly credits = { granted: 0, reserved: 0, spent: 0 };

  constructor() {
    this.accounts.index(() => ({
      replace: (_, before, after) => {
        for (const sum of ['granted', 'reserved', 'spent'] as const) {
          this.credits[sum] += (after?.[sum] ?? 0) - (before?.[sum] ?? 0);
        }
      },
    }));
  }

  /** Makes one change. Returns the change that would undo it. */
  apply([collection, order, row]: Change): Change {
    const table = this[collection] as Table<unknown>;
    return [collection, order, table.put(order, row)] as unknown as Change;
  }
}
