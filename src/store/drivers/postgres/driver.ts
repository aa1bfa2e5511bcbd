import { accountMethods } from '../../operations/accounts.ts';
import { RequestLog } from '../../requests/request-log.ts';
import type { Store } from '../../store.ts';
import type { StoreEvent } from '../../store-event.ts';
import { isTerminal } from '../../task.ts';
import { alertMethods } from './alert-store.ts';
import { cacheTable } from './cache-table.ts';
import { orphanedEscrows } from './claims.ts';
import { configMethods } from './config-store.ts';
import { creditMethods } from './credit-store.ts';
import { documentTable } from './document-table.ts';
import type { DriverEvent } from './events.ts';
import { returnEscrows } from './operations/escrows.ts';
import type { PostgresParts } from './parts.ts';
import { accountQueries } from './readers/account-queries.ts';
import { queries } from './readers/reader.ts';
import { requestTable } from './request-table.ts';
import { retentionMethods } from './retention-store.ts';
import { sessionMethods } from './session-store.ts';
import { taskStore } from './task-store.ts';
import { postgresTransfer } from './transfer.ts';

/** What happens to this node, and its work in the background. */
export interface NodeWork {
  /** Handles an event of another node, or a gap in which some were lost. */
  readonly receive: (event: DriverEvent) => void;
  /** The lease of this node's claims has ended. */
  readonly leaseLost: () => void;
  /** The lease of this node's escrows has ended. */
  readonly escrowLost: () => void;
  /** Deletes what is old, releases what dead nodes hold, and gives back tasks of which the claim was not acknowledged. */
  readonly tidy: () => Promise<void>;
}

/** Store of several nodes over one PostgreSQL database. README.md explains its parts. */
export function postgresStore(parts: PostgresParts): {
  readonly store: Store;
  readonly work: NodeWork;
} {
  const { database, transactions, escrows, log, keys, events, bank, lease, balances } = parts;
  const { bookCharges, now, onFault } = parts;
  const tasks = taskStore(parts);
  const requests = new RequestLog(requestTable(database));
  const accounts = accountMethods({
    now,
    create: (operation) => transactions.run(operation),
    async change(operation) {
      const result = await transactions.run(operation);
      const accountId = 'accountId' in result ? result.accountId : result.id;
      keys.forget([accountId]);
      events.send({ kind: 'keys', accounts: [accountId] });
      const shown = result.reserved === 0 ? result : await balances.withoutIdle(result);
      // What was drawn in advance may be above a budget that was lowered.
      await escrows.returnFree(accountId);
      escrows.changed(accountId);
      return shown;
    },
  });
  const listeners = new Set<(event: StoreEvent) => void>();
  const emit = (event: StoreEvent) => {
    for (const listener of listeners) listener(event);
  };
  let closing: Promise<void> | null = null;
  let hasTidied = false;

  async function close(): Promise<void> {
    parts.closing.abort();
    keys.close();
    await requests.close().catch(onFault);
    await escrows.close();
    log.close(escrows.pendingCharges === 0);
    await transactions.close();
    await events.close();
    await lease.close();
    await database.close();
    await parts.release();
  }

  const store: Store = {
    ...accountQueries(balances, bookCharges),
    ...queries(balances, bookCharges),
    ...accounts,
    async grant(accountId, amount, note) {
      // The ledger has charges from before the grant before it.
      await escrows.flush();
      return accounts.grant(accountId, amount, note);
    },
    ...sessionMethods(parts),
    ...creditMethods(parts),
    ...tasks.methods,
    ...retentionMethods(parts),
    ...configMethods(parts),
    ...alertMethods(parts),
    transfer: postgresTransfer(parts),

    isShared: true,
    cache: cacheTable({ database, reads: balances.reads, now }),
    requests,
    documents: documentTable(parts),
    nodes: lease,
    get now() {
      return now();
    },
    health() {
      const failure = transactions.failure ?? lease.failure;
      const fault = failure && `PostgreSQL: ${failure.message}`;
      return {
        fault,
        textFault: lease.isEscrowValid ? null : fault,
        pendingCharges: escrows.pendingCharges,
        database: {
          busyConnections: database.busy,
          waitingCalls: database.waiting,
          idleEscrow: escrows.idle,
        },
      };
    },
    listNodes: () => lease.list(),
    watch(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    publish: (event) => events.send(event),
    withLock: (name, work) => database.withLock(name, work),
    close() {
      closing ??= close();
      return closing;
    },
  };

  const work: NodeWork = {
    receive(event) {
      switch (event.kind) {
        case 'keys':
          keys.forget(event.accounts);
          for (const accountId of event.accounts) {
            escrows.changed(accountId);
            escrows.returnFree(accountId).catch(onFault);
          }
          return;
        case 'task':
          if (isTerminal(event.status)) escrows.changed(event.accountId);
          emit(event);
          return;
        case 'recall': {
          const { accountId } = event;
          escrows
            .returnFree(accountId)
            .then(() => events.send({ kind: 'recalled', accountId, node: lease.escrowId }))
            .catch(onFault);
          return;
        }
        case 'recalled':
          bank.recalled(event.accountId, event.node);
          return;
        default:
          emit(event);
      }
    },
    leaseLost() {
      tasks.claims.forget();
      emit({ kind: 'lease_lost' });
    },
    escrowLost() {
      escrows.lost(lease.escrowId);
      log.restart(lease.escrowId);
    },
    async tidy() {
      // An empty transaction: without requests no other shows that the database can be written again.
      if (transactions.failure) await transactions.run({ needs: {}, apply: () => {} });
      // Each search reads the escrows of all nodes. At its start a node frees those of its former process.
      const isFirst = !hasTidied;
      hasTidied = true;
      while (isFirst || lease.isLeader()) {
        const orphans = await orphanedEscrows(database);
        if (orphans.length === 0) break;
        const dead = new Set(orphans.map(({ node }) => node));
        const ids = orphans.map(({ id }) => id);
        await transactions.run(returnEscrows(ids, (node) => dead.has(node)));
      }
      await tasks.claims.requeueUnknown();
    },
  };
  return { store, work };
}
