import type { Account } from '../../../account.ts';
import type { Asset, NewAsset } from '../../../asset.ts';
import type { BudgetScope, BudgetWindow, Payer } from '../../../budgets.ts';
import { availableOf } from '../../../credits.ts';
import { assetExists } from '../../../errors.ts';
import type { Funds } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import { addCounts, dayOf, type LedgerEntry, NO_USAGE, type UsageCounts } from '../../../ledger.ts';
import { createdDelivery } from '../../../new-records.ts';
import type { KeyHolder } from '../../../store.ts';
import type { Task } from '../../../task.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { type Change, compositeKey, type State } from '../state/state.ts';

type Entry = Pick<LedgerEntry, 'type' | 'amount'> &
  Partial<Pick<LedgerEntry, 'keyId' | 'taskId' | 'model' | 'note'>>;

/** Changes of one method, built from the current records. */
export class Transaction {
  readonly changes: Change[] = [];
  readonly #state: State;
  readonly #now: number;
  readonly #reservedOf: (id: string) => number;

  /** @param reservedOf micro-credits that are reserved in memory, by the identifier of a window */
  constructor(state: State, now: number, reservedOf: (id: string) => number) {
    this.#state = state;
    this.#now = now;
    this.#reservedOf = reservedOf;
  }

  account(account: Account): void {
    this.changes.push(['accounts', this.#state.accountById.order(account.id)!, account]);
  }

  funds({ account, key, team, windows }: Funds): void {
    this.account(account);
    this.changes.push(['keys', this.#state.keyById.order(key.id)!, key]);
    if (team) this.changes.push(['teams', this.#state.teamById.order(team.id)!, team]);
    for (const window of windows ?? []) this.#window(window);
  }

  /** Sets a window. A new one replaces those of its holder and period that ended before the one before it. */
  #window(window: BudgetWindow): void {
    const known = this.#state.windowById.order(window.id);
    this.changes.push(['windows', known ?? this.#state.windows.newOrder(), window]);
    if (known !== undefined) return;
    const group = compositeKey(window.holderId, window.period);
    const earlier = [...this.#state.windowsOfHolder.oldest(group)]
      .filter(([, { from }]) => from < window.from)
      .sort(([, one], [, other]) => (one.from < other.from ? -1 : 1));
    for (const [order, { id, reserved }] of earlier.slice(0, -1)) {
      if (reserved + this.#reservedOf(id) === 0) this.changes.push(['windows', order, null]);
    }
  }

  task(task: Task): void {
    this.changes.push(['tasks', this.#state.taskById.order(task.id)!, task]);
  }

  /** @param taskId null for an upload */
  asset(
    accountId: string,
    taskId: string | null,
    asset: NewAsset,
    use: Pick<Asset, 'input'> = {},
  ): Asset {
    const { id, mediaType, bytes, sha256 } = asset;
    if (this.#state.assetById.get(id)) throw assetExists(id);
    const row = { id, accountId, taskId, mediaType, bytes, sha256, createdAt: this.#now, ...use };
    this.changes.push(['assets', this.#state.assets.newOrder(), row]);
    return row;
  }

  /** Marks an archived record as deleted. */
  tombstone({ segment, index, entry }: SegmentRecord): void {
    const { status, bytes } = entry;
    const accountId = segment.accountOf(entry);
    const row = { segment: segment.number, index, accountId, status, bytes };
    this.changes.push(['forgotten', this.#state.forgotten.newOrder(), row]);
  }

  /** Adds the callback of a task that has ended. Its first attempt is due at once. */
  delivery(task: Task, url: string): void {
    const delivery = createdDelivery(task, url, { id: newId('msg'), at: this.#now });
    this.changes.push(['deliveries', this.#state.deliveries.newOrder(), delivery]);
  }

  /** Adds a ledger entry. `account` is the account after the entry. */
  entry(account: Account, entry: Entry): void {
    if (entry.amount === 0) return;
    const id = this.#state.ledger.newOrder();
    const row: LedgerEntry = {
      id,
      accountId: account.id,
      keyId: null,
      taskId: null,
      model: null,
      requests: null,
      note: null,
      at: this.#now,
      available: availableOf(account),
      ...entry,
    };
    this.changes.push(['ledger', id, row]);
  }

  /** Adds a ledger entry for a task. */
  taskEntry(holder: KeyHolder, type: LedgerEntry['type'], amount: number, task: Task): void {
    const { id: taskId, keyId, model } = task;
    this.entry(holder.account, { type, amount, keyId, taskId, model });
  }

  /** Adds to the day's charge for text requests of a key to a model. */
  addToDailyCharge(
    { account, key }: KeyHolder,
    model: string,
    requests: number,
    amount: number,
  ): void {
    const sum = compositeKey(account.id, key.id, model, dayOf(this.#now));
    const order = this.#state.dailyCharge.order(sum);
    if (order === undefined) {
      this.entry(account, { type: 'charge', amount, keyId: key.id, model, ...{ requests } });
      return;
    }
    const row = this.#state.ledger.rows.get(order)!;
    const added: LedgerEntry = {
      ...row,
      amount: row.amount + amount,
      requests: (row.requests ?? 0) + requests,
      at: this.#now,
      available: availableOf(account),
    };
    this.changes.push(['ledger', order, added]);
  }

  /** Adds to the usage of a key by a model on a day. */
  usage(
    { accountId, keyId, scope }: Payer & { readonly scope?: BudgetScope | undefined },
    model: string,
    counts: Partial<UsageCounts>,
    spent: number,
  ): void {
    const day = dayOf(this.#now);
    const teamId = scope?.teamId ?? null;
    const order = this.#state.usageByDay.order(compositeKey(accountId, keyId, teamId, day, model));
    const row = (order !== undefined && this.#state.usage.rows.get(order)) || {
      accountId,
      keyId,
      ...(teamId !== null && { teamId }),
      day,
      model,
      ...NO_USAGE,
      spent: 0,
    };
    const place = order ?? this.#state.usage.newOrder();
    const added = { ...row, ...addCounts(row, counts), spent: row.spent + spent };
    this.changes.push(['usage', place, added]);
  }
}
