import type { Account, ApiKey, Plan, Team } from '../../account.ts';
import type { Asset, NewAsset } from '../../asset.ts';
import type { Delivery, DeliveryAttempt, DeliveryOutcome } from '../../delivery.ts';
import { conflict } from '../../errors.ts';
import { accountFunds, checkAmount, checkFunds, grant, spendable } from '../../funds.ts';
import type { StoreHealth } from '../../health.ts';
import { newId } from '../../identifier.ts';
import { carryForward, type LedgerEntry } from '../../ledger.ts';
import { createdAccount, withNewSecret } from '../../new-records.ts';
import { SINGLE_NODE } from '../../nodes.ts';
import { ProviderObjects } from '../../provider-objects.ts';
import type { NewSession, Session } from '../../session.ts';
import type {
  ClaimedDeliveries,
  ClaimQuery,
  Completion,
  DeletedRecords,
  DeliveryQuery,
  KeyChange,
  MeteredUsage,
  NewAccount,
  NewKey,
  NewTask,
  NewTeam,
  NodeRecord,
  Payer,
  Reservation,
  Store,
  TaskTotals,
  TeamChange,
} from '../../store.ts';
import { EXPIRED, type Task, type TaskClaim, type TaskError } from '../../task.ts';
import type { JournalCompactor } from './compactor.ts';
import { DeliveryWriter } from './records/deliveries.ts';
import { KeyWriter } from './records/keys.ts';
import { StoreReader } from './records/reader.ts';
import type { Records } from './records/records.ts';
import { SessionWriter } from './records/sessions.ts';
import { TaskWriter } from './records/tasks.ts';
import { TeamWriter } from './records/teams.ts';
import { UploadWriter } from './records/uploads.ts';
import { LowdbTransfer } from './transfer.ts';

/** A ledger is compacted when it exceeds its limit by this factor, not at the end of every task. */
const LEDGER_SLACK = 1.1;

/** Maximum rows of usage that one transaction deletes. */
const MAX_DELETED_USAGE = 10_000;

/** Milliseconds that a node counts as living; a process that has the lock of the folder always does. */
const LEASE_MS = 15_000;

interface LowdbStoreOptions {
  readonly records: Records;
  readonly compactor: JournalCompactor;
  /** Absent for administration. */
  readonly node: Pick<NodeRecord, 'name' | 'version'> | undefined;
  /** Writes the rest and closes the files. */
  readonly release: () => Promise<void>;
}

/**
 * Store of one process: records in memory, a journal and checkpoints on disk.
 *
 * The journal makes transactions durable: a method appends its changes to it as a line of JSON with a
 * checksum, which is synced before the method resolves (charges within a second). A start reads the last
 * checkpoint and replays the journals after it. The checkpoint consists of JSON documents: checkpoint.json
 * and shards of 512 rows. lowdb reads and writes these documents, through an adapter that syncs
 * (json-file.ts), and does nothing else: queries, transactions, the lock and the archive of ended tasks
 * are code of this folder.
 *
 * Between its checks and its commit a method awaits nothing, so that no other method can run in between.
 */
export class LowdbStore extends StoreReader implements Store {
  readonly #keys: KeyWriter;
  readonly #sessions: SessionWriter;
  readonly #teams: TeamWriter;
  readonly #tasks: TaskWriter;
  readonly #deliveries: DeliveryWriter;
  readonly #uploads: UploadWriter;
  readonly #compactor: JournalCompactor;
  readonly #release: () => Promise<void>;
  readonly #node: Pick<NodeRecord, 'name' | 'version'> | undefined;
  readonly #startedAt = Date.now();
  readonly #providerObjects = new ProviderObjects();
  /** Resolves when the last call of `withLock` with a name has ended. */
  readonly #locks = new Map<string, Promise<void>>();
  #closing: Promise<void> | null = null;
  readonly isShared = false;
  readonly nodes = SINGLE_NODE;
  readonly transfer: LowdbTransfer;

  constructor({ records, compactor, node, release }: LowdbStoreOptions) {
    super(records);
    this.#compactor = compactor;
    this.#node = node;
    this.#deliveries = new DeliveryWriter(records);
    this.#keys = new KeyWriter(records);
    this.#sessions = new SessionWriter(records);
    this.#teams = new TeamWriter(records);
    this.#tasks = new TaskWriter(records);
    this.#uploads = new UploadWriter(records);
    this.#release = release;
    this.transfer = new LowdbTransfer(records);
  }

  async createAccount(account: NewAccount): Promise<Account> {
    const { name } = account;
    // An account whose name is another's identifier could never be found by it.
    if (this.records.state.accountByName.get(name) ?? this.records.state.accountById.get(name)) {
      throw conflict(`there is an account ${JSON.stringify(name)} already`, 'account_exists');
    }
    const transaction = this.records.begin();
    const created = createdAccount(account, { id: newId('acct'), at: this.records.now() });
    transaction.changes.push(['accounts', this.records.state.accounts.newOrder(), created]);
    transaction.entry(created, { type: 'grant', amount: account.credits });
    await this.records.commit(transaction);
    return created;
  }

