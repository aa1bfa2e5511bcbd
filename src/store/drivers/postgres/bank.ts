import { setTimeout as delay } from 'node:timers/promises';
import type { Failure } from '../../../failure.ts';
import { getOrInsert } from '../../../maps.ts';
import type { Database } from './database/database.ts';
import type { Draw, EscrowBank, FoldBatch } from './escrow/bank.ts';
import type { DriverEvent } from './events.ts';
import { ANSWERS, type NodeLease } from './nodes.ts';
import { drawEscrow, foldEscrows } from './operations/escrows.ts';
import type { Transactions } from './transactions/transactions.ts';

/** Milliseconds to wait for the credits that other nodes return. */
const RECALL_MS = 500;

interface BankOptions {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly lease: NodeLease;
  readonly send: (event: DriverEvent) => void;
  readonly now: () => number;
}

/** The escrows of this node in the database. */
export class Bank implements EscrowBank {
  readonly #options: BankOptions;
  /** Called with the nodes that have answered a recall, by account. */
  readonly #recalls = new Map<string, Set<(node: string) => void>>();

  constructor(options: BankOptions) {
    this.#options = options;
  }

  draw(draw: Draw): Promise<number | Failure> {
    const { transactions, now } = this.#options;
    return transactions.run(drawEscrow(draw, now()));
  }

  fold(batch: FoldBatch): Promise<void> {
    return this.#options.transactions.run(foldEscrows(batch));
  }

  async recall(accountId: string): Promise<void> {
    const { database, lease, send } = this.#options;
    if (lease.alive() === 1) return;
    const rows = await database.query<{ node: string }>(
      `SELECT DISTINCT e.node FROM $schema.escrows AS e JOIN $schema.nodes AS n ON n.id = e.node
       WHERE e.account_id = $1 AND e.node <> $2 AND e.amount > 0 AND ${ANSWERS}`,
      [accountId, lease.escrowId],
    );
    const missing = new Set(rows.map(({ node }) => node));
    if (missing.size === 0) return;
    const listeners = getOrInsert(this.#recalls, accountId, () => new Set());
    await new Promise<void>((resolve) => {
      const listener = (node: string) => {
        missing.delete(node);
        if (missing.size === 0) resolve();
      };
      listeners.add(listener);
      send({ kind: 'recall', accountId });
      // A node that gets no notifications returns what it does not need within seconds.
      void delay(RECALL_MS, undefined, { ref: false }).then(() => {
        listeners.delete(listener);
        resolve();
      });
    });
    if (listeners.size === 0) this.#recalls.delete(accountId);
  }

  /** A node has returned what it could. */
  recalled(accountId: string, node: string): void {
    for (const listener of this.#recalls.get(accountId) ?? []) listener(node);
  }
}
