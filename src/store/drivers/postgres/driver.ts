import type { StoreHealth } from '../../health.ts';
import { joined } from '../../joined.ts';
import type { NodeRecord } from '../../nodes.ts';
import type { Store } from '../../store.ts';
import type { PublishedEvent, StoreEvent } from '../../store-event.ts';
import { isTerminal } from '../../task.ts';
import { AccountStore } from './account-store.ts';
import { orphanedEscrows } from './claims.ts';
import { CreditStore } from './credit-store.ts';
import type { DriverEvent } from './events.ts';
import type { NodeLease } from './nodes.ts';
import { returnEscrows } from './operations/escrows.ts';
import { RetentionStore } from './retention-store.ts';
import { SessionStore } from './session-store.ts';
import { SharedObjects } from './shared-objects.ts';
import { type PostgresParts, StorePart } from './store-part.ts';
import { TaskStore } from './task-store.ts';
import { PostgresTransfer } from './transfer.ts';

/** Store of several nodes over one PostgreSQL database. README.md explains its parts. */
export function postgresStore(
  parts: PostgresParts,
  closing: AbortController,
): { readonly store: Store; readonly node: PostgresNode } {
  const tasks = new TaskStore(parts);
  const objects = new SharedObjects({ ...parts, reads: parts.reader.reads });
  const node = new PostgresNode(parts, { tasks, objects, closing });
  const store = joined(
    parts.reader,
    new AccountStore(parts),
    new SessionStore(parts),
    new CreditStore(parts),
    tasks,
    new RetentionStore(parts),
    objects,
    node,
  );
  return { store, node };
}

/** The methods that concern the node, and its work in the background. */
class PostgresNode extends StorePart {
  readonly isShared = true;
  readonly transfer = new PostgresTransfer(this.parts.database, () => this.parts.escrows.flush());
  readonly #tasks: TaskStore;
  readonly #objects: SharedObjects;
  readonly #closing: AbortController;
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #closed: Promise<void> | null = null;

  constructor(
    parts: PostgresParts,
    own: {
      readonly tasks: TaskStore;
      readonly objects: SharedObjects;
      readonly closing: AbortController;
    },
  ) {
    super(parts);
    this.#tasks = own.tasks;
    this.#objects = own.objects;
    this.#closing = own.closing;
  }

  get nodes(): NodeLease {
    return this.parts.lease;
  }

  health(): StoreHealth {
    const { transactions, escrows, database, lease } = this.parts;
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
  }

  listNodes(): Promise<readonly NodeRecord[]> {
    return this.parts.lease.list();
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  publish(event: PublishedEvent): void {
    this.parts.events.send(event);
  }

  withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.parts.database.withLock(name, work);
  }

  /** Handles an event of another node. */
  receive(event: DriverEvent): void {
    const { keys, escrows, bank, lease, events, onFault } = this.parts;
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
        this.#emit(event);
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
        this.#emit(event);
    }
  }

  #emit(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** The lease of this node's claims has ended. */
  leaseLost(): void {
    this.#tasks.forgetClaims();
    this.#emit({ kind: 'lease_lost' });
  }

  /** The lease of this node's escrows has ended. */
  escrowLost(): void {
    const { escrows, log, lease } = this.parts;
    escrows.lost(lease.escrowId);
    log.restart(lease.escrowId);
  }

  /** Deletes what is old, releases what dead nodes hold, and gives back tasks of which the claim was not acknowledged. */
  async tidy(): Promise<void> {
    // An empty transaction: without requests no other shows that the database can be written again.
    if (this.parts.transactions.failure) await this.run({ needs: {}, apply: () => {} });
    await this.#objects.deleteOldObjects();
    for (;;) {
      const orphans = await orphanedEscrows(this.parts.database);
      if (orphans.length === 0) break;
      const dead = new Set(orphans.map(({ node }) => node));
      await this.run(
        returnEscrows(
          orphans.map(({ id }) => id),
          (node) => dead.has(node),
        ),
      );
    }
    await this.#tasks.requeueUnknown();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { database, transactions, escrows, log, keys, events, lease } = this.parts;
    this.#closing.abort();
    keys.close();
    await this.#objects.flushObjects();
    await escrows.close();
    log.close(escrows.pendingCharges === 0);
    await transactions.close();
    await events.close();
    await lease.close();
    await database.close();
    await this.parts.release();
  }
}
