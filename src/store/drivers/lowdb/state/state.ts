import { getOrInsert } from '../../../../maps.ts';
import type { Account, ApiKey, Session, Team } from '../../../account.ts';
import type { Alert, HeldClaim } from '../../../alert.ts';
import { type Asset, countsAsStored } from '../../../asset.ts';
import type { BudgetScope, BudgetWindow } from '../../../budgets.ts';
import type { ConfigEntry } from '../../../config-entry.ts';
import type { Delivery } from '../../../delivery.ts';
import type { Document } from '../../../document.ts';
import { type LedgerEntry, type UsageCounts, type UsageRow, utcDayOf } from '../../../ledger.ts';
import { TagSets } from '../../../tags.ts';
import { approximateSize, isTerminal, type Task } from '../../../task.ts';
import { NO_TASK } from '../archive/layout.ts';
import { Table } from './table.ts';

/** Charges of a key's text requests to one model with the same tags on one day that are not booked yet. */
export interface ChargeRow {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly scope?: BudgetScope | undefined;
  /** Tags of the requests; absent without any. */
  readonly tags?: string | undefined;
  /** Number of requests that cost credits. */
  readonly paid: number;
  /** Micro-credits. */
  readonly amount: number;
  readonly counts: UsageCounts;
  /** Time of the last addition, in milliseconds since the epoch. */
  readonly at: number;
}

/** Marks an archived record as deleted until its segment is rewritten without it. Stored as `forgotten`. */
export interface Tombstone {
  /** Number of the segment, and position of the record in it. */
  readonly segment: number;
  readonly index: number;
  readonly accountId: string;
  /** Position in TASK_STATES. */
  readonly status: number;
  /** Size of the record that counts towards its account's total. */
  readonly bytes: number;
}

/** A document without its body, which is a file; null without one. */
export interface DocumentRow extends Omit<Document, 'body'> {
  readonly file: string | null;
  readonly bytes: number;
}

/** Kinds of records. The order is that of numbers in `commit-queue.ts`. */
export const COLLECTIONS = [
  ...(['accounts', 'keys', 'tasks', 'assets', 'deliveries', 'ledger', 'usage', 'charges'] as const),
  ...(['forgotten', 'teams', 'windows', 'sessions', 'config', 'alerts', 'alertClaims'] as const),
  'documents' as const,
];
export type Collection = (typeof COLLECTIONS)[number];

/** Collections whose rows are records, by the kinds of these. */
export const COLLECTION_OF = {
  ...({ account: 'accounts', team: 'teams', key: 'keys', window: 'windows' } as const),
  ...({ task: 'tasks', delivery: 'deliveries', config: 'config', usage: 'usage' } as const),
  upload: 'assets',
} as const;

type RowOf<Name extends Collection> = State[Name] extends Table<infer Row> ? Row : never;

/** One row that is set or, with null, removed: what the journal stores and replays. */
export type Change = {
  [Name in Collection]: readonly [collection: Name, order: number, row: RowOf<Name> | null];
}[Collection];

/** Group of assets without a task. */
export const UPLOADS = '';

/** Group of inputs whose task has ended. */
export const SPENT = 'spent';

/** Index of tombstones by segment and position. */
class TombstoneIndex {
  readonly #orders = new Map<number, Map<number, number>>();

  has(segment: number, index: number): boolean {
    return this.#orders.get(segment)?.has(index) ?? false;
  }

  countIn(segment: number): number {
    return this.#orders.get(segment)?.size ?? 0;
  }

  /** Orders of the tombstones of a segment. */
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
    getOrInsert(this.#orders, after.segment, () => new Map()).set(after.index, order);
  }
}

/** Key of an index over several fields. None of them can contain NUL. */
export function compositeKey(...parts: readonly (string | null)[]): string {
  return parts.join('\0');
}

const documentKind = ({ accountId, kind }: DocumentRow) => compositeKey(accountId, kind);

/** All records in memory, with their indexes. */
export class State {
  readonly accounts = new Table<Account>();
  readonly accountById = this.accounts.unique(({ id }) => id);
  readonly accountByName = this.accounts.unique(({ name }) => name);

