import { notEmpty } from '../../errors.ts';
import type { Transfer, TransferRecord } from '../../transfer.ts';
import { bodyOf } from './archive/segment.ts';
import { type ArchivedBody, findArchivedDelivery } from './records/archiver.ts';
import type { LowdbDocuments } from './records/documents.ts';
import type { Records } from './records/records.ts';
import { type Change, COLLECTION_OF, type Collection, type State } from './state/state.ts';

/** Kinds of records whose rows are copied as they are. */
const COPIED = ['account', 'team', 'key', 'window', 'config', 'usage'] as const;

/** Changes that one commit has at most. */
const MAX_CHANGES = 1000;

/** Copies whole stores out of and into memory and archive. */
export function lowdbTransfer(records: Records, documents: LowdbDocuments): Transfer {
  const { archive } = records;

  function* recordsInMemory(state: State): Generator<TransferRecord> {
    for (const kind of COPIED) {
      const rows = state[COLLECTION_OF[kind]].rows.values();
      for (const row of rows) yield { kind, row } as TransferRecord;
    }
    for (const row of state.ledger.rows.values()) yield { kind: 'ledger', row };
    for (const row of state.assets.rows.values()) {
      if (row.taskId === null) yield { kind: 'upload', row };
    }
  }

  function taskInMemory({ tasks, assetsOfTask, deliveryOfTask }: State, order: number) {
    const row = tasks.rows.get(order)!;
    const assets = Array.from(assetsOfTask.oldest(row.id), ([, asset]) => asset);
    const delivery = deliveryOfTask.get(row.id) ?? null;
    return { order, record: { kind: 'task', row, assets, delivery } as const };
  }

  async function archivedTask({ task, assets, delivery }: ArchivedBody): Promise<TransferRecord> {
    const row = task!;
    if (delivery !== null || row.callbackUrl === null) {
      return { kind: 'task', row, assets, delivery };
    }
    // It ended after its task was archived.
    const open = records.state.deliveryOfTask.get(row.id);
    const ended = open ?? (await findArchivedDelivery(archive, row.id))?.delivery;
    return { kind: 'task', row, assets, delivery: ended ?? null };
  }

  return {
    async *read() {
      const { state } = records;
      // Of one moment: from here to the first record of the archive nothing else runs.
      const others = [...recordsInMemory(state)];
      const inMemory = [...state.tasks.rows.keys()]
        .sort((one, other) => one - other)
        .map((order) => taskInMemory(state, order));
      const archived = archive.allOldestFirst(archive.segments);
      yield* others;
      let next = 0;
      for await (const record of archived) {
        for (; next < inMemory.length && inMemory[next]!.order < record.entry.order; next += 1) {
          yield inMemory[next]!.record;
        }
        yield archivedTask((await bodyOf(record)) as ArchivedBody);
      }
      for (; next < inMemory.length; next += 1) yield inMemory[next]!.record;
      for await (const row of documents.all()) yield { kind: 'document', row };
    },
    async write(copied) {
      const { state } = records;
      const { accounts, tasks, config } = state;
      if (accounts.size + tasks.size + config.size > 0 || archive.segments.length > 0)
        throw notEmpty();
      let transaction = records.begin();
      for await (const record of copied) {
        if (record.kind === 'document') await documents.add([record.row]);
        else transaction.changes.push(...changesOf(record, state));
        if (transaction.changes.length < MAX_CHANGES) continue;
        await records.commit(transaction);
        transaction = records.begin();
      }
      if (transaction.changes.length > 0) await records.commit(transaction);
    },
  };
}

/** The changes that add a record. */
function changesOf(
  record: Exclude<TransferRecord, { readonly kind: 'document' }>,
  state: State,
): Change[] {
  const added = (name: Exclude<Collection, 'ledger'>, row: object) =>
    [name, state[name].newOrder(), row] as unknown as Change;
  switch (record.kind) {
    case 'ledger':
      return [['ledger', record.row.id, record.row]];
    case 'task':
      return [
        added('tasks', record.row),
        ...record.assets.map((asset) => added('assets', asset)),
        ...(record.delivery ? [added('deliveries', record.delivery)] : []),
      ];
    case 'escrow':
      // Of requests in progress, which end with the process.
      return [];
    default:
      return [added(COLLECTION_OF[record.kind], record.row)];
  }
}
