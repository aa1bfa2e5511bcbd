import { groupBy } from '../../../maps.ts';
import { notEmpty } from '../../errors.ts';
import { type LedgerEntry, NO_USAGE, type UsageRow } from '../../ledger.ts';
import { TASK_STATES } from '../../task.ts';
import type { Transfer, TransferRecord } from '../../transfer.ts';
import { readEntries, writeEntry } from './config-store.ts';
import { BEGIN, type Connection, type Row } from './database/database.ts';
import { documentOf, insertDocuments } from './document-table.ts';
import type { PostgresParts } from './parts.ts';
import { tasksIn } from './readers/reader.ts';
import { Batch } from './transactions/batch.ts';
import { ACCOUNTS, DELIVERIES, ESCROWS, KEYS, TASKS, TEAMS, WINDOWS } from './transactions/rows.ts';
import { ASSETS, entryOf, insertCopiedEntries, usageOf } from './transactions/sums.ts';

/** Rows that one query reads or writes. */
const PAGE = 500;

const TASKS_IN_ORDER = tasksIn(TASK_STATES, 'seq > $1', `ORDER BY seq LIMIT ${PAGE}`);

/** Copies whole stores out of and into a schema. */
export function postgresTransfer({ database, escrows }: PostgresParts): Transfer {
  return {
    async *read() {
      // Books what this process holds in memory.
      await escrows.flush();
      const snapshot = await database.openSnapshot();
      try {
        yield* recordsOf(snapshot);
      } finally {
        await snapshot.end();
      }
    },
    async write(records) {
      // One transaction: of an interrupted copy nothing stays.
      await database.once(async (connection) => {
        await connection.query(BEGIN);
        await connection.query('SET LOCAL statement_timeout = 0');
        await connection.query('SET LOCAL idle_in_transaction_session_timeout = 0');
        await connection.query('LOCK TABLE $schema.accounts IN EXCLUSIVE MODE');
        const rows = await connection.query(
          'SELECT id FROM $schema.accounts UNION ALL SELECT name FROM $schema.config_entries LIMIT 1',
        );
        if (rows.length > 0) throw notEmpty();
        const copy = new Copy(connection);
        for await (const record of records) await copy.add(record);
        await copy.finish();
        await connection.query('COMMIT');
      });
    },
  };
}

async function* recordsOf(connection: Connection): AsyncGenerator<TransferRecord> {
  for await (const row of rowsOf(connection, 'accounts')) {
    yield { kind: 'account', row: ACCOUNTS.read(row).account };
  }
  for await (const row of rowsOf(connection, 'teams')) yield { kind: 'team', row: TEAMS.read(row) };
  for await (const row of rowsOf(connection, 'keys')) yield { kind: 'key', row: KEYS.read(row) };
  for await (const row of rowsOf(connection, 'windows')) {
    yield { kind: 'window', row: WINDOWS.read(row) };
  }
  for (const row of await readEntries(connection)) yield { kind: 'config', row };
  for (const table of ['usage', 'tagged_usage']) {
    for await (const row of rowsOf(connection, table)) yield { kind: 'usage', row: usageOf(row) };
  }
  for await (const row of rowsOf(connection, 'ledger', 'id')) {
    yield { kind: 'ledger', row: entryOf(row) };
  }
  for await (const row of rowsOf(connection, 'assets')) {
    if (row.task_id === null) yield { kind: 'upload', row: ASSETS.read(row) };
  }
  for (const row of await connection.query('SELECT * FROM $schema.escrows')) {
    const { accountId, keyId, scope, amount } = ESCROWS.read(row);
    yield { kind: 'escrow', payer: { accountId, keyId, ...(scope && { scope }) }, amount };
  }
  yield* tasksOf(connection);
  // Few at once: a body may have many megabytes.
  for await (const page of pagesOf(connection, '$schema.documents', 'seq', 20)) {
    for (const row of page) yield { kind: 'document', row: documentOf(row) };
  }
}

