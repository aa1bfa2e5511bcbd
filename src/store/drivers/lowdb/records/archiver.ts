import { rethrowAfter } from '../../../../flow.ts';
import type { Asset, NewAsset } from '../../../asset.ts';
import type { Delivery } from '../../../delivery.ts';
import { assetExists } from '../../../errors.ts';
import { approximateSize, isTerminal, TASK_STATES, TASK_TYPES, type Task } from '../../../task.ts';
import type { Archive } from '../archive/archive.ts';
import { hashOf, NO_TASK } from '../archive/layout.ts';
import type { SegmentRecord } from '../archive/segment.ts';
import type { ArchivedRecord } from '../archive/segment-writer.ts';
import { storeUnavailable } from '../files/errors.ts';
import type { CommitQueue } from '../journal/commit-queue.ts';
import { type Collection, compositeKey, type State } from '../state/state.ts';

/** Maximum records and bytes of one new segment. */
const MAX_RECORDS = 2048;
const MAX_BYTES = 32 * 2 ** 20;

/** Archived task with its assets and delivery, or a delivery that ended after its task was archived. */
export interface ArchivedBody {
  readonly task: Task | null;
  readonly assets: readonly Asset[];
  readonly delivery: Delivery | null;
}

interface Row {
  readonly collection: Collection;
  readonly order: number;
}

/** One record for the archive, with the rows of the state that it replaces. */
interface ArchiveCandidate {
  readonly accountId: string;
  readonly order: number;
  readonly body: ArchivedBody;
  readonly rows: readonly Row[];
}

type ArchiveExtension = Awaited<ReturnType<Archive['extend']>>;

/** Rows that are being moved from the state to the archive. */
export interface ArchiveMove {
  /** Rows that the next checkpoint leaves out of its shards. */
  readonly rows: readonly Row[];
  readonly extension: ArchiveExtension;
  /** Finishes the move once the checkpoint that names the segments is on disk. */
  complete(): void;
  /** Cancels the move because the checkpoint failed. @param inDoubt whether it may be on disk nevertheless */
  cancel(inDoubt: boolean): Promise<void>;
}

/**
 * Moves ended tasks from memory to the archive. A checkpoint writes them into segments, and its list names
 * the segments and the shards without the rows at once, so that after any crash each record is in exactly
 * one place. Ended tasks never change. They are deleted only while no move is in progress.
 */
export class TaskArchiver {
  readonly #state: State;
  readonly #archive: Archive;
  #busy: Promise<void> | null = null;
  #isInDoubt = false;

  constructor(state: State, archive: Archive) {
    this.#state = state;
    this.#archive = archive;
  }

  /** Runs an operation that deletes records, while no move is in progress. */
  async runExclusive<Value>(work: () => Promise<Value>): Promise<Value> {
    while (this.#busy) await this.#busy;
    if (this.#isInDoubt) {
      throw storeUnavailable(new Error('it is not known whether the last checkpoint is on disk'));
    }
    const done = this.#lock();
    try {
      return await work();
    } finally {
      done();
    }
  }

  /**
   * Writes tasks that ended before the current journal started into the archive. Called between two
   * batches, when all synced changes are in earlier journals. Returns null during a deletion.
   */
  startMove(commits: CommitQueue): Promise<ArchiveMove> | null {
    if (this.#busy) return null;
    const done = this.#lock();
    // Selected synchronously: tasks that end from now on are in the new journal.
    return this.#move(this.#select(commits), done);
  }

  async #move(selected: readonly ArchiveCandidate[], done: () => void): Promise<ArchiveMove> {
    const extension = await this.#archive.extend(batchesOf(selected)).catch(rethrowAfter(done));
    const { tombstoneIndex } = this.#state;
    const obsolete = extension.dropped.flatMap((segment) =>
      [...tombstoneIndex.ordersIn(segment)].map(
        (order) => ({ collection: 'forgotten', order }) as const,
      ),
    );
    const rows = [...selected.flatMap((record) => record.rows), ...obsolete];
    return {
      rows,
      extension,
      complete: () => {
        extension.adopt();
        for (const { collection, order } of rows) this.#state.apply([collection, order, null]);
        this.#isInDoubt = false;
        done();
      },
      cancel: async (inDoubt) => {
        // Stays in doubt until a checkpoint is known to be on disk.
        this.#isInDoubt ||= inDoubt;
        await extension.cancel(inDoubt);
        done();
      },
    };
  }

  #lock(): () => void {
    let resolve!: () => void;
    this.#busy = new Promise((done) => {
      resolve = done;
    });
    return () => {
      this.#busy = null;
      resolve();
    };
  }

  #select(commits: CommitQueue): ArchiveCandidate[] {
    const { tasksInState, taskById, assetsOfTask, deliveryOfTask, deliveriesInState } = this.#state;
    const selected: ArchiveCandidate[] = [];
    for (const status of TASK_STATES.filter(isTerminal)) {
      for (const [order] of tasksInState.oldest(status)) {
        const task = commits.durable<Task>('tasks', order);
        if (!task || !isTerminal(task.status)) continue;
        const assets = [...assetsOfTask.oldest(task.id)].filter(
          ([, { input }]) => input !== 'spent',
        );
        const place = deliveryOfTask.order(task.id);
        const delivery =
          place === undefined ? null : commits.durable<Delivery>('deliveries', place);
        const isOver = delivery !== null && delivery.status !== 'pending';
        selected.push({
          accountId: task.accountId,
          order,
          body: {
            task,
            assets: assets.map(([, asset]) => asset),
            delivery: isOver ? delivery : null,
          },
          rows: [
            { collection: 'tasks', order },
            ...assets.map(([asset]) => ({ collection: 'assets', order: asset }) as const),
            ...(isOver ? [{ collection: 'deliveries', order: place! } as const] : []),
          ],
        });
      }
    }
    for (const status of ['delivered', 'failed']) {
      for (const [order, { taskId }] of deliveriesInState.oldest(status)) {
        const delivery = commits.durable<Delivery>('deliveries', order);
        if (!delivery || delivery.status === 'pending' || taskById.get(taskId)) continue;
        const { accountId } = delivery;
        const body = { task: null, assets: [], delivery };
        selected.push({ accountId, order, body, rows: [{ collection: 'deliveries', order }] });
      }
    }
    return selected;
  }
}

