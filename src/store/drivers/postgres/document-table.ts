import {
  checkQuota,
  type Document,
  type DocumentChange,
  type DocumentKind,
  type DocumentQuota,
  type Documents,
  documentChanged,
  documentExists,
  encodeBody,
  MAX_PAGE_BYTES,
  MAX_SWEPT,
  type NewDocument,
  unknownDocument,
} from '../../document.ts';
import type { Connection, Row } from './database/database.ts';
import { decodeText, encodeText } from './database/text.ts';
import { checkOpen, type PostgresParts } from './parts.ts';

type Inserted = NewDocument & Pick<Document, 'createdAt' | 'version'>;

/** Documents that all nodes share. */
export function documentTable(parts: PostgresParts): Documents {
  const { database, balances, now } = parts;
  const isCurrent = '(expires_at IS NULL OR expires_at > $2)';
  return {
    async add(documents, quota) {
      checkOpen(parts);
      const createdAt = now();
      const rows = documents.map((document) => ({ ...document, createdAt, version: 1 }));
      if (rows.length === 0) return [];
      await database.transaction((connection) => insertDocuments(connection, rows, quota));
      return rows;
    },
    async find({ kind, accountId, id }) {
      checkOpen(parts);
      const [row] = await balances.reads.query(
        accountId,
        `SELECT * FROM $schema.documents WHERE account_id = $1 AND ${isCurrent} AND kind = $3 AND id = $4`,
        [encodeText(accountId), now(), kind, encodeText(id)],
      );
      return row && documentOf(row);
    },
    async change(document, change: DocumentChange) {
      checkOpen(parts);
      const changed = { ...document, ...change, version: document.version + 1 };
      const { accountId, kind, id, expiresAt, isOpen, version } = changed;
      const body = encodeBody(changed.body);
      const key = [encodeText(accountId), kind, encodeText(id)];
      await database.transaction(async (connection) => {
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
        await addTotals(connection, [{ accountId, kind, count: 0, bytes: bytes - row.bytes }]);
      });
      return changed;
    },
    async remove({ kind, accountId, id }) {
      checkOpen(parts);
      const gone = await database.transaction((connection) =>
        deleteWhere(connection, 'account_id = $1 AND (kind = $2 AND id = $3 OR parent = $3)', [
          encodeText(accountId),
          kind,
          encodeText(id),
        ]),
      );
      return gone.some((row) => row.kind === kind && row.id === encodeText(id));
    },
    async list({ kind, accountId, parent, limit, after, order = 'asc' }) {
      checkOpen(parts);
      const account = encodeText(accountId);
      let start = order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER;
      if (after !== undefined) {
        const [last] = await balances.reads.query<{ seq: number }>(
          accountId,
          `SELECT seq FROM $schema.documents WHERE account_id = $1 AND ${isCurrent} AND kind = $3 AND id = $4`,
          [account, now(), kind, encodeText(after)],
        );
        if (last === undefined) throw unknownDocument(kind, after);
        start = last.seq;
      }
      const direction = order === 'asc' ? 'ASC' : 'DESC';
      const values = [
        account,
        now(),
        kind,
        start,
        parent === undefined ? null : encodeText(parent),
      ];
      const rows = await balances.reads.query(
        accountId,
        `SELECT * FROM (
           SELECT id, seq, sum(bytes) OVER (ORDER BY seq ${direction}) - bytes AS before FROM (
             SELECT id, seq, bytes FROM $schema.documents
             WHERE account_id = $1 AND ${isCurrent} AND kind = $3 AND seq ${order === 'asc' ? '>' : '<'} $4
               AND ($5::text IS NULL OR parent = $5)
             ORDER BY seq ${direction} LIMIT $6) AS listed
         ) AS page JOIN $schema.documents AS d ON d.account_id = $1 AND d.kind = $3 AND d.id = page.id
         WHERE page.before < ${MAX_PAGE_BYTES} ORDER BY page.seq ${direction}`,
        [...values, limit + 1],
      );
      const documents = rows.slice(0, limit).map(documentOf);
      if (rows.length > limit || documents.length === 0)
        return { documents, hasMore: rows.length > limit };
      const [next] = await balances.reads.query(
        accountId,
        `SELECT 1 FROM $schema.documents WHERE account_id = $1 AND ${isCurrent} AND kind = $3
           AND seq ${order === 'asc' ? '>' : '<'} $4 AND ($5::text IS NULL OR parent = $5) LIMIT 1`,
        [...values.slice(0, 3), rows.at(-1)!.seq, values[4]],
      );
      return { documents, hasMore: next !== undefined };
    },
    async listOpen(kind, limit) {
      checkOpen(parts);
      const rows = await database.query(
        'SELECT * FROM $schema.documents WHERE is_open AND kind = $1 ORDER BY seq LIMIT $2',
        [kind, limit],
      );
      return rows.map(documentOf);
    },
    async usage(kind, accountId) {
      checkOpen(parts);
      const [row] = await database.query<DocumentQuota>(
        'SELECT count, bytes FROM $schema.document_totals WHERE account_id = $1 AND kind = $2',
        [encodeText(accountId), kind],
      );
      return row ?? { count: 0, bytes: 0 };
    },
    async sweep() {
      checkOpen(parts);
      const gone = await database.transaction((connection) =>
        deleteWhere(
          connection,
          `ctid IN (SELECT ctid FROM $schema.documents WHERE expires_at <= $1
             ORDER BY expires_at LIMIT ${MAX_SWEPT})`,
          [now()],
        ),
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
  const { accountId, kind } = documents[0]!;
  const bodies = documents.map(({ body }) => encodeBody(body));
  const known: Inserted[] = [];
  for (const [index, document] of documents.entries()) {
    const { id, parent, createdAt, expiresAt, isOpen, version } = document;
    const body = bodies[index]!;
    const key = [encodeText(accountId), document.kind, encodeText(id)];
    const rows = await connection.query(
      `INSERT INTO $schema.documents
         (account_id, kind, id, parent, created_at, expires_at, is_open, version, bytes, body)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING 1`,
      [
        ...[...key, parent && encodeText(parent), createdAt, expiresAt, isOpen, version],
        ...[Buffer.byteLength(body), body || null],
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
    known.push(document);
  }
  if (known.length === documents.length) return;
  const totals = await addTotals(
    connection,
    documents.map((document, index) => ({
      ...{ accountId, kind: document.kind, count: 1 },
      bytes: Buffer.byteLength(bodies[index]!),
    })),
  );
  checkQuota(totals.find((row) => row.kind === kind)!, quota);
}

interface Total extends DocumentQuota {
  readonly accountId: string;
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
    [
      changes.map(({ accountId }) => encodeText(accountId)),
      ...(['kind', 'count', 'bytes'] as const).map((name) => changes.map((one) => one[name])),
    ],
  );
}

async function deleteWhere(connection: Connection, condition: string, values: readonly unknown[]) {
  const gone = await connection.query<Row & { readonly kind: DocumentKind }>(
    `DELETE FROM $schema.documents WHERE ${condition} RETURNING account_id, kind, id, bytes`,
    values,
  );
  if (gone.length > 0) {
    await addTotals(
      connection,
      gone.map(({ account_id, kind, bytes }) => ({
        ...{ accountId: decodeText(String(account_id)), kind, count: -1, bytes: -Number(bytes) },
      })),
    );
  }
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
