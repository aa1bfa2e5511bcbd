import type { NodeRecord } from '../../nodes.ts';
import { SINGLE_NODE } from '../../nodes.ts';
import { accountMethods } from '../../operations/accounts.ts';
import type { RequestLog } from '../../requests/request-log.ts';
import type { Store } from '../../store.ts';
import type { JournalCompactor } from './compactor.ts';
import { accountQueries } from './records/account-reader.ts';
import { alertMethods } from './records/alerts.ts';
import { configMethods } from './records/config-entries.ts';
import { creditMethods, ledgerMethods } from './records/credits.ts';
import type { LowdbDocuments } from './records/documents.ts';
import { endedTaskMethods } from './records/ended-tasks.ts';
import { queries } from './records/reader.ts';
import type { Records } from './records/records.ts';
import { sessionMethods } from './records/sessions.ts';
import { deliveryMethods, taskMethods, uploadMethods } from './records/tasks.ts';
import { lowdbTransfer } from './transfer.ts';

/** Milliseconds that a node counts as living; a process that has the lock of the folder always does. */
const LEASE_MS = 15_000;

interface LowdbStoreOptions {
  readonly records: Records;
  readonly requests: RequestLog;
  readonly documents: LowdbDocuments;
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
  const { records, requests, documents, compactor, node, release } = options;
  const startedAt = Date.now();
  /** Resolves when the last call of `withLock` with a name has ended. */
  const locks = new Map<string, Promise<unknown>>();
  let closing: Promise<void> | null = null;
  return {
    ...accountQueries(records),
    ...queries(records),
    ...accountMethods({
      now: records.now,
      create: (operation) => records.run(operation),
      change: async (operation) => records.reservations.addTo(await records.run(operation)),
    }),
    ...sessionMethods(records),
    ...taskMethods(records),
    ...endedTaskMethods(records),
    ...uploadMethods(records),
    ...deliveryMethods(records),
    ...creditMethods(records),
    ...ledgerMethods(records),
    ...configMethods(records),
    ...alertMethods(records),
    transfer: lowdbTransfer(records, documents),

    isShared: false,
    cache: null,
    requests,
    documents,
    nodes: SINGLE_NODE,
    get now() {
      return records.now();
    },
    health() {
      const { failure, journalLength } = records.commits;
      const refusal = failure ?? records.backlogFailure();
      const fault = refusal?.message ?? null;
      const { pending } = records.charges;
      const journal = compactor.health(journalLength);
      return { fault, textFault: fault, pendingCharges: pending, journal };
    },
    async listNodes() {
      if (!node) return [];
      const claims = records.state.tasksInState.count('processing');
      const aliveUntil = records.now() + LEASE_MS;
      return [{ id: records.node, ...node, startedAt, aliveUntil, claims }];
    },
    watch: () => () => {},
    publish() {},
    async withLock(name, work) {
      const working = (locks.get(name) ?? Promise.resolve()).then(work);
      const over = working.catch(() => {});
      locks.set(name, over);
      try {
        return await working;
      } finally {
        if (locks.get(name) === over) locks.delete(name);
      }
    },
    close() {
      records.close();
      closing ??= release();
      return closing;
    },
  };
}
