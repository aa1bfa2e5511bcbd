import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Failure } from '../../../../failure.ts';
import {
  checkQuota,
  type Document,
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
  type WithChange,
} from '../../../document.ts';
import { isMissing, makeFolder, namesIn, remove, writeDurably } from '../../../files.ts';
import { chargeWork } from '../../../operations/tasks.ts';
import { storeUnavailable } from '../files/errors.ts';
import type { Place } from '../files/place.ts';
import { compositeKey, type DocumentRow } from '../state/state.ts';
import type { Records } from './records.ts';
import type { Transaction } from './transaction.ts';

/**
 * Milliseconds for which a file stays that a change has replaced: a backup may have a snapshot of the rows that name it,
 * and not yet the file.
 */
const KEEP_REPLACED_MS = 30_000;

/** A copy of a store keeps the times and the versions. */
type Added = NewDocument & Partial<Pick<Document, 'createdAt' | 'version'>>;

const keyOf = ({ accountId, kind, id }: DocumentKey) => compositeKey(accountId, kind, id);

/** Documents, whose bodies are files that never change. */
export class LowdbDocuments implements Documents {
  readonly #records: Records;
  readonly #place: Place;
  /** Names of files whose rows are not written yet. */
  readonly #new = new Set<string>();
  /** Files that changes have replaced, oldest first. */
  #replaced: { readonly row: DocumentRow; readonly at: number }[] = [];

  constructor(records: Records, place: Place) {
    this.#records = records;
    this.#place = place;
  }

  async add(documents: readonly Added[], quota?: Parameters<Documents['add']>[1]) {
    if (documents.length === 0) return [];
    const { rows, insert } = await this.#newRows(documents, quota);
    await this.#commit(rows, insert);
    return rows.map((row, index) => documentOf(row, documents[index]!.body));
  }

