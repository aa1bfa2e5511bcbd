import type { Failure } from '../../../../failure.ts';
import { closed } from '../../../errors.ts';
import { newId } from '../../../identifier.ts';
import { TagSets } from '../../../tags.ts';
import {
  BEGIN,
  type Database,
  type PreparingConnection,
  type Statement,
} from '../database/database.ts';
import { failureOf, isAway, unavailable } from '../database/errors.ts';
import { Batch, type RowOperation } from './batch.ts';

/** Operations in one transaction. */
const MAX_BATCH = 500;

interface Waiting {
  readonly operation: RowOperation<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Time at which the operation is rejected while the database is away, in milliseconds since the epoch. */
  readonly until: number;
}

type Outcome = { readonly result: unknown } | { readonly error: unknown };

interface TransactionsOptions {
  readonly database: Database;
  /** Distinct sets of tags that are counted for an account and a day. */
  readonly tagSets?: number | undefined;
  /** Called after each commit with its duration. */
  readonly onCommit?: (commit: { milliseconds: number; transactions: number }) => void;
  /** Called when transactions start to fail, and with null when they succeed again. */
  readonly onFailure?: (failure: Failure | null) => void;
}

/**
 * Runs operations in transactions: what arrives during one transaction is in the next one. Each locks the
 * accounts of its operations in the order of their identifiers and nothing else, so that the transactions of
 * many nodes cannot deadlock.
 *
 * The transactions of one process are numbered, and each writes its number first. Where a connection breaks
 * during the commit, the next attempt waits there for the lock of the interrupted one and finds out whether it was
 * committed.
 */
export class Transactions {
  readonly #options: TransactionsOptions;
  readonly #database: Database;
  readonly #writer = newId('writer');
  readonly #tagSets = new TagSets();
  #number = 0;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #isClosed = false;
  #failure: Failure | null = null;

  constructor(options: TransactionsOptions) {
    this.#options = options;
    this.#database = options.database;
    if (options.tagSets !== undefined) this.#tagSets.limit = options.tagSets;
  }

  /** Reason why transactions fail now; null while they succeed. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** @throws Failure of the operation; `store_unavailable` in bounded time */
  run<Result>(operation: RowOperation<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closed());
    return new Promise<Result>((resolve, reject) => {
      const until = Date.now() + this.#database.retryTimeoutMs;
      this.#waiting.push({
        operation,
        resolve: resolve as (result: unknown) => void,
        reject,
        until,
      });
      this.#running ??= this.#runAll();
    });
  }

  /** Waits for the operations under way. Later ones are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #runAll(): Promise<void> {
    // All calls of this turn of the event loop are in one transaction.
    await null;
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, MAX_BATCH));
    // In the same turn as the last look at the queue: later calls start again.
    this.#running = null;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    let open = batch;
    /** Outcomes of an attempt whose commit was interrupted, by operation. */
    const interrupted = new Map<Waiting, Outcome>();
    for (let attempt = 0; ; attempt += 1) {
      try {
        const started = performance.now();
        const outcomes = await this.#attempt(number, open, interrupted);
        this.#report(null);
        settle(outcomes);
        const milliseconds = performance.now() - started;
        this.#options.onCommit?.({ milliseconds, transactions: open.length });
        return;
      } catch (error) {
        // What was admitted may not be in the database.
        this.#tagSets.clear();
        if (!isAway(error)) {
          if (open.length > 1) for (const one of open) await this.#commit([one]);
          else open[0]!.reject(failureOf(error));
          return;
        }
        this.#report(unavailable(error));
        open = this.#rejectOverdue(open);
        if (open.length === 0) return;
        await this.#database.backoff(attempt, error);
      }
    }
  }

  /**
   * @param interrupted filled before the commit; its outcomes are the answer where the number shows that an
   *   earlier attempt was committed
   */
  async #attempt(
    number: number,
    open: readonly Waiting[],
    interrupted: Map<Waiting, Outcome>,
  ): Promise<ReadonlyMap<Waiting, Outcome>> {
    return this.#database.once(async (connection) => {
      const batch = new Batch();
      // In one round trip, as the statements before the commit.
      const [isNew] = await Promise.all([
        beginNumbered(connection, this.#writer, number),
        batch.load(
          connection,
          open.map(({ operation }) => operation.needs),
        ),
      ]);
      if (!isNew) {
        await connection.query('ROLLBACK');
        return interrupted;
      }
      interrupted.clear();
      for (const waiting of open) {
        const { operation } = waiting;
        const outcome = outcomeOf(batch, operation);
        interrupted.set(waiting, outcome);
        if (!('error' in outcome)) await operation.write?.(connection);
      }
      await batch.limitTags(connection, this.#tagSets);
      const statements = batch.statements();
      if (statements.length > 0) {
        const { text, values } = oneStatement(statements);
        // After a statement that fails, COMMIT is a ROLLBACK.
        await Promise.all([connection.prepared(text, values!), connection.query('COMMIT')]);
      } else
        await connection.query(
          open.some(({ operation }) => operation.write) ? 'COMMIT' : 'ROLLBACK',
        );
      return interrupted;
    });
  }

  /** Rejects what has waited long enough, here and in the queue. Returns the operations to repeat. */
  #rejectOverdue(open: readonly Waiting[]): readonly Waiting[] {
    const now = Date.now();
    const failure = this.#failure!;
    const isOver = ({ until, reject }: Waiting) => {
      if ((until > now || this.#database.isStarting) && !this.#isClosed) return false;
      reject(failure);
      return true;
    };
    this.#waiting = this.#waiting.filter((waiting) => !isOver(waiting));
    return open.filter((waiting) => !isOver(waiting));
  }

  #report(failure: Failure | null): void {
    const changed = (failure === null) !== (this.#failure === null);
    this.#failure = failure;
    if (changed) this.#options.onFailure?.(failure);
  }
}

