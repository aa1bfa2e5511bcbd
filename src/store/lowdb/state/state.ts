import type { Account, ApiKey } from '../../account.ts';
import { type Asset, countsAsStored } from '../../asset.ts';
import type { Delivery } from '../../delivery.ts';
import { dayOf, type LedgerEntry, type UsageCounts, type UsageRow } from '../../ledger.ts';
import type { KeyHolder } from '../../store.ts';
import { approximateSize, isTerminal, type Task } from '../../task.ts';
import { NO_TASK } from '../archive/layout.ts';
import { GroupIndex, SumIndex, Table, UniqueIndex } from './table.ts';

/** What text requests of one key to one model used on one day, as long as it is not booked. */
export interface ChargeRow {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  /** Requests that cost something. */
  readonly paid: number;
  /** Micro-credits. */
  readonly amount: number;
  readonly counts: UsageCounts;
  /** When it last grew, in milliseconds since 1970. */
  readonly at: number;
}

/** A record that is forgotten, although the archive has it until its segment is written anew. */
export interface Tombstone {
  /** Number of the segment, and position in it. */
  readonly segment: number;
  readonly index: number;
  readonly accountId: string;
  /** Position in TASK_STATES. */
  readonly status: number;
  /** Bytes that it counted for. */
  readonly bytes: number;
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
  forgotten: Tombstone;
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
  'forgotten',
] as const;
export type Collection = keyof Rows;

/** One row set, or removed: what the journal reservations and replays. */
export type Change = {
  [Name in Collection]: readonly [collection: Name, order: number, row: Rows[Name] | null];
}[Collection];

/** The group of assets that belong to no task. */
export const UPLOADS = '';

/** The group of inputs whose task has ended. */
export const SPENT = 'spent';

/** Positions of forgotten records by the number of their segment. */
class TombstoneIndex {
  readonly #orders = new Map<number, Map<number, number>>();

  has(segment: number, index: number): boolean {
    return this.#orders.get(segment)?.has(index) ?? false;
  }

  countIn(segment: number): number {
    return this.#orders.get(segment)?.size ?? 0;
  }

  /** The orders of the rows about a segment. */
  ordersIn(segment: number): Iterable<number> {
    return this.#orders.get(segment)?.values() ?? [];
  }

  replace(order: number, before: Tombstone | null, after: Tombstone | null): void {
    if (before) {
      const orders = this.#orders.get(before.segment);
      orders?.delete(before.index);
      if (orders?.size === 0) this.#orders.delete(before.segment);
    }
    if (!after) return;
    const orders = this.#orders.get(after.segment) ?? new Map<number, number>();
    this.#orders.set(after.segment, orders.set(after.index, order));
  }
}

/** Which sum of text charges, or which row of usage. No part of them can have a NUL in it. */
export function compositeKey(...parts: readonly (string | null)[]): string {
  return parts.join('\0');
}

