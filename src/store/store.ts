import type {
  Account,
  ApiKey,
  KeptBodies,
  KeyChange,
  NewAccount,
  NewKey,
  NewSession,
  NewTeam,
  Plan,
  Session,
  Team,
  TeamChange,
} from './account.ts';
import type { AlertRecords } from './alert.ts';
import type { Asset, NewAsset } from './asset.ts';
import type { BudgetWindow, Payer, Reservation } from './budgets.ts';
import type { CacheStorage } from './cache-storage.ts';
import type { ConfigEntries } from './config-entry.ts';
import type {
  ClaimedDeliveries,
  Delivery,
  DeliveryAttempt,
  DeliveryOutcome,
  DeliveryQuery,
} from './delivery.ts';
import type { Documents } from './document.ts';
import type { StoreHealth, StoreStatistics, TimeRange } from './health.ts';
import type { LedgerEntry, MeteredUsage, UsageRow, WorkCharges } from './ledger.ts';
import type { NodeRecord, Nodes } from './nodes.ts';
import type { RequestLog } from './requests/request-log.ts';
import type { Page, Selection } from './selection.ts';
import type { PublishedEvent, StoreEvent } from './store-event.ts';
import type {
  ClaimQuery,
  Completion,
  DeletedRecords,
  NewTask,
  Task,
  TaskClaim,
  TaskError,
  TaskQuery,
  TaskTotals,
} from './task.ts';
import type { Transfer } from './transfer.ts';

/** API key with the account that pays for its requests, and the key's team where it was found for a request. */
export interface KeyHolder {
  readonly key: ApiKey;
  readonly account: Account;
  readonly team?: Team | undefined;
}

/**
 * All records of Oriel. Every method is one transaction: when its promise resolves, what it wrote is on
 * disk and survives a power cut, unless the method says otherwise; when it rejects, nothing has changed.
 * Methods return only what is on disk. Returned records are never modified later.
 *
 * Several nodes may work on one store where `isShared` is true. A claim of a task or a delivery belongs to one
 * node, until that gives it back or its lease ends. `attempts` is the fence: every claim raises it, and a
 * change with an older one is rejected.
 *
 * Failures: `invalid_request` with status 404 and code `account_not_found`, `key_not_found`,
 * `team_not_found`, `task_not_found`, `delivery_not_found`; 409 `account_exists`, `key_exists`,
 * `key_revoked`, `team_exists`, `team_has_keys`, `provider_exists`, `model_exists`, `provider_in_use`, `asset_exists`, `task_state` (the state of the task does
 * not allow the change), `claim_lost` (another claim of the task or delivery is newer), `delivery_state`, `idempotency_conflict`, `document_exists`, `document_changed`; 400 if an amount is not whole
 * micro-credits up to the maximum of an account; `rate_limit` with code `too_many_tasks`;
 * `insufficient_quota` with the codes of `checkFunds`; `service_error` with status 500 and code
 * `record_damaged` if a stored record cannot be read, and with status 503 and code `store_unavailable` if
 * its engine does not accept a write.
 *
 * `reserved` of returned accounts, keys, teams and windows includes the reservations of requests in
 * progress.
 */
export interface Store extends ConfigEntries, AlertRecords {
  /** Whether other daemons may work on the store at the same time. */
  readonly isShared: boolean;
  /** Cached answers of all nodes; null where a daemon keeps its own. */
  readonly cache: CacheStorage | null;
  /** The log of requests, which may lose the last ones and never keeps a request waiting. */
  readonly requests: RequestLog;
  /** JSON documents that accounts keep: responses, conversations, batches. */
  readonly documents: Documents;
  /** The living nodes. */
  readonly nodes: Nodes;
  /** Milliseconds since the epoch. Nodes share this clock, with which deadlines and expiries are compared. */
  readonly now: number;

  createAccount(account: NewAccount): Promise<Account>;
  /** Finds an account by its identifier or name. */
  findAccount(idOrName: string): Promise<Account | undefined>;
  /** Accounts in the order of creation. Rejects with `account_not_found` for an unknown `after`. */
  listAccounts(selection?: Selection): Promise<readonly Account[]>;
  /** Adds credits. @param note text for the ledger */
  grant(accountId: string, amount: number, note?: string): Promise<Account>;
  setPlan(accountId: string, plan: Plan): Promise<Account>;
  /** Of which requests the log keeps the bodies; null for the setting of the model. */
  setBodies(accountId: string, bodies: KeptBodies | null): Promise<Account>;
  /**
   * Gives an account a new secret for its callbacks. The current one becomes the previous secret, unless
   * `dropPrevious` is set; the one before it is deleted.
   */
  rotateCallbackSecret(accountId: string, dropPrevious: boolean): Promise<Account>;