  async grant(accountId: string, amount: number, note?: string): Promise<Account> {
    const account = grant(this.records.account(accountId), amount);
    const transaction = this.records.begin();
    transaction.account(account);
    transaction.entry(account, { type: 'grant', amount, note: note ?? null });
    await this.records.commit(transaction);
    return this.records.reservations.addTo(account);
  }

  async setPlan(accountId: string, plan: Plan): Promise<Account> {
    const account = { ...this.records.account(accountId), plan };
    const transaction = this.records.begin();
    transaction.account(account);
    await this.records.commit(transaction);
    return this.records.reservations.addTo(account);
  }

  async rotateCallbackSecret(accountId: string, dropPrevious: boolean): Promise<Account> {
    const former = this.records.account(accountId);
    const account = withNewSecret(former, dropPrevious, this.records.now());
    const transaction = this.records.begin();
    transaction.account(account);
    await this.records.commit(transaction);
    return this.records.reservations.addTo(account);
  }

  createKey(key: NewKey): Promise<ApiKey> {
    return this.#keys.create(key);
  }

  updateKey(keyId: string, change: KeyChange): Promise<ApiKey> {
    return this.#keys.update(keyId, change);
  }

  revokeKey(keyId: string): Promise<ApiKey> {
    return this.#keys.revoke(keyId);
  }

  createSession(session: NewSession): Promise<Session> {
    return this.#sessions.create(session);
  }

  endSession(hash: string): Promise<void> {
    return this.#sessions.end(hash);
  }

  createTeam(team: NewTeam): Promise<Team> {
    return this.#teams.create(team);
  }

  updateTeam(teamId: string, change: TeamChange): Promise<Team> {
    return this.#teams.update(teamId, change);
  }

  removeTeam(teamId: string): Promise<Team> {
    return this.#teams.remove(teamId);
  }

  findTaskByIdempotencyKey(
    accountId: string,
    idempotency: NonNullable<Task['idempotency']>,
  ): Promise<Task | undefined> {
    return this.#tasks.findByIdempotencyKey(accountId, idempotency);
  }

  async createTask(task: NewTask): Promise<{ readonly task: Task; readonly created: boolean }> {
    this.#checkBacklog();
    return this.#tasks.create(task);
  }

  claimTask(taskId: string): Promise<Task | undefined> {
    return this.#tasks.claim(taskId);
  }

  claimPending(query: ClaimQuery): Promise<readonly Task[]> {
    return this.#tasks.claimPending(query);
  }

  claimOrphans(query: ClaimQuery): Promise<readonly Task[]> {
    return this.#tasks.claimOrphans(query);
  }

  completeTask(claim: TaskClaim, completion: Completion): Promise<Task> {
    return this.#tasks.end(claim, { status: 'completed', ...completion });
  }

  failTask(claim: TaskClaim, error: TaskError, charge = 0): Promise<Task> {
    return this.#tasks.end(claim, { status: 'failed', error, charge });
  }

  expireTask(claim: TaskClaim): Promise<Task> {
    return this.#tasks.end(claim, { status: 'expired', error: EXPIRED, charge: 0 });
  }

  expireOverdue(limit: number): Promise<readonly Task[]> {
    return this.#tasks.expireOverdue(limit);
  }

  requeueTask(claim: TaskClaim): Promise<Task> {
    return this.#tasks.requeue(claim);
  }

  saveProgress(claim: TaskClaim, progress: unknown): Promise<Task> {
    return this.#tasks.saveProgress(claim, progress);
  }

  deleteTasks(endedBefore: number): Promise<DeletedRecords> {
    return this.#tasks.deleteEnded(endedBefore);
  }

  trimTasks(accountId: string, limits: TaskTotals): Promise<DeletedRecords> {
    return this.#tasks.trim(accountId, limits);
  }

  deleteInputs(): Promise<readonly Asset[]> {
    return this.#uploads.deleteSpentInputs();
  }

  async addUpload(accountId: string, asset: NewAsset, quota: number): Promise<Asset> {
    this.#checkBacklog();
    return this.#uploads.add(accountId, asset, quota);
  }

  deleteUploads(madeBefore: number): Promise<readonly Asset[]> {
    return this.#uploads.deleteBefore(madeBefore);
  }

  claimDeliveries(query: DeliveryQuery): Promise<ClaimedDeliveries> {
    return this.#deliveries.claim(query);
  }

