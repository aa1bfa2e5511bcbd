import type { Account, ApiKey, Team } from '../../../account.ts';
import type { Asset } from '../../../asset.ts';
import type { BudgetWindow } from '../../../budgets.ts';
import { accountExists, assetExists, keyExists, teamExists } from '../../../errors.ts';
import type { ActiveReservations } from '../../../funds.ts';
import { addCounts, NO_USAGE, utcDayOf } from '../../../ledger.ts';
import {
  type AccountUse,
  type NewEntry,
  type RecordKind,
  type RecordsByKind,
  UnitOfWork,
  type UsageAddition,
} from '../../../operations/unit-of-work.ts';
import type { Task } from '../../../task.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import { type Change, COLLECTION_OF, compositeKey, type State } from '../state/state.ts';

/** Changes of one method, built from the records as they are before them. */
export class Transaction extends UnitOfWork {
  readonly changes: Change[] = [];
  readonly held: ActiveReservations;
  readonly #state: State;

  constructor(state: State, held: ActiveReservations) {
    super();
    this.#state = state;
    this.held = held;
  }

  find<Kind extends RecordKind>(kind: Kind, id: string): RecordsByKind[Kind] | undefined {
    return this.#state.byId[kind].get(id) as RecordsByKind[Kind] | undefined;
  }

  findTaskByIdempotencyKey(accountId: string, key: string): Task | undefined {
    return this.#state.taskByIdempotency.get(compositeKey(accountId, key));
  }

  *keysOfTeam({ id, accountId }: Team): Generator<ApiKey> {
    for (const [, key] of this.#state.keysOfAccount.oldest(accountId)) {
      if (key.teamId === id) yield key;
    }
  }

  useOf(accountId: string): AccountUse {
    const { id } = this.get('account', accountId);
    const { openTaskCounts, openRequestBytes, storedBytes } = this.#state;
    return {
      openTasks: openTaskCounts.of(id),
      requestBytes: openRequestBytes.of(id),
      storedBytes: storedBytes.of(id),
    };
  }

  protected windowsLike({ holderId, period }: BudgetWindow): readonly BudgetWindow[] {
    const group = this.#state.windowsOfHolder.oldest(compositeKey(holderId, period));
    return Array.from(group, ([, window]) => window);
  }

  put<Kind extends RecordKind>(kind: Kind, record: RecordsByKind[Kind]): void {
    const order = this.#state.byId[kind].order(record.id);
    this.#checkUnique(kind, record as never, order);
    const name = COLLECTION_OF[kind];
    this.changes.push([name, order ?? this.#state[name].newOrder(), record] as unknown as Change);
  }

  #checkUnique(kind: RecordKind, record: Account & ApiKey & Team, own: number | undefined): void {
    const { accountByName, keyByHash, teamByName } = this.#state;
    const { name, hash, accountId, removedAt } = record;
    const isTaken = (order: number | undefined) => order !== undefined && order !== own;
    if (kind === 'account' && isTaken(accountByName.order(name))) throw accountExists(name);
    if (kind === 'key' && isTaken(keyByHash.order(hash))) throw keyExists();
    // The end of a request may charge a removed team, whose name another has since.
    if (kind !== 'team' || removedAt !== null) return;
    if (isTaken(teamByName.order(compositeKey(accountId, name)))) throw teamExists(name);
  }

  protected removeWindow(id: string): void {
    this.changes.push(['windows', this.#state.windowById.order(id)!, null]);
  }

  addAsset(asset: Asset): void {
    if (this.#state.assetById.get(asset.id)) throw assetExists(asset.id);
    this.changes.push(['assets', this.#state.assets.newOrder(), asset]);
  }

  spendInputs(taskId: string): void {
    for (const [order, asset] of this.#state.assetsOfTask.oldest(taskId)) {
      // Inputs of version 1 have no such field, and stay as long as their task.
      if (asset.input) this.changes.push(['assets', order, { ...asset, input: 'spent' }]);
    }
  }

  revise(): void {}

  /** Marks an archived record as deleted. */
  tombstone({ segment, index, entry }: SegmentRecord): void {
    const { status, bytes } = entry;
    const accountId = segment.accountOf(entry);
    const row = { segment: segment.number, index, accountId, status, bytes };
    this.changes.push(['forgotten', this.#state.forgotten.newOrder(), row]);
  }

  protected addEntry(entry: NewEntry): void {
    const id = this.#state.ledger.newOrder();
    this.changes.push(['ledger', id, { id, ...entry }]);
  }

  protected addDailyCharge(entry: NewEntry): void {
    const { accountId, keyId, model, at, available } = entry;
    const { dailyCharge, ledger } = this.#state;
    const order = dailyCharge.order(compositeKey(accountId, keyId, model, utcDayOf(at)));
    if (order === undefined) {
      this.addEntry(entry);
      return;
    }
    const row = ledger.rows.get(order)!;
    const amount = row.amount + entry.amount;
    const requests = (row.requests ?? 0) + entry.requests!;
    this.changes.push(['ledger', order, { ...row, amount, requests, at, available }]);
  }

  protected addUsageRow({ counts, spent, ...use }: UsageAddition): void {
    const { accountId, keyId, teamId, day, model } = use;
    const { usageByDay, usage } = this.#state;
    const tags = this.#state.admittedTags(accountId, day, use.tags);
    const order = usageByDay.order(compositeKey(accountId, keyId, teamId, day, model, tags));
    const row = (order !== undefined && usage.rows.get(order)) || {
      ...{ accountId, keyId, day, model, ...NO_USAGE, spent: 0 },
      ...(teamId !== null && { teamId }),
      ...(tags !== '' && { tags }),
    };
    const added = { ...row, ...addCounts(row, counts), spent: row.spent + spent };
    this.changes.push(['usage', order ?? usage.newOrder(), added]);
  }
}