  createKey(key: NewKey): Promise<ApiKey>;
  /**
   * Finds a key by its hash, also if it is revoked or expired: the caller checks that. Every request calls
   * this, so it does not wait for writes in progress and returns the record as it was last on disk. Where
   * nodes share the store the record is up to a second old, and its sums may be older.
   */
  findKey(hash: string): Promise<KeyHolder | undefined>;
  /** Keys in the order of creation; of one account, or of all. `after` is a key of that account. */
  listKeys(accountId?: string, selection?: Selection): Promise<readonly ApiKey[]>;
  /** Keys whose hint is the text, or whose identifier begins with it, in no particular order. */
  matchKeys(text: string, limit: number): Promise<readonly ApiKey[]>;
  /** Numbers of keys that are not revoked, by team. Teams without any are left out. */
  countKeys(teams: readonly Team[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Changes a key from its next request on. Reservations stay in the budgets in which they were made, and
   * are charged in full where a budget is lowered below what is reserved.
   */
  updateKey(keyId: string, change: KeyChange): Promise<ApiKey>;
  /** Revokes a key for good. Revoking it again changes nothing. */
  revokeKey(keyId: string): Promise<ApiKey>;

  /** Creates a session. Expired ones are deleted, and the oldest of the key if it has too many. */
  createSession(session: NewSession): Promise<Session>;
  /**
   * Finds a session that has not expired, with its key as it is now: the caller checks whether that is
   * revoked or expired. Like `findKey`, it does not wait for writes.
   */
  findSession(
    hash: string,
  ): Promise<{ readonly session: Session; readonly holder: KeyHolder } | undefined>;
  /** Ends a session. Ending an unknown one changes nothing. */
  endSession(hash: string): Promise<void>;

  createTeam(team: NewTeam): Promise<Team>;
  /** Teams in the order of creation, with removed ones; of one account, or of all. `after` is a team of that account. */
  listTeams(accountId?: string, selection?: Selection): Promise<readonly Team[]>;
  updateTeam(teamId: string, change: TeamChange): Promise<Team>;
  /** Removes a team for good. Rejects with `team_has_keys` while keys that are not revoked are in it. */
  removeTeam(teamId: string): Promise<Team>;
  /**
   * Windows of keys and teams with reservations or charges: of each period the current one and the one
   * before it, if there were any in them. Of one account, or of all.
   *
   * @param holderIds only the windows of these keys and teams
   */
  listBudgetWindows(
    accountId?: string,
    holderIds?: readonly string[],
  ): Promise<readonly BudgetWindow[]>;

  /**
   * Creates a pending task and reserves its credits. For an idempotency key that the account used before
   * with the same fingerprint it returns that task with `created` false, and records nothing.
   */
  createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }>;
  /**
   * Finds the task that was created with an idempotency key, so that a repeated request needs no further
   * work. Rejects like `createTask` if the fingerprint differs.
   */
  findTaskByIdempotencyKey(
    accountId: string,
    idempotency: NonNullable<Task['idempotency']>,
  ): Promise<Task | undefined>;
  /** pending → processing at this node. Returns undefined if the task is not pending. */
  claimTask(taskId: string): Promise<Task | undefined>;
  /**
   * Claims pending tasks: those of the accounts with the fewest processing tasks first, with the claims of
   * this call counted, and of each account the oldest. Returns none after their deadlines.
   */
  claimPending(query: ClaimQuery): Promise<readonly Task[]>;
  /** Claims processing tasks of nodes that are no longer alive, oldest first. */
  claimOrphans(query: ClaimQuery): Promise<readonly Task[]>;
  /**
   * processing → completed. Charges at most the reservation and releases the rest. Like every end of a
   * task with a callback URL, it records the delivery in the same transaction.
   */
  completeTask(claim: TaskClaim, completion: Completion): Promise<Task>;
  /**
   * pending or processing → failed. A pending task has no claim: it fails with the attempts that it has.
   *
   * @param charge micro-credits to charge nevertheless (`billable_error`); the rest is released
   */
  failTask(claim: TaskClaim, error: TaskError, charge?: number): Promise<Task>;
  /** pending or processing → expired. Releases the whole reservation. */
  expireTask(claim: TaskClaim): Promise<Task>;
  /**
   * Expires tasks after their deadlines that no living node processes, at most a number of them. Nodes expire
   * the others themselves, more exactly.
   */
  expireOverdue(limit: number): Promise<readonly Task[]>;
  /** processing → pending, so that any node may claim it. Keeps the progress. */
  requeueTask(claim: TaskClaim): Promise<Task>;
  /** Replaces the progress of a processing task, which it needs to continue after a crash. */
  saveProgress(claim: TaskClaim, progress: unknown): Promise<Task>;
  /** Undefined for a task of another account, too. */
  findTask(accountId: string, taskId: string): Promise<Task | undefined>;
  /** Tasks, newest first. */
  listTasks(query: TaskQuery, page: Page<string>): Promise<readonly Task[]>;
  /**
   * Deletes tasks that ended before a time, or one ended task of an account, with their assets and deliveries. A task
   * with a pending delivery is kept. Deletes at most 1000 tasks: call it again until it returns none.
   */
  deleteTasks(ended: number | Pick<Task, 'accountId' | 'id'>): Promise<DeletedRecords>;
  /** Deletes the oldest ended tasks of an account that exceed the given totals, like `deleteTasks`. */
  trimTasks(accountId: string, limits: TaskTotals): Promise<DeletedRecords>;
  /** Deletes inputs of ended tasks, at most 1000, and returns them. */
  deleteInputs(): Promise<readonly Asset[]>;

  /**
   * Records an upload that is on disk already.
   *
   * @param quota maximum bytes of the account's uploads and of inputs of its open tasks; above it the method
   *   rejects with `insufficient_quota`, code `storage_full`
   * @param charged charges of the work whose results the file has: the method rejects with `asset_exists` where it
   *   was recorded before, so that they are made once. A charge is limited to what the account and the key can spend
   */
  addUpload(
    accountId: string,
    asset: NewAsset,
    quota: number,
    charged?: WorkCharges,
  ): Promise<Asset>;
  /** Deletes some uploads of an account, and returns those that there were. */
  removeUploads(accountId: string, assetIds: readonly string[]): Promise<readonly Asset[]>;
  /** Finds an asset by its secret identifier. Like `findKey`, it does not wait for writes. */
  findAsset(assetId: string): Promise<Asset | undefined>;
  /** Deletes uploads that were created before a time, and returns them. */
  deleteUploads(madeBefore: number): Promise<readonly Asset[]>;

  /**
   * Claims pending deliveries that are due and that no living node has claimed. The claim ends with the next
   * recorded attempt.
   */
  claimDeliveries(query: DeliveryQuery): Promise<ClaimedDeliveries>;
  /** Undefined for a task of another account; empty without a callback URL or before the end of the task. */
  listDeliveries(accountId: string, taskId: string): Promise<readonly Delivery[] | undefined>;
  /**
   * Adds an attempt to a pending delivery. The last 50 attempts are kept. Rejects with `claim_lost` if other
   * attempts were recorded than those of the given delivery, or another living node has claimed it.
   */
  recordAttempt(
    delivery: Delivery,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery>;

  /**
   * Reserves credits for a request in progress, in memory only. Rejects with `store_unavailable` while a
   * charge could not be written either.
   */
  reserve(accountId: string, keyId: string, amount: number): Promise<Reservation>;
  /**
   * Ends a reservation with the charge of the request, or charges a request that had none. A charge above
   * the reservation is limited to what the account and the key can spend; returns the amount charged.
   * Resolves once the charge is written, so that it survives a crash of the process. It is synced within a
   * second; a power cut before that loses it. If the write fails this resolves nevertheless: the charge
   * counts in memory and is written later.
   */
  settle(payer: Reservation | Payer, metered: MeteredUsage): Promise<number>;
  /** Ends a reservation without a charge. Ending it again does nothing. */
  release(reservation: Reservation): Promise<void>;

  /** Ledger entries of an account, newest first. */
  listLedger(accountId: string, page: Page<number>): Promise<readonly LedgerEntry[]>;
  /** Usage of inclusive days, about in the order of the first use; of one account, or of all. A row is of one key and team. */
  listUsage(
    accountId: string | undefined,
    days: { readonly from: string; readonly to: string },
  ): Promise<readonly UsageRow[]>;
  /**
   * Replaces the oldest entries of an account's ledger by one `carried` entry.
   *
   * @param before entries before this time are replaced, in milliseconds since the epoch; left out, none by age
   * @param lines entries to keep once there are a tenth more than that, since all of them are in memory
   */
  compactLedger(accountId: string, limits: { before?: number; lines: number }): Promise<void>;

  /** Deletes usage before a day, such as `2026-11-22`, at most 10,000 rows; returns their number. */
  deleteUsage(before: string): Promise<number>;

  /** Time range of the records, from the first account on; null if there are none. Reads all records. */
  timeRange(): Promise<TimeRange | null>;
  /** Totals, at most a few seconds old; a call costs little, however many records there are. */
  statistics(): Promise<StoreStatistics>;
  /** Reads nothing: it returns at once. */
  health(): StoreHealth;

  /** Living nodes, and those that died lately, in the order of their starts. */
  listNodes(): Promise<readonly NodeRecord[]>;
  /**
   * Calls a listener with what other nodes changed.
   *
   * @returns a function that removes the listener
   */
  watch(listener: (event: StoreEvent) => void): () => void;
  /** Reads and writes the whole store, to check or to copy it. */
  readonly transfer: Transfer;
  /** Sends a hint to the other nodes; does nothing where there can be none. */
  publish(event: PublishedEvent): void;
  /** Runs work that only one node may do at a time. Waits while another call holds the lock of this name. */
  withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /** Waits for work in progress, writes the rest, and closes the files. */
  close(): Promise<void>;
}
