import { notEmpty } from '../../errors.ts';
import type { Transfer, TransferRecord } from '../../transfer.ts';
import { bodyOf } from './archive/segment.ts';
import { type ArchivedBody, findArchivedDelivery } from './records/archiver.ts';
import type { LowdbDocuments } from './records/documents.ts';
import type { Records } from './records/records.ts';
import type { Transaction } from './records/transaction.ts';
import { type Change, COLLECTION_OF } from './state/state.ts';

/** Kinds of records whose rows are copied as they are. */
const COPIED = ['account', 'team', 'key', 'window', 'config', 'usage'] as const;

/** Changes that one commit has at most. */
const MAX_CHANGES = 1000;

/** Copies whole stores out of and into memory and archive. */
export class LowdbTransfer implements Transfer {
  readonly #records: Records;
  readonly #documents: LowdbDocuments;

  constructor(records: Records, documents: LowdbDocuments) {
    this.#records = records;
    this.#documents = documents;
  }

  async *read(): AsyncGenerator<TransferRecord> {
    const { state, archive } = this.#records;
    // Of one moment: from here to the first record of the archive nothing else runs.
    const records = [...this.#recordsInMemory()];
    const inMemory = [...state.tasks.rows.keys()]
      .sort((one, other) => one - other)
      .map((order) => ({ order, record: this.#taskInMemory(order) }));
    const archived = archive.allOldestFirst(archive.segments);
    yield* records;
    let next = 0;
    for await (const record of archived) {
      for (; next < inMemory.length && inMemory[next]!.order < record.entry.order; next += 1) {
        yield inMemory[next]!.record;
      }
      yield this.#archivedTask((await bodyOf(record)) as ArchivedBody);
    }
    for (; next < inMemory.length; next += 1) yield inMemory[next]!.record;
    for await (const row of this.#documents.all()) yield { kind: 'document', row };
  }

  *#recordsInMemory(): Generator<TransferRecord> {
    const { state } = this.#records;
    for (const kind of COPIED) {
      const rows = state[COLLECTION_OF[kind]].rows.values();
      for (const row of rows) yield { kind, row } as TransferRecord;
    }
    for (const row of state.ledger.rows.values()) yield { kind: 'ledger', row };
    for (const row of state.assets.rows.values()) {
      if (row.taskId === null) yield { kind: 'upload', row };
    }
  }

  async #archivedTask({ task, assets, delivery }: ArchivedBody): Promise<TransferRecord> {
    const row = task!;
    if (delivery !== null || row.callbackUrl === null) {
      return { kind: 'task', row, assets, delivery };
    }
    // It ended after its task was archived.
    const { state, archive } = this.#records;
    const open = state.deliveryOfTask.get(row.id);
    const ended = open ?? (await findArchivedDelivery(archive, row.id))?.delivery;
    return { kind: 'task', row, assets, delivery: ended ?? null };
  }

  #taskInMemory(order: number): TransferRecord {
    const { tasks, assetsOfTask, deliveryOfTask } = this.#records.state;
    const row = tasks.rows.get(order)!;
    const assets = [...assetsOfTask.oldest(row.id)].map(([, asset]) => asset);
    return { kind: 'task', row, assets, delivery: deliveryOfTask.get(row.id) ?? null };
  }

  async write(records: AsyncIterable<TransferRecord>): Promise<void> {
    const { state, archive } = this.#records;
    const { accounts, tasks, config } = state;
    if (accounts.size + tasks.size + config.size > 0 || archive.segments.length > 0)
      throw notEmpty();
    let transaction = this.#records.begin();
    for await (const record of records) {
      if (record.kind === 'document') await this.#documents.add([record.row]);
      else this.#add(record, transaction);
      if (transaction.changes.length < MAX_CHANGES) continue;
      await this.#records.commit(transaction);
      transaction = this.#records.begin();
    }
    if (transaction.changes.length > 0) await this.#records.commit(transaction);
  }

  #add(
    record: Exclude<TransferRecord, { readonly kind: 'document' }>,
    { changes }: Transaction,
  ): void {
    const { state } = this.#records;
    switch (record.kind) {
      case 'ledger':
        changes.push(['ledger', record.row.id, record.row]);
        break;
      case 'task':
        changes.push(['tasks', state.tasks.newOrder(), record.row]);
        for (const asset of record.assets) {
          changes.push(['assets', state.assets.newOrder(), asset]);
        }
        if (record.delivery) {
          changes.push(['deliveries', state.deliveries.newOrder(), record.delivery]);
        }
        break;
      case 'escrow':
        // Of requests in progress, which end with the process.
        break;
      default: {
        const name = COLLECTION_OF[record.kind];
        changes.push([name, state[name].newOrder(), record.row] as Change);
      }
    }
  }
}