function outcomeOf(batch: Batch, { apply }: RowOperation<unknown>): Outcome {
  try {
    return { result: batch.run(apply) };
  } catch (error) {
    return { error };
  }
}

function settle(outcomes: ReadonlyMap<Waiting, Outcome>): void {
  for (const [{ resolve, reject }, outcome] of outcomes) {
    if ('error' in outcome) reject(outcome.error);
    else resolve(outcome.result);
  }
}

/**
 * The plans of statements are kept while tables grow: each row is found by an index, as in the plan for a large table.
 * A table without an index is read whole at a cost that says "disabled", for which the server would compile the plan.
 */
const BEGIN_WRITE = [
  BEGIN,
  ...['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'].map(
    (setting) => `SET LOCAL ${setting} = off`,
  ),
].join('; ');

const WRITE_NUMBER = `INSERT INTO $schema.writers (id, number, at) VALUES ($1, $2, now())
  ON CONFLICT (id) DO UPDATE SET number = excluded.number, at = excluded.at
  WHERE writers.number < excluded.number RETURNING id`;

/**
 * Begins a transaction with its number. Returns false where a transaction with this number was committed.
 */
async function beginNumbered(
  connection: PreparingConnection,
  writer: string,
  number: number,
): Promise<boolean> {
  const [, rows] = await Promise.all([
    connection.query(BEGIN_WRITE),
    connection.prepared(WRITE_NUMBER, [writer, number]),
  ]);
  return rows.length === 1;
}

/** Texts of several statements as one, by the texts. There are as many as kinds of batches. */
const combined = new Map<string, string>();

/** Statements as one, which takes one round trip. All see the rows from before it. */
function oneStatement(statements: readonly Statement[]): Statement {
  if (statements.length === 1) return statements[0]!;
  const texts = statements.map(({ text }) => text);
  const key = texts.join();
  let text = combined.get(key);
  if (text === undefined) {
    let count = 0;
    const parts = statements.map(({ text: own, values = [] }, index) => {
      const before = count;
      count += values.length;
      return `s${index} AS (${own.replace(/\$(\d+)/g, (_, place) => `$${Number(place) + before}`)})`;
    });
    text = `WITH ${parts.join(',\n')} SELECT 1`;
    combined.set(key, text);
  }
  return { text, values: statements.flatMap(({ values = [] }) => values) };
}