async function* tasksOf(connection: Connection): AsyncGenerator<TransferRecord> {
  for await (const page of pagesOf(connection, TASKS_IN_ORDER, 'seq')) {
    const ids = [page.map(({ id }) => id)];
    const assets = await connection.query(
      'SELECT * FROM $schema.assets WHERE task_id = ANY($1::text[]) ORDER BY seq',
      ids,
    );
    const deliveries = await connection.query(
      'SELECT * FROM $schema.deliveries WHERE task_id = ANY($1::text[])',
      ids,
    );
    const assetsOfTask = groupBy(assets.map(ASSETS.read), ({ taskId }) => taskId!);
    const deliveryOfTask = new Map(
      deliveries.map((row) => [row.task_id, DELIVERIES.read(row).delivery]),
    );
    for (const row of page) {
      const task = TASKS.read(row);
      yield {
        kind: 'task',
        row: task,
        assets: assetsOfTask.get(task.id) ?? [],
        delivery: deliveryOfTask.get(task.id) ?? null,
      };
    }
  }
}

async function* rowsOf(connection: Connection, table: string, order = 'seq'): AsyncGenerator<Row> {
  for await (const page of pagesOf(connection, `$schema.${table}`, order)) yield* page;
}

async function* pagesOf(
  connection: Connection,
  table: string,
  order: string,
  limit = PAGE,
): AsyncGenerator<readonly Row[]> {
  let last: unknown = 0;
  for (;;) {
    const page = await connection.query(
      `SELECT * FROM ${table} WHERE ${order} > $1 ORDER BY ${order} LIMIT ${limit}`,
      [last],
    );
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = page.at(-1)![order];
  }
}

/** Rows on their way into a schema. */
class Copy {
  readonly #connection: Connection;
  #batch = new Batch();
  #entries: LedgerEntry[] = [];
  #size = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async add(record: TransferRecord): Promise<void> {
    if (record.kind === 'config') await writeEntry(this.#connection, record.row);
    else if (record.kind === 'document') await insertDocuments(this.#connection, [record.row]);
    else if (record.kind === 'ledger') this.#entries.push(record.row);
    // Escrows are those of requests in progress, which end with the process.
    else if (record.kind !== 'escrow') this.#batch.run((batch) => putRecord(batch, record));
    this.#size += 1;
    if (this.#size >= PAGE) await this.#flush();
  }

  async finish(): Promise<void> {
    await this.#flush();
    await this.#connection.query(
      `SELECT setval(pg_get_serial_sequence('$schema.ledger', 'id'), max(id)) FROM $schema.ledger`,
    );
  }

  async #flush(): Promise<void> {
    const statements = this.#batch.statements();
    if (this.#entries.length > 0) statements.push(insertCopiedEntries(this.#entries));
    for (const { text, values } of statements) await this.#connection.query(text, values);
    const { accounts } = this.#batch;
    accounts.written();
    this.#batch = new Batch(accounts);
    this.#entries = [];
    this.#size = 0;
  }
}

function putRecord(
  batch: Batch,
  record: Exclude<TransferRecord, { readonly kind: 'ledger' | 'config' | 'document' | 'escrow' }>,
): void {
  switch (record.kind) {
    case 'usage':
      batch.usage.push(usageAddition(record.row));
      break;
    case 'upload':
      batch.addAsset(record.row);
      break;
    case 'task':
      batch.put('task', record.row);
      for (const asset of record.assets) batch.addAsset(asset);
      if (record.delivery) batch.put('delivery', record.delivery);
      break;
    default:
      batch.put(record.kind, record.row);
  }
}

function usageAddition({ keyId, teamId, tags, ...row }: UsageRow) {
  return { ...NO_USAGE, ...row, keyId: keyId ?? '', teamId: teamId ?? null, tags: tags ?? '' };
}