  /** Writes the bodies of new documents, whose rows a transaction then checks and inserts. */
  async #newRows(documents: readonly Added[], quota?: DocumentQuota) {
    const { state, now } = this.#records;
    const check = (rows: readonly DocumentRow[]) => {
      const known = documents.find((one) => state.documentByKey.get(keyOf(one)));
      if (known) throw documentExists(known);
      for (const kind of limitedKinds(documents)) {
        const used = this.#usage(kind, documents[0]!.accountId);
        const count = used.count + documents.filter((one) => one.kind === kind).length;
        const own = rows.filter((row) => row.kind === kind);
        checkQuota(
          { count, bytes: own.reduce((sum, { bytes }) => sum + bytes, used.bytes) },
          quota,
        );
      }
    };
    check([]);
    const at = now();
    const rows = await Promise.all(
      documents.map(async ({ body, ...document }) => {
        return { createdAt: at, version: 1, ...document, ...(await this.#write(body)) };
      }),
    );
    const insert = () => {
      check(rows);
      return rows.map((row) => [state.documents.newOrder(), row] as const);
    };
    return { rows, insert };
  }

  async find(key: DocumentKey): Promise<Document | undefined> {
    const { state, now } = this.#records;
    const row = await this.#records.readRows(() => state.documentByKey.get(keyOf(key)));
    return row && !isExpired(row, now()) ? this.#read(row) : undefined;
  }

  async change(
    { body, ...document }: Document,
    change: Parameters<Documents['change']>[1],
    { charges, added = [], quota }: WithChange = {},
  ) {
    const { state, scopes, now } = this.#records;
    const { documentByKey } = state;
    const { accountId } = document;
    const changed = { ...document, body, ...change, version: document.version + 1 };
    const { body: next, ...rest } = changed;
    const { rows, insert } = await this.#newRows(added, quota);
    const row: DocumentRow = { ...rest, ...(await this.#write(next)) };
    let former: DocumentRow | undefined;
    await this.#commit([row, ...rows], (transaction) => {
      former = documentByKey.get(keyOf(document));
      if (former?.version !== document.version) throw documentChanged(document);
      const inserted = insert();
      if (charges) {
        this.#records.beginCharge(accountId, charges);
        chargeWork(accountId, charges, { at: now(), scopes }).apply(transaction);
      }
      return [[documentByKey.order(keyOf(document))!, row], ...inserted];
    });
    if (former!.file !== null) this.#replaced.push({ row: former!, at: Date.now() });
    await this.#removeReplaced(({ at }) => at <= Date.now() - KEEP_REPLACED_MS);
    return changed;
  }

  async remove(key: DocumentKey): Promise<boolean> {
    const { state, now } = this.#records;
    const order = state.documentByKey.order(keyOf(key));
    const row = state.documentByKey.get(keyOf(key));
    if (order === undefined || !row) return false;
    await this.#delete([[order, row], ...this.#partsOf(row)]);
    return !isExpired(row, now());
  }

  async list({
    kind,
    accountId,
    parent,
    limit,
    after,
    order = 'asc',
  }: Parameters<Documents['list']>[0]) {
    const { state, now } = this.#records;
    const rows = await this.#records.readRows(() => {
      const all =
        parent === undefined
          ? state.documentsOfKind.oldest(compositeKey(accountId, kind))
          : state.partsOfDocument.oldest(compositeKey(accountId, parent));
      const found = Array.from(all, ([, row]) => row);
      return found.filter((row) => row.kind === kind && !isExpired(row, now()));
    });
    if (order === 'desc') rows.reverse();
    const start = after === undefined ? 0 : rows.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && start === 0) throw unknownDocument(kind, after);
    const page = rows.slice(start);
    const { documents, read } = await this.#readPage(page, limit);
    return { documents, hasMore: read < page.length };
  }

  /** Bodies up to a number, and up to the bytes of a page. */
  async #readPage(rows: readonly DocumentRow[], limit: number) {
    const documents: Document[] = [];
    let [read, bytes] = [0, 0];
    for (; read < rows.length && documents.length < limit; read += 1) {
      bytes += rows[read]!.bytes;
      if (bytes > MAX_PAGE_BYTES && documents.length > 0) break;
      const document = await this.#read(rows[read]!);
      if (document) documents.push(document);
    }
    return { documents, read };
  }

  async listOpen(kind: DocumentKind, limit: number, except: ReadonlySet<string> = new Set()) {
    const { openDocuments } = this.#records.state;
    const rows = await this.#records.readRows(() => {
      return Array.from(openDocuments.oldest(kind), ([, row]) => row);
    });
    const { documents } = await this.#readPage(
      rows.filter(({ id }) => !except.has(id)),
      limit,
    );
    return documents;
  }

  async usage(kind: DocumentKind, accountId: string) {
    return this.#usage(kind, accountId);
  }

  async sweep(): Promise<number> {
    const { state, now } = this.#records;
    const { files, documents: folder } = this.#place;
    const old = [...state.documents.rows].filter(([, row]) => isExpired(row, now()));
    const swept = old.slice(0, MAX_SWEPT);
    await this.#delete([...new Map(swept.flatMap((row) => [row, ...this.#partsOf(row[1])]))]);
    await this.#removeReplaced(({ at }) => at <= Date.now() - KEEP_REPLACED_MS);
    const names = await namesIn(files, folder);
    const rows = [...state.documents.rows.values(), ...this.#replaced.map(({ row }) => row)];
    const known = new Set(rows.map(({ file }) => file));
    // Left by a crash. They are chosen at once, since further files get their rows meanwhile.
    const left = names.filter((name) => {
      const own = name.replace(/\.new$/, '');
      return !known.has(own) && !this.#new.has(own);
    });
    for (const name of left) await remove(files, join(folder, name));
    return swept.length;
  }

  /** Removes rows without a file: in a restored backup, those of documents that were deleted while it was made. */
  async removeLost(): Promise<void> {
    const { files, documents } = this.#place;
    const names = new Set(await namesIn(files, documents));
    const { rows } = this.#records.state.documents;
    await this.#delete([...rows].filter(([, { file }]) => file !== null && !names.has(file)));
  }

  async *all(): AsyncGenerator<Document> {
    for (const row of [...this.#records.state.documents.rows.values()]) {
      const document = await this.#read(row);
      if (document) yield document;
    }
  }

  #partsOf({ accountId, id }: DocumentRow) {
    return this.#records.state.partsOfDocument.oldest(compositeKey(accountId, id));
  }

  #usage(kind: DocumentKind, accountId: string) {
    const { documentCounts, documentBytes } = this.#records.state;
    const name = compositeKey(accountId, kind);
    return { count: documentCounts.of(name), bytes: documentBytes.of(name) };
  }

  /** Writes a body to a file. */
  async #write(body: unknown): Promise<Pick<DocumentRow, 'file' | 'bytes'>> {
    this.#records.checkOpen();
    const text = encodeBody(body);
    if (text === '') return { file: null, bytes: 0 };
    const { files, documents: folder } = this.#place;
    const [file, bytes] = [randomUUID(), Buffer.from(text)];
    this.#new.add(file);
    try {
      await makeFolder(files, folder);
      await writeDurably(files, join(folder, file), bytes);
    } catch (error) {
      this.#new.delete(file);
      throw storeUnavailable(error);
    }
    return { file, bytes: bytes.length };
  }

  /** Commits rows whose files are written; removes the files where that fails. */
  async #commit(
    rows: readonly DocumentRow[],
    change: (transaction: Transaction) => readonly (readonly [order: number, row: DocumentRow])[],
  ): Promise<void> {
    try {
      await this.#records.change((transaction) => {
        for (const [order, row] of change(transaction))
          transaction.changes.push(['documents', order, row]);
      });
    } catch (error) {
      await this.#remove(rows);
      throw error;
    } finally {
      for (const { file } of rows) if (file !== null) this.#new.delete(file);
    }
  }

  async #delete(rows: readonly (readonly [order: number, row: DocumentRow])[]): Promise<void> {
    await this.#records.change(({ changes }) => {
      for (const [order] of rows) changes.push(['documents', order, null]);
    });
    const keys = new Set(rows.map(([, row]) => keyOf(row)));
    await this.#remove(rows.map(([, row]) => row));
    await this.#removeReplaced(({ row }) => keys.has(keyOf(row)));
  }

  async #removeReplaced(
    isDue: (one: { readonly row: DocumentRow; readonly at: number }) => boolean,
  ) {
    const due = this.#replaced.filter(isDue);
    if (due.length === 0) return;
    this.#replaced = this.#replaced.filter((one) => !isDue(one));
    await this.#remove(due.map(({ row }) => row));
  }

  /** Removes files, which the next sweep does where this fails. */
  async #remove(rows: readonly DocumentRow[]): Promise<void> {
    const { files, documents } = this.#place;
    for (const { file } of rows) {
      if (file !== null) await remove(files, join(documents, file)).catch(() => {});
    }
  }

  /** Undefined where it was deleted meanwhile. @throws Failure `record_damaged` */
  async #read(row: DocumentRow): Promise<Document | undefined> {
    if (row.file === null) return documentOf(row, null);
    try {
      const path = join(this.#place.documents, row.file);
      return documentOf(row, JSON.parse(await this.#place.files.readFile(path, 'utf8')));
    } catch (error) {
      const present = this.#records.state.documentByKey.get(keyOf(row));
      if (isMissing(error) && present?.file !== row.file) return present && this.#read(present);
      if (!isMissing(error) && !(error instanceof SyntaxError)) {
        throw storeUnavailable(error, 'the store cannot read');
      }
      const options = { code: 'record_damaged', cause: error } as const;
      throw new Failure('service_error', `a stored ${row.kind} is damaged on the disk`, options);
    }
  }
}

function isExpired({ expiresAt }: DocumentRow, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function documentOf({ file: _, bytes: __, ...row }: DocumentRow, body: unknown): Document {
  return { ...row, body };
}