/** A key with its account; undefined where there is no such account, or the key is not its own. */
export function findKeyHolder(
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
  readonly accountById = this.accounts.index((rows) => new UniqueIndex(rows, ({ id }) => id));
  readonly accountByName = this.accounts.index((rows) => new UniqueIndex(rows, ({ name }) => name));

  readonly keys = new Table<ApiKey>();
  readonly keyById = this.keys.index((rows) => new UniqueIndex(rows, ({ id }) => id));
  readonly keyByHash = this.keys.index((rows) => new UniqueIndex(rows, ({ hash }) => hash));
  readonly keysOfAccount = this.keys.index(
    (rows) => new GroupIndex(rows, ({ accountId }) => accountId),
  );

  readonly tasks = new Table<Task>();
  readonly taskById = this.tasks.index((rows) => new UniqueIndex(rows, ({ id }) => id));
  readonly taskByIdempotency = this.tasks.index(
    (rows) =>
      new UniqueIndex(
        rows,
        ({ accountId, idempotency }) => idempotency && compositeKey(accountId, idempotency.key),
      ),
  );
  readonly allTasks = this.tasks.index((rows) => new GroupIndex(rows, () => ''));
  readonly tasksOfAccount = this.tasks.index(
    (rows) => new GroupIndex(rows, ({ accountId }) => accountId),
  );
  readonly tasksInState = this.tasks.index((rows) => new GroupIndex(rows, ({ status }) => status));
  /** Counts by account. */
  readonly openTaskCounts = this.tasks.index(
    () =>
      new SumIndex<Task>(({ accountId, status }) => (isTerminal(status) ? null : [accountId, 1])),
  );
  /** Bytes of requests by account. */
  readonly openRequestBytes = this.tasks.index(
    () =>
      new SumIndex<Task>(({ accountId, status, request }) =>
        isTerminal(status) ? null : [accountId, approximateSize(request)],
      ),
  );
  /** Counts and bytes of ended tasks in memory, by account. */
  readonly endedTaskCounts = this.tasks.index(
    () =>
      new SumIndex<Task>(({ accountId, status }) => (isTerminal(status) ? [accountId, 1] : null)),
  );
  readonly endedBytes = this.tasks.index(
    () =>
      new SumIndex<Task>((task) =>
        isTerminal(task.status) ? [task.accountId, approximateSize(task)] : null,
      ),
  );

  readonly assets = new Table<Asset>();
  readonly assetById = this.assets.index((rows) => new UniqueIndex(rows, ({ id }) => id));
  /** Uploads are those of the task without a name. */
  readonly assetsOfTask = this.assets.index(
    (rows) => new GroupIndex(rows, ({ taskId }) => taskId ?? UPLOADS),
  );
  /** Bytes of uploads and of inputs by account. */
  readonly storedBytes = this.assets.index(
    () =>
      new SumIndex<Asset>((asset) =>
        countsAsStored(asset) ? [asset.accountId, asset.bytes] : null,
      ),
  );
  /** Bytes of results by account. */
  readonly resultBytes = this.assets.index(
    () =>
      new SumIndex<Asset>((asset) =>
        countsAsStored(asset) ? null : [asset.accountId, asset.bytes],
      ),
  );
  readonly spentInputs = this.assets.index(
    (rows) => new GroupIndex(rows, ({ input }) => (input === 'spent' ? SPENT : '')),
  );

  readonly deliveries = new Table<Delivery>();
  readonly deliveryById = this.deliveries.index((rows) => new UniqueIndex(rows, ({ id }) => id));
  readonly deliveryOfTask = this.deliveries.index(
    (rows) => new UniqueIndex(rows, ({ taskId }) => taskId),
  );
  readonly deliveriesInState = this.deliveries.index(
    (rows) => new GroupIndex(rows, ({ status }) => status),
  );

  readonly ledger = new Table<LedgerEntry>();
  readonly ledgerOfAccount = this.ledger.index(
    (rows) => new GroupIndex(rows, ({ accountId }) => accountId),
  );
  readonly dailyCharge = this.ledger.index(
    (rows) =>
      new UniqueIndex(rows, ({ type, taskId, accountId, keyId, model, at }) =>
        type === 'charge' && taskId === null
          ? compositeKey(accountId, keyId, model, dayOf(at))
          : null,
      ),
  );

  readonly usage = new Table<UsageRow>();
  readonly usageByDay = this.usage.index(
    (rows) =>
      new UniqueIndex(rows, ({ accountId, day, model }) => compositeKey(accountId, day, model)),
  );
  readonly usageOfAccount = this.usage.index(
    (rows) => new GroupIndex(rows, ({ accountId }) => accountId),
  );

  readonly charges = new Table<ChargeRow>();

  readonly forgotten = new Table<Tombstone>();
  readonly tombstoneIndex = this.forgotten.index(() => new TombstoneIndex());
  readonly tombstoneStates = this.forgotten.index(
    () => new SumIndex<Tombstone>(({ status }) => [String(status), 1]),
  );
  /** Counts and bytes by account. */
  readonly tombstoneTasks = this.forgotten.index(
    () =>
      new SumIndex<Tombstone>(({ accountId, status }) =>
        status === NO_TASK ? null : [accountId, 1],
      ),
  );
  readonly tombstoneBytes = this.forgotten.index(
    () => new SumIndex<Tombstone>(({ accountId, bytes }) => [accountId, bytes]),
  );

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
