import {
  checkQuota,
  type Document,
  type DocumentChange,
  type DocumentKey,
  type DocumentKind,
  type DocumentQuota,
  type Documents,
  documentChanged,
  documentExists,
  encodeBody,
  limitedKinds,
  MAX_PAGE_BYTES,
  MAX_SWEPT,
  type NewDocument,
  unknownDocument,
} from '../../document.ts';
import { chargeWork } from '../../operations/tasks.ts';
import type { Connection, Row } from './database/database.ts';
import { decodeText, encodeText } from './database/text.ts';
import { beginCharge, checkOpen, type PostgresParts } from './parts.ts';

type Inserted = NewDocument & Pick<Document, 'createdAt' | 'version'>;

const CURRENT = 'account_id = $1 AND (expires_at IS NULL OR expires_at > $2) AND kind = $3';

/** Documents that all nodes share. */
export function documentTable(parts: PostgresParts): Documents {
  const { database, transactions, balances, scopes, now } = parts;
  const transaction: typeof database.transaction = async (work) => {
    checkOpen(parts);
    return database.transaction(work);
  };
  const read = async (
    { kind, accountId }: Omit<DocumentKey, 'id'>,
    text: string,
    more: unknown[],
  ) => {
    checkOpen(parts);
    return balances.reads.query(accountId, text, [encodeText(accountId), now(), kind, ...more]);
  };

  const rowOf = async (key: DocumentKey) => {
    const text = `SELECT * FROM $schema.documents WHERE ${CURRENT} AND id = $4`;
    return (await read(key, text, [encodeText(key.id)]))[0];
  };
  const newRows = (documents: readonly NewDocument[]) => {
    const createdAt = now();
    return documents.map((document) => ({ ...document, createdAt, version: 1 }));
  };
  return {
    async add(documents, quota) {
      const rows = newRows(documents);
      if (rows.length > 0) {
        await transaction((connection) => insertDocuments(connection, rows, quota));
      }
      return rows;
    },
    async find(key) {
      const row = await rowOf(key);
      return row && documentOf(row);
    },
    async change(document, change: DocumentChange, { charges, added = [], quota } = {}) {
      const changed = { ...document, ...change, version: document.version + 1 };
      const { accountId, kind, id, expiresAt, isOpen, version } = changed;
      const body = encodeBody(changed.body);
      const account = encodeText(accountId);
      const key = [account, kind, encodeText(id)];
      const rows = newRows(added);
      const write = async (connection: Connection) => {
        const [row] = await connection.query<{ version: number; bytes: number; text: string }>(
          `SELECT version, bytes, coalesce(body::text, '') AS text FROM $schema.documents
           WHERE account_id = $1 AND kind = $2 AND id = $3 FOR UPDATE`,
          key,
        );
        // This transaction may run again after its commit, whose answer was lost.
        if (row?.version === version && row.text === body) return;
        if (row?.version !== document.version) throw documentChanged(document);
        const bytes = Buffer.byteLength(body);
        await connection.query(
          `UPDATE $schema.documents SET expires_at = $4, is_open = $5, version = $6, bytes = $7, body = $8
           WHERE account_id = $1 AND kind = $2 AND id = $3`,
          [...key, expiresAt, isOpen, version, bytes, body || null],
        );
        const changes = await insertRows(connection, rows);
        changes.push({ account, kind, count: 0, bytes: bytes - row.bytes });
        checkTotals(await addTotals(connection, changes), rows, quota);
      };
      if (charges) {
        await beginCharge(parts, accountId, charges);
        const charge = chargeWork(accountId, charges, { at: now(), scopes });
        await transactions.run({ ...charge, write });
      } else await transaction(write);
      return changed;
    },
    async remove({ kind, accountId, id }) {
      const condition = 'account_id = $1 AND (kind = $2 AND id = $3 OR parent = $3)';
      const key = [encodeText(accountId), kind, encodeText(id)];
      const gone = await transaction((connection) => deleteWhere(connection, condition, key));
      return gone.some((row) => row.kind === kind && row.id === encodeText(id));
    },
    async list({ parent, limit, after, order = 'asc', ...query }) {
      const [direction, beyond] = order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
      const last = after === undefined ? undefined : await rowOf({ ...query, id: after });
      if (after !== undefined && !last) throw unknownDocument(query.kind, after);
      const start = last?.seq ?? (order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER);
      const rows = await read(
        query,
        `SELECT d.*, total FROM (
           SELECT id, seq, sum(bytes) OVER (ORDER BY seq ${direction}) - bytes AS before, count(*) OVER () AS total
           FROM (
             SELECT id, seq, bytes FROM $schema.documents
             WHERE ${CURRENT} AND seq ${beyond} $4 AND ($5::text IS NULL OR parent = $5)
             ORDER BY seq ${direction} LIMIT $6 + 1) AS listed
         ) AS page JOIN $schema.documents AS d ON d.account_id = $1 AND d.kind = $3 AND d.id = page.id
         WHERE before < ${MAX_PAGE_BYTES} ORDER BY page.seq ${direction} LIMIT $6`,
        [start, parent === undefined ? null : encodeText(parent), limit],
      );
      return {
        documents: rows.map(documentOf),
        hasMore: Number(rows[0]?.total ?? 0) > rows.length,
      };
    },
    async listOpen(kind, limit, except = new Set()) {
      checkOpen(parts);
      const rows = await database.query(
        `SELECT d.* FROM (
           SELECT account_id, id, seq, sum(bytes) OVER (ORDER BY seq) - bytes AS before FROM (
             SELECT account_id, id, seq, bytes FROM $schema.documents
             WHERE is_open AND kind = $1 AND id <> ALL($3::text[]) ORDER BY seq LIMIT $2) AS listed
         ) AS page JOIN $schema.documents AS d
           ON d.account_id = page.account_id AND d.kind = $1 AND d.id = page.id
         WHERE before < ${MAX_PAGE_BYTES} ORDER BY page.seq`,
        [kind, limit, Array.from(except, encodeText)],
      );
      return rows.map(documentOf);
    },
    async usage(kind, accountId) {
      const text =
        'SELECT count, bytes FROM $schema.document_totals WHERE account_id = $1 AND $2::bigint > 0 AND kind = $3';
      const [row] = await read({ kind, accountId }, text, []);
      return (row as unknown as DocumentQuota | undefined) ?? { count: 0, bytes: 0 };
    },
    async sweep() {
      const old = `SELECT account_id, id FROM $schema.documents WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${MAX_SWEPT}`;
      const condition = `(account_id, id) IN (SELECT * FROM old) AND expires_at <= $1 OR (account_id, parent) IN (SELECT * FROM old)`;
      const gone = await transaction((connection) =>
        deleteWhere(connection, condition, [now()], `WITH old AS MATERIALIZED (${old})`),
      );
      return gone.length;
    },
  };
}

