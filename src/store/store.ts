import type { Account, ApiKey, Plan } from './account.ts';
import type { Asset, NewAsset } from './asset.ts';
import type { Delivery, DeliveryAttempt, DeliveryOutcome } from './delivery.ts';
import type { LedgerEntry, UsageCounts, UsageRow } from './ledger.ts';
import type { Task, TaskError, TaskState, TaskType } from './task.ts';

/** An API key with the account that pays for what it does. */
export interface KeyHolder {
  readonly key: ApiKey;
  readonly account: Account;
}

export interface NewAccount {
  readonly name: string;
  readonly plan: Plan;
  /** Micro-credits granted from the start. */
  readonly credits: number;
}

export type NewKey = Pick<
  ApiKey,
  'accountId' | 'name' | 'hash' | 'hint' | 'expiresAt' | 'models' | 'allow' | 'rpm' | 'budget'
>;

export interface NewTask
  extends Pick<
    Task,
    | 'accountId'
    | 'keyId'
    | 'type'
    | 'model'
    | 'request'
    | 'deadline'
    | 'callbackUrl'
    | 'idempotency'
  > {
  /** Micro-credits to hold until it ends. */
  readonly reservation: number;
  /** Tasks of the account that may be open, this one included. */
  readonly maxOpenTasks: number;
  /** Its inputs, on disk already. */
  readonly assets: readonly NewAsset[];
  /** Bytes that uploads of the account and inputs of its open tasks may have in all. */
  readonly storageQuota: number;
}

/** What a task that completed gives, and what of its reservation that costs; the rest is released. */
export interface Completion {
  readonly result: unknown;
  readonly charge: number;
  readonly counts: Partial<UsageCounts>;
  /** What it gave, on disk already. */
  readonly assets: readonly NewAsset[];
}

export interface TaskQuery {
  readonly accountId?: string;
  readonly status?: TaskState;
  readonly type?: TaskType;
}

/** What ended tasks of an account come to, or may come to. */
export interface TaskTotals {
  readonly tasks: number;
  /** Of their records and of the files of their results. */
  readonly bytes: number;
}

/** What a store knows no longer. */
export interface DeletedRecords {
  readonly tasks: readonly Task[];
  /** Those whose files nobody needs any more. */
  readonly assets: readonly Asset[];
}

/** Newest first; `after` is the identifier of the last element of the page before. */
export interface Page<Id> {
  readonly limit: number;
  readonly after?: Id;
}

/** Credits held for a request under way. It lives in memory: where the process dies, it is released. */
export interface Reservation {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly amount: number;
}

/** What a request used and what that costs, in micro-credits. */
export interface MeteredUsage {
  readonly model: string;
  readonly counts: Partial<UsageCounts>;
  readonly charge: number;
}

export interface StoreStatistics {
  readonly accounts: number;
  readonly keys: number;
  readonly tasks: Readonly<Record<TaskState, number>>;
  /** Of all accounts together, in micro-credits. */
  readonly credits: { readonly granted: number; readonly reserved: number; readonly spent: number };
}

/** From the first to the last time that records tell, in milliseconds since 1970. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Whether the store can do its work, for those who watch it. */
export interface StoreHealth {
  /** Why writes, and requests that cost something, are refused at present; null where they are not. */
  readonly fault: string | null;
  /** Why older journals could not be replaced by a checkpoint at the last attempt; null where they could. */
  readonly checkpointFault: string | null;
  /** Journals that the next start would replay. */
  readonly journals: number;
  readonly journalBytes: number;
  /** Text requests whose charges are not booked yet. */
  readonly pendingCharges: number;
}

/**
 * All that Oriel remembers. Every verb is one transaction: when its promise resolves, what it wrote
 * is on disk and outlasts a power cut, except where a verb says otherwise; when it rejects, nothing
 * of it happened. What a verb reads was on disk before it is told. Records are never changed in
 * place: a reader may keep them.
 *
 * Failures: `invalid_request` with status 404 and code `account_not_found`, `key_not_found`,
 * `task_not_found`, `delivery_not_found`; 409 `account_exists`, `key_exists`, `asset_exists`,
 * `task_state` (the task is not in a state that allows it), `delivery_state`, `idempotency_conflict`;
 * `rate_limit` with code `too_many_tasks`; 500 `record_damaged` where what was stored cannot be read;
 * 400 where a sum is not whole micro-credits that an account may have; `insufficient_quota` with code
 * `insufficient_credits` or `key_budget_exceeded`;
 * `service_error` with status 503 and code `store_unavailable` where the disk does not take what must
 * be written.
 *
 * What is told of an account's and a key's `reserved` includes what requests under way hold.
 */
export interface Store {
  createAccount(account: NewAccount): Promise<Account>;
  /** By identifier or by name. */
  findAccount(idOrName: string): Promise<Account | undefined>;
  /** In the order of creation. */
  listAccounts(): Promise<readonly Account[]>;
  /** Adds credits. @param note shown in the ledger */
  grant(accountId: string, amount: number, note?: string): Promise<Account>;
  setPlan(accountId: string, plan: Plan): Promise<Account>;
  /**
   * Gives an account another secret for its callbacks. The secret that it had stays as the previous
   * one, unless it is dropped; the one before that is gone.
   */
  rotateCallbackSecret(accountId: string, dropPrevious: boolean): Promise<Account>;

  createKey(key: NewKey): Promise<ApiKey>;
  /**
   * By the hash of the key. Revoked and expired keys are found too: the caller judges. Every request
   * asks for this, so that it never waits for what is being written: it tells what was on disk last.
   */
  findKey(hash: string): Promise<KeyHolder | undefined>;
  /** In the order of creation; of one account, or of all. */
  listKeys(accountId?: string): Promise<readonly ApiKey[]>;
  /** Once revoked, stays so; revoking again changes nothing. */
  revokeKey(keyId: string): Promise<ApiKey>;