  recordAttempt(
    delivery: Delivery,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery> {
    return this.#deliveries.record(delivery, attempt, outcome);
  }

  async reserve(accountId: string, keyId: string, amount: number): Promise<Reservation> {
    const payer = { accountId, keyId };
    const { bookedState, reservations } = this.records;
    const holder = this.records.holder(payer, bookedState);
    const scope = this.records.scopeOf(holder);
    const funds = this.records.funds(holder, scope, bookedState);
    checkFunds(funds, amount, reservations.of, this.records.now());
    // A free request has no charge to lose: its usage is kept in memory until it can be written.
    if (amount > 0) {
      const { failure } = this.records.commits;
      if (failure) throw failure;
      this.#checkBacklog();
    }
    return reservations.begin(payer, scope, amount);
  }

  addProviderObjects(accountId: string, ids: readonly string[]): void {
    this.#providerObjects.add(accountId, ids);
  }

  async findProviderObjects(
    accountId: string,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return this.#providerObjects.find(accountId, ids);
  }

  async settle(source: Reservation | Payer, metered: MeteredUsage): Promise<number> {
    checkAmount(metered.charge, 'charge');
    const { bookedState, reservations, charges, now } = this.records;
    const holder = this.records.holder(source, bookedState);
    const isReserved = 'id' in source;
    if (isReserved && !reservations.end(source.id)) return 0;
    this.records.checkOpen();
    const scope = isReserved ? source.scope : this.records.scopeOf(holder);
    // What was reserved is charged in full, also where a budget was lowered since.
    const reserved = isReserved
      ? Math.min(source.amount, accountFunds(holder, reservations.of))
      : 0;
    let amount = metered.charge;
    if (amount > reserved) {
      const funds = this.records.funds(holder, scope, bookedState);
      amount = Math.min(amount, Math.max(reserved, spendable(funds, reservations.of)));
    }
    await charges.add({ payer: source, scope, metered, amount, at: now() });
    return amount;
  }

  async release(reservation: Reservation): Promise<void> {
    this.records.reservations.end(reservation.id);
  }

  async compactLedger(
    accountId: string,
    { before = -Infinity, lines }: { before?: number; lines: number },
  ): Promise<void> {
    const { ledgerOfAccount } = this.records.state;
    const count = ledgerOfAccount.count(accountId);
    const excess = count > lines * LEDGER_SLACK ? count - lines : 0;
    if (excess === 0 && before === -Infinity) return;
    const entries = [...ledgerOfAccount.oldest(accountId)];
    const isFolded = (entry: LedgerEntry, index: number) => index < excess || entry.at < before;
    const folded = carryForward(
      entries.map(([, entry]) => entry),
      isFolded,
    );
    if (!folded) return;
    const transaction = this.records.begin();
    for (const [order] of entries.slice(0, folded.count - 1)) {
      transaction.changes.push(['ledger', order, null]);
    }
    transaction.changes.push(['ledger', folded.carried.id, folded.carried]);
    await this.records.commit(transaction);
  }

  async deleteUsage(before: string): Promise<number> {
    const transaction = this.records.begin();
    for (const [order, { day }] of this.records.state.usage.rows) {
      if (day >= before) continue;
      transaction.changes.push(['usage', order, null]);
      if (transaction.changes.length === MAX_DELETED_USAGE) break;
    }
    const { length } = transaction.changes;
    if (length > 0) await this.records.commit(transaction);
    return length;
  }

  get now(): number {
    return this.records.now();
  }

  health(): StoreHealth {
    const { failure, journalLength } = this.records.commits;
    const refusal = failure ?? this.#compactor.backlogFailure(journalLength);
    const fault = refusal?.message ?? null;
    return {
      fault,
      textFault: fault,
      pendingCharges: this.records.charges.pending,
      journal: this.#compactor.health(journalLength),
    };
  }

  async listNodes(): Promise<readonly NodeRecord[]> {
    if (!this.#node) return [];
    const claims = this.records.state.tasksInState.count('processing');
    const { node: id } = this.records;
    return [
      { id, ...this.#node, startedAt: this.#startedAt, aliveUntil: this.now + LEASE_MS, claims },
    ];
  }

  watch(): () => void {
    return () => {};
  }

  publish(): void {}

  async withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const earlier = this.#locks.get(name);
    const working = (earlier ?? Promise.resolve()).then(work);
    const over = working.then(
      () => {},
      () => {},
    );
    this.#locks.set(name, over);
    try {
      return await working;
    } finally {
      if (this.#locks.get(name) === over) this.#locks.delete(name);
    }
  }

  /** @throws Failure `store_unavailable` for new work while checkpoints fail and the journals are too long */
  #checkBacklog(): void {
    const refusal = this.#compactor.backlogFailure(this.records.commits.journalLength);
    if (refusal) throw refusal;
  }

  close(): Promise<void> {
    this.records.close();
    this.#closing ??= this.#release();
    return this.#closing;
  }
}