  readonly keys = new Table<ApiKey>();
  readonly keyById = this.keys.unique(({ id }) => id);
  readonly keyByHash = this.keys.unique(({ hash }) => hash);
  readonly keysOfAccount = this.keys.group(({ accountId }) => accountId);

  readonly tasks = new Table<Task>();
  readonly taskById = this.tasks.unique(({ id }) => id);
  readonly taskByIdempotency = this.tasks.unique(
    ({ accountId, idempotency }) => idempotency && compositeKey(accountId, idempotency.key),
  );
  readonly allTasks = this.tasks.group(() => '');
  readonly tasksOfAccount = this.tasks.group(({ accountId }) => accountId);
  readonly tasksInState = this.tasks.group(({ status }) => status);
  /** Number of open tasks by account, and bytes of their requests. */
  readonly openTaskCounts = this.tasks.sum(({ accountId, status }) =>
    isTerminal(status) ? null : [accountId, 1],
  );
  readonly openRequestBytes = this.tasks.sum(({ accountId, status, request }) =>
    isTerminal(status) ? null : [accountId, approximateSize(request)],
  );
  /** Number and bytes of ended tasks in memory, by account. */
  readonly endedTaskCounts = this.tasks.sum(({ accountId, status }) =>
    isTerminal(status) ? [accountId, 1] : null,
  );
  readonly endedBytes = this.tasks.sum((task) =>
    isTerminal(task.status) ? [task.accountId, approximateSize(task)] : null,
  );

  readonly assets = new Table<Asset>();
  readonly assetById = this.assets.unique(({ id }) => id);
  /** Uploads are in the group UPLOADS. */
  readonly assetsOfTask = this.assets.group(({ taskId }) => taskId ?? UPLOADS);
  /** Bytes of uploads and of inputs by account, and of results. */
  readonly storedBytes = this.assets.sum((asset) =>
    countsAsStored(asset) ? [asset.accountId, asset.bytes] : null,
  );
  readonly resultBytes = this.assets.sum((asset) =>
    countsAsStored(asset) ? null : [asset.accountId, asset.bytes],
  );
  readonly spentInputs = this.assets.group(({ input }) => (input === 'spent' ? SPENT : ''));

  readonly deliveries = new Table<Delivery>();
  readonly deliveryById = this.deliveries.unique(({ id }) => id);
  readonly deliveryOfTask = this.deliveries.unique(({ taskId }) => taskId);
  readonly deliveriesInState = this.deliveries.group(({ status }) => status);

  readonly ledger = new Table<LedgerEntry>();
  readonly ledgerOfAccount = this.ledger.group(({ accountId }) => accountId);
  readonly dailyCharge = this.ledger.unique(({ type, taskId, accountId, keyId, model, at }) =>
    type === 'charge' && taskId === null
      ? compositeKey(accountId, keyId, model, utcDayOf(at))
      : null,
  );

  readonly usage = new Table<UsageRow>();
  readonly usageByDay = this.usage.unique(
    ({ accountId, keyId = null, teamId = null, day, model, tags = '' }) =>
      compositeKey(accountId, keyId, teamId, day, model, tags),
  );
  readonly usageOfAccount = this.usage.group(({ accountId }) => accountId);
  readonly #tagSets = new TagSets();

  readonly charges = new Table<ChargeRow>();

  readonly forgotten = new Table<Tombstone>();
  readonly tombstoneIndex = this.forgotten.index(new TombstoneIndex());
  readonly tombstoneStateCounts = this.forgotten.sum(({ status }) => [String(status), 1]);
  /** Number and bytes of deleted archived tasks by account. */
  readonly tombstoneTaskCounts = this.forgotten.sum(({ accountId, status }) =>
    status === NO_TASK ? null : [accountId, 1],
  );
  readonly tombstoneBytes = this.forgotten.sum(({ accountId, bytes }) => [accountId, bytes]);

