import type { Failure } from '../../../../failure.ts';
import type { Change } from '../state/state.ts';

/** Change of one row by a batch. */
export interface RowChange {
  /** Change that reverts it. */
  readonly before: Change;
  /** The last change of the row: a row that changes several times is written once. */
  change: Change;
  json: string | null;
}

/** Transactions that are written together. */
export class Batch {
  readonly rows = new Map<number, RowChange>();
  readonly durable: Promise<void>;
  resolve!: () => void;
  reject!: (failure: Failure) => void;
  transactions = 0;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Every caller of `commit` gets the rejection; there may be none.
    this.durable.catch(() => {});
  }

  get json(): string {
    const parts: string[] = [];
    for (const { change, json } of this.rows.values()) parts.push(json ?? JSON.stringify(change));
    return `[${parts.join(',')}]`;
  }
}