  /**
   * Records a pending task and holds its credits. The same idempotency key of the same account with
   * the same fingerprint gives the task that it made before, `created` false; nothing is recorded
   * then, the inputs neither.
   */
  createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }>;
  /**
   * The task that an idempotency key made before, so that nothing needs to be done for one that is
   * repeated; undefined where it made none. Fails as `createTask` does where the request was another.
   */
  findTaskByIdempotencyKey(
    accountId: string,
    idempotency: NonNullable<Task['idempotency']>,
  ): Promise<Task | undefined>;
  /** pending → processing. Undefined where somebody else was faster or the task has ended. */
  claimTask(taskId: string): Promise<Task | undefined>;
  /**
   * processing → completed: charges at most what is reserved, and releases the rest. Here as with
   * every end, the delivery of a task that wants a callback is recorded in the same transaction.
   */
  completeTask(taskId: string, completion: Completion): Promise<Task>;
  /**
   * pending or processing → failed.
   *
   * @param charge micro-credits that it cost all the same (`billable_error`); the rest is released
   */
  failTask(taskId: string, error: TaskError, charge?: number): Promise<Task>;
  /** pending or processing → expired, all released. */
  expireTask(taskId: string): Promise<Task>;
  /** processing → pending: for work whose processor is gone. What it noted stays. */
  requeueTask(taskId: string): Promise<Task>;
  /** Notes what a task that is processed must not lose, in place of what was noted before. */
  saveProgress(taskId: string, progress: unknown): Promise<Task>;
  /** Undefined for another account's too. */
  findTask(accountId: string, taskId: string): Promise<Task | undefined>;
  /** Newest first. */
  listTasks(query: TaskQuery, page: Page<string>): Promise<readonly Task[]>;
  /** Every task that has not ended, oldest first: what a worker goes through after a start. */
  listOpenTasks(): Promise<readonly Task[]>;
  /**
   * Forgets tasks that ended before a time, with their assets and deliveries. One whose delivery is
   * pending is kept until that ends. At most a thousand are forgotten at once: to be called again until
   * there are none.
   */
  deleteTasks(endedBefore: number): Promise<DeletedRecords>;
  /** The same with the oldest ended tasks of an account, where they are more than it may have. */
  trimTasks(accountId: string, most: TaskTotals): Promise<DeletedRecords>;
  /** Forgets inputs of tasks that have ended, at most a thousand at once. Resolves with those. */
  deleteInputs(): Promise<readonly Asset[]>;

  /**
   * Records an upload that is on disk already.
   *
   * @param most bytes that the account's uploads, and inputs of its open tasks, may have in all;
   *   beyond, `insufficient_quota` with code `storage_full`
   */
  addUpload(accountId: string, asset: NewAsset, most: number): Promise<Asset>;
  /** Whoever asks has it from a URL that tells it: like `findKey`, it never waits for a write. */
  findAsset(assetId: string): Promise<Asset | undefined>;
  /** Forgets uploads made before a time. Resolves with those. */
  deleteUploads(madeBefore: number): Promise<readonly Asset[]>;

  /** Every delivery that is pending, the one that is due first first. */
  listPendingDeliveries(): Promise<readonly Delivery[]>;
  /** Undefined where the task is not this account's; empty where it asked for no callback or has not ended. */
  listDeliveries(accountId: string, taskId: string): Promise<readonly Delivery[] | undefined>;
  /** Adds a try to a pending delivery. Of more than 50 tries only the last are kept. */
  recordAttempt(
    deliveryId: string,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery>;

  /**
   * Holds credits for a request under way. Nothing is written: a hold does not outlast the process.
   * Fails with `store_unavailable` while a charge could not be written either.
   */
  reserve(accountId: string, keyId: string, amount: number): Promise<Reservation>;
  /**
   * Ends a hold with what the request cost, or records one that had none. More than was held is
   * charged only as far as the account and the key have it; the answer tells how much that was.
   * Resolves once the charge is written: a crash of the process keeps it. It is on disk within a
   * second; a power cut before that takes it back. Where it cannot be written this resolves all the
   * same: the charge counts in memory, and is written as soon as it can be.
   */
  settle(
    holder: Reservation | Pick<Reservation, 'accountId' | 'keyId'>,
    metered: MeteredUsage,
  ): Promise<number>;
  /** Ends a hold that cost nothing. A hold ends once: to end it again does nothing, and costs nothing. */
  release(hold: Reservation): Promise<void>;

  /** Newest first. */
  listLedger(accountId: string, page: Page<number>): Promise<readonly LedgerEntry[]>;
  /** Days are inclusive; rows in the order of days, then of models. */
  listUsage(accountId: string, days: { from: string; to: string }): Promise<readonly UsageRow[]>;
  /**
   * Folds the oldest entries of an account's ledger into one `carried` entry.
   *
   * @param before folds entries that are older, in milliseconds since 1970
   * @param lines entries that stay one by one, once there are a tenth more: all of them are in memory
   */
  compactLedger(accountId: string, limits: { before: number; lines: number }): Promise<void>;

  /**
   * The time that the records span, from the first account on; null where there are none. Walks through
   * all records.
   */
  timeRange(): Promise<TimeRange | null>;
  /** Cheap: counts are kept, not counted. */
  statistics(): StoreStatistics;
  health(): StoreHealth;
  /** Waits for all that is under way, writes down the rest and lets go of the files. */
  close(): Promise<void>;
}
