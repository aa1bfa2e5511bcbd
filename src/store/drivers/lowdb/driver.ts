import type { StoreHealth } from '../../health.ts';
import { joined } from '../../joined.ts';
import { type NodeRecord, SINGLE_NODE } from '../../nodes.ts';
import { ProviderObjects } from '../../provider-objects.ts';
import type { Store } from '../../store.ts';
import type { JournalCompactor } from './compactor.ts';
import { AccountWriter } from './records/accounts.ts';
import { CreditWriter } from './records/credits.ts';
import { DeliveryWriter } from './records/deliveries.ts';
import { EndedTaskWriter } from './records/ended-tasks.ts';
import { KeyWriter } from './records/keys.ts';
import { LedgerWriter } from './records/ledger.ts';
import { StoreReader } from './records/reader.ts';
import type { Records } from './records/records.ts';
import { SessionWriter } from './records/sessions.ts';
import { TaskWriter } from './records/tasks.ts';
import { TeamWriter } from './records/teams.ts';
import { UploadWriter } from './records/uploads.ts';
import { LowdbTransfer } from './transfer.ts';

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
export function lowdbStore(options: LowdbStoreOptions): Store {
  const { records } = options;
  return joined(
    new StoreReader(records),
    new AccountWriter(records),
    new KeyWriter(records),
    new SessionWriter(records),
    new TeamWriter(records),
    new TaskWriter(records),
    new EndedTaskWriter(records),
    new UploadWriter(records),
    new DeliveryWriter(records),
    new CreditWriter(records),
    new LedgerWriter(records),
    new ProviderObjects(),
    new LowdbProcess(options),
  );
}

/** The methods that concern the process and its folder. */
class LowdbProcess {
  readonly #records: Records;
  readonly #compactor: JournalCompactor;
  readonly #release: () => Promise<void>;
  readonly #node: LowdbStoreOptions['node'];
  readonly #startedAt = Date.now();
  /** Resolves when the last call of `withLock` with a name has ended. */
  readonly #locks = new Map<string, Promise<void>>();
  #closing: Promise<void> | null = null;
  readonly isShared = false;
  readonly nodes = SINGLE_NODE;
  readonly transfer: LowdbTransfer;

  constructor({ records, compactor, node, release }: LowdbStoreOptions) {
    this.#records = records;
    this.#compactor = compactor;
    this.#node = node;
    this.#release = release;
    this.transfer = new LowdbTransfer(records);
  }

  get now(): number {
    return this.#records.now();
  }

  health(): StoreHealth {
    const { failure, journalLength } = this.#records.commits;
    const refusal = failure ?? this.#records.backlogFailure();
    const fault = refusal?.message ?? null;
    return {
      fault,
      textFault: fault,
      pendingCharges: this.#records.charges.pending,
      journal: this.#compactor.health(journalLength),
    };
  }

  async listNodes(): Promise<readonly NodeRecord[]> {
    if (!this.#node) return [];
    const claims = this.#records.state.tasksInState.count('processing');
    const { node: id } = this.#records;
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

  close(): Promise<void> {
    this.#records.close();
    this.#closing ??= this.#release();
    return this.#closing;
  }
}