/** Inserts documents of one account. @throws Failure `document_exists`, `storage_full` */
export async function insertDocuments(
  connection: Connection,
  documents: readonly Inserted[],
  quota?: DocumentQuota,
): Promise<void> {
  const changes = await insertRows(connection, documents);
  if (changes.length > 0) checkTotals(await addTotals(connection, changes), documents, quota);
}

function checkTotals(
  totals: readonly Total[],
  documents: readonly NewDocument[],
  quota?: DocumentQuota,
): void {
  const limited = limitedKinds(documents);
  for (const row of totals) if (limited.has(row.kind)) checkQuota(row, quota);
}

/** Inserts documents of one account. @returns what they add to the totals; nothing where all were there */
async function insertRows(
  connection: Connection,
  documents: readonly Inserted[],
): Promise<Total[]> {
  const changes: Total[] = [];
  let known = 0;
  for (const document of documents) {
    const { kind, id, parent, createdAt, expiresAt, isOpen, version } = document;
    const body = encodeBody(document.body);
    const account = encodeText(document.accountId);
    const bytes = Buffer.byteLength(body);
    const key = [account, kind, encodeText(id)];
    changes.push({ account, kind, count: 1, bytes });
    const rows = await connection.query(
      `INSERT INTO $schema.documents
         (account_id, kind, id, parent, created_at, expires_at, is_open, version, bytes, body)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING 1`,
      [
        ...[...key, parent && encodeText(parent), createdAt, expiresAt, isOpen, version],
        ...[bytes, body || null],
      ],
    );
    if (rows.length === 1) continue;
    // This transaction may run again after its commit, whose answer was lost.
    const [former] = await connection.query<{ created_at: number; text: string }>(
      `SELECT created_at, coalesce(body::text, '') AS text FROM $schema.documents
       WHERE account_id = $1 AND kind = $2 AND id = $3`,
      key,
    );
    if (former?.created_at !== createdAt || former.text !== body) throw documentExists(document);
    known += 1;
  }
  return known === documents.length ? [] : changes;
}

interface Total extends DocumentQuota {
  /** As the column has it. */
  readonly account: string;
  readonly kind: DocumentKind;
}

/** Adds to the totals in the order of their keys, so that transactions wait for each other in one order. */
function addTotals(connection: Connection, changes: readonly Total[]) {
  return connection.query<Total>(
    `INSERT INTO $schema.document_totals AS t (account_id, kind, count, bytes)
     SELECT account_id, kind, sum(count), sum(bytes)
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS c (account_id, kind, count, bytes)
     GROUP BY account_id, kind ORDER BY account_id, kind
     ON CONFLICT (account_id, kind) DO UPDATE SET
       count = t.count + excluded.count, bytes = t.bytes + excluded.bytes
     RETURNING kind, count, bytes`,
    (['account', 'kind', 'count', 'bytes'] as const).map((name) => changes.map((one) => one[name])),
  );
}

async function deleteWhere(
  connection: Connection,
  condition: string,
  values: readonly unknown[],
  before = '',
) {
  const gone = await connection.query<Total & { readonly id: string }>(
    `${before} DELETE FROM $schema.documents WHERE ${condition}
     RETURNING account_id AS account, kind, id, -1 AS count, -bytes AS bytes`,
    values,
  );
  if (gone.length > 0) await addTotals(connection, gone);
  return gone;
}

export function documentOf(row: Row): Document {
  return {
    kind: row.kind as DocumentKind,
    accountId: decodeText(row.account_id as string),
    id: decodeText(row.id as string),
    parent: row.parent === null ? null : decodeText(row.parent as string),
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number | null,
    isOpen: row.is_open as boolean,
    version: row.version as number,
    body: row.body,
  };
}