/** @throws Failure 409 `asset_exists` if the archive has an asset with the identifier of a new one */
export async function checkAssetIds(archive: Archive, assets: readonly NewAsset[]): Promise<void> {
  for (const { id } of assets) if (await archive.has('asset', id)) throw assetExists(id);
}

interface ArchivedTask {
  readonly record: SegmentRecord;
  readonly body: ArchivedBody & { readonly task: Task };
}

export function findArchivedTask(
  archive: Archive,
  taskId: string,
): Promise<ArchivedTask | undefined> {
  return archive.find('task', taskId, (record, content) => {
    const body = content as ArchivedBody;
    return body.task?.id === taskId ? { record, body: { ...body, task: body.task } } : undefined;
  });
}

/** Finds the delivery of an archived task that ended after the task was archived. */
export function findArchivedDelivery(
  archive: Archive,
  taskId: string,
): Promise<{ readonly record: SegmentRecord; readonly delivery: Delivery } | undefined> {
  return archive.find('task of delivery', taskId, (record, content) => {
    const { delivery } = content as ArchivedBody;
    return delivery?.taskId === taskId ? { record, delivery } : undefined;
  });
}

/** Groups records into segments, each in the order of accounts and of creation. */
function* batchesOf(selected: readonly ArchiveCandidate[]): Generator<Iterable<ArchivedRecord>> {
  let batch: ArchiveCandidate[] = [];
  let bytes = 0;
  for (const record of [...selected].sort(byAccount)) {
    batch.push(record);
    bytes += approximateSize(record.body);
    if (batch.length < MAX_RECORDS && bytes < MAX_BYTES) continue;
    yield recordsOf(batch);
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield recordsOf(batch);
}

/** Serialises records one by one: all of a batch may be many megabytes. */
function* recordsOf(batch: readonly ArchiveCandidate[]): Generator<ArchivedRecord> {
  for (const record of batch) yield recordOf(record);
}

function byAccount(one: ArchiveCandidate, other: ArchiveCandidate): number {
  if (one.accountId !== other.accountId) return one.accountId < other.accountId ? -1 : 1;
  return one.order - other.order;
}

function recordOf({ accountId, order, body: content }: ArchiveCandidate): ArchivedRecord {
  const { task, assets, delivery } = content;
  const body = Buffer.from(JSON.stringify(content));
  return {
    account: accountId,
    order,
    body,
    keys: keysOf(content),
    bytes: assets.reduce((sum, asset) => sum + asset.bytes, body.length),
    endedAt: task ? task.updatedAt : delivery!.createdAt,
    status: task ? TASK_STATES.indexOf(task.status) : NO_TASK,
    type: task ? TASK_TYPES.indexOf(task.type) : NO_TASK,
  };
}

/** Hashes of the keys of an archived body. */
export function keysOf(content: unknown): readonly Buffer[] {
  const { task, assets, delivery } = content as ArchivedBody;
  const keys = assets.map(({ id }) => hashOf('asset', id));
  if (delivery) keys.push(hashOf('delivery', delivery.id));
  if (task) {
    keys.push(hashOf('task', task.id));
    const { idempotency } = task;
    if (idempotency)
      keys.push(hashOf('idempotency', compositeKey(task.accountId, idempotency.key)));
  } else if (delivery) {
    keys.push(hashOf('task of delivery', delivery.taskId));
  }
  return keys;
}