  readonly teams = new Table<Team>();
  readonly teamById = this.teams.unique(({ id }) => id);
  /** Teams that are not removed. */
  readonly teamByName = this.teams.unique(({ accountId, name, removedAt }) =>
    removedAt === null ? compositeKey(accountId, name) : null,
  );

  readonly windows = new Table<BudgetWindow>();
  readonly windowById = this.windows.unique(({ id }) => id);
  readonly windowsOfHolder = this.windows.group(({ holderId, period }) =>
    compositeKey(holderId, period),
  );

  readonly sessions = new Table<Session>();
  readonly sessionByHash = this.sessions.unique(({ hash }) => hash);
  readonly sessionsOfKey = this.sessions.group(({ keyId }) => keyId);

  readonly config = new Table<ConfigEntry>();
  readonly configByName = this.config.unique(({ kind, name }) => compositeKey(kind, name));

  /** The latest alerts. */
  readonly alerts = new Table<Alert>();

  readonly alertClaims = new Table<HeldClaim>();
  readonly claimBySubject = this.alertClaims.unique(({ subject }) => subject);

  readonly documents = new Table<DocumentRow>();
  readonly documentByKey = this.documents.unique(({ accountId, kind, id }) =>
    compositeKey(accountId, kind, id),
  );
  readonly documentsOfKind = this.documents.group(documentKind);
  readonly partsOfDocument = this.documents.group(({ accountId, parent }) =>
    parent === null ? '' : compositeKey(accountId, parent),
  );
  readonly openDocuments = this.documents.group(({ isOpen, kind }) => (isOpen ? kind : ''));
  readonly documentCounts = this.documents.sum((row) => [documentKind(row), 1]);
  readonly documentBytes = this.documents.sum((row) => [documentKind(row), row.bytes]);

  /** Records by their identifiers, by their kinds. */
  readonly byId = {
    ...{ account: this.accountById, key: this.keyById, team: this.teamById },
    ...{ window: this.windowById, task: this.taskById, delivery: this.deliveryById },
  };

  /** Totals of all accounts, in micro-credits. */
  readonly credits = { granted: 0, reserved: 0, spent: 0 };

  constructor() {
    this.accounts.index({
      replace: (_, before, after) => {
        for (const sum of ['granted', 'reserved', 'spent'] as const) {
          this.credits[sum] += (after?.[sum] ?? 0) - (before?.[sum] ?? 0);
        }
      },
    });
  }

  set tagSetLimit(limit: number) {
    this.#tagSets.limit = limit;
  }

  /** The tags under which a day counts a request. */
  admittedTags(accountId: string, day: string, tags: string): string {
    if (tags !== '' && !this.#tagSets.has(accountId, day)) {
      this.#tagSets.load(accountId, day, this.#tagsOf(accountId, day));
    }
    return this.#tagSets.admit(accountId, day, tags);
  }

  *#tagsOf(accountId: string, day: string): Generator<string> {
    for (const row of this.usageOfAccount.newest(accountId)) {
      if (row.day < day) return;
      if (row.day === day) yield row.tags ?? '';
    }
  }

  /** Applies one change. Returns the change that reverts it. */
  apply([collection, order, row]: Change): Change {
    const table = this[collection] as Table<unknown>;
    return [collection, order, table.put(order, row)] as unknown as Change;
  }
}

/** Rows of one shard. A file with this many rows is written in a few milliseconds. */
export const SHARD_ROWS = 512;

const FILE_NAME = /^[a-z]+-\d{6,}\.\d+\.json$/;

/** Range of rows of one collection that a checkpoint writes to one file. */
export interface ShardKey {
  readonly collection: Collection;
  /** The shard has the orders from `number * SHARD_ROWS` on. */
  readonly number: number;
}

export function shardNumber(order: number): number {
  return Math.floor(order / SHARD_ROWS);
}

export function shardName({ collection, number }: ShardKey): string {
  return `${collection}-${String(number).padStart(6, '0')}`;
}

/** Whether a file name is that of a shard, or of a shard that was being written. */
export function isShardFile(name: string): boolean {
  return FILE_NAME.test(name.replace(/\.new$/, ''));
}
