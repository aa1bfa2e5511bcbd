import { join } from 'node:path';
import { Failure } from '../../../../failure.ts';
import {
  checkQuota,
  type Document,
  type DocumentKey,
  type DocumentKind,
  type Documents,
  documentChanged,
  documentExists,
  encodeBody,
  MAX_PAGE_BYTES,
  MAX_SWEPT,
  type NewDocument,
  unknownDocument,
} from '../../../document.ts';
import {
  FILE_MODE,
  type Files,
  isMissing,
  makeFolder,
  namesIn,
  remove,
  syncFolder,
} from '../../../files.ts';
import { storeUnavailable } from '../files/errors.ts';
import { type Entry, entryOf, FolderIndex, fileOf, nameOf } from './folder-index.ts';

/** Documents whose names are in memory. Those of accounts that were not used for longest are read again when needed. */
const MAX_NAMES = 200_000;

interface AccountFolder {
  readonly id: string;
  readonly path: string;
  readonly index: FolderIndex;
  /** Calls under way. */
  users: number;
  /** Whether there is a folder on the disk. */
  isMade: boolean;
  /** The sync that begins after the one under way; null without waiting writes. */
  nextSync: Promise<void> | null;
  sync: Promise<void>;
}

/** A file with its identifier, which its name may have only as a digest. */
type Stored = readonly [id: string, body: unknown, parent: string | null];

/** A created document may keep its time of creation, in a copy of a store. */
type Added = NewDocument & Partial<Pick<Document, 'createdAt' | 'version'>>;

/** Documents of one daemon: a folder for each account, a file for each document, whose name says all but the body. */
export class DocumentFolder implements Documents {
  readonly #files: Files;
  readonly #folder: string;
  readonly #now: () => number;
  /** The least recently used first. */
  readonly #accounts = new Map<string, AccountFolder>();
  readonly #loading = new Map<string, Promise<AccountFolder>>();
  /** Open documents of all accounts; null before they are needed. */
  #open: Map<string, DocumentKey> | null = null;
  readonly #busy = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(files: Files, folder: string, now: () => number) {
    this.#files = files;
    this.#folder = folder;
    this.#now = now;
  }

  add(documents: readonly Added[], quota?: Parameters<Documents['add']>[1]) {
    const [first] = documents;
    if (first === undefined) return Promise.resolve([]);
    return this.#with(first.accountId, async (folder) => {
      const { index } = folder;
      if (!folder.isMade) await makeFolder(this.#files, folder.path).catch(unwritable);
      folder.isMade = true;
      const now = this.#now();
      const writes = documents.map((document) => ({
        entry: this.#entryOf(document, { createdAt: document.createdAt ?? now, order: 0 }),
        document,
      }));
      const names = new Set(writes.map(({ entry }) => `${entry.kind}.${entry.name}`));
      const known = documents.find((document) => index.slot(document) !== undefined);
      if (known !== undefined || names.size < writes.length) throw documentExists(known ?? first);
      const { count, bytes } = index.usage(first.kind);
      const own = writes.filter(({ entry }) => entry.kind === first.kind);
      const added = own.reduce((sum, { entry }) => sum + entry.bytes, 0);
      checkQuota({ count: count + own.length, bytes: bytes + added }, quota);
      const slots = writes.map(({ entry, document }) => {
        const next = { ...entry, order: index.nextOrder() };
        return { slot: index.insert(next, false), next, document };
      });
      try {
        // The first one last: after a crash there may be parts without it, but it is never without its parts.
        for (const { next, document } of [...slots].reverse()) {
          await this.#write(folder, next, document);
        }
        await this.#sync(folder);
      } catch (error) {
        for (const { next } of slots) {
          index.forget(next);
          await remove(this.#files, this.#pathOf(folder, next)).catch(() => {});
        }
        throw storeUnavailable(error);
      }
      for (const { slot, next, document } of slots) {
        slot.entry = next;
        slot.next = null;
        this.#noteOpen(document, next.isOpen);
      }
      return slots.map(({ next, document }) => documentOf(next, document));
    });
  }

  find(key: DocumentKey): Promise<Document | undefined> {
    return this.#with(key.accountId, (folder) => this.#find(folder, key));
  }

  change(document: Document, change: Parameters<Documents['change']>[1]): Promise<Document> {
    return this.#with(document.accountId, async (folder) => {
      const { index } = folder;
      const slot = index.slot(document);
      const former = slot?.entry;
      if (!slot || !former || slot.next !== null || former.version !== document.version) {
        throw documentChanged(document);
      }
      const changed = { ...document, ...change, version: former.version + 1 };
      const next = this.#entryOf(changed, former);
      slot.next = next;
      const path = this.#pathOf(folder, next);
      try {
        await this.#write(folder, next, changed);
        await this.#sync(folder);
      } catch (error) {
        slot.next = null;
        await remove(this.#files, path).catch(() => {});
        throw storeUnavailable(error);
      }
      slot.next = null;
      if (!index.has(slot, former)) {
        await remove(this.#files, path);
        throw documentChanged(document);
      }
      slot.entry = next;
      index.count(former, -1, 0);
      index.count(next, 1, 0);
      this.#noteOpen(document, next.isOpen);
      // The next start chooses the newer one.
      await remove(this.#files, this.#pathOf(folder, former)).catch(() => {});
      return changed;
    });
  }

  remove(key: DocumentKey): Promise<boolean> {
    return this.#with(key.accountId, async (folder) => {
      const entry = folder.index.slot(key)?.entry;
      if (!entry) return false;
      await this.#delete(folder, [entry, ...folder.index.entries(null, key.id)]);
      return !isExpired(entry, this.#now());
    });
  }

  list({ kind, accountId, parent, limit, after, order = 'asc' }: Parameters<Documents['list']>[0]) {
    return this.#with(accountId, async (folder) => {
      const now = this.#now();
      const entries = [...folder.index.entries(kind, parent)].filter((one) => !isExpired(one, now));
      if (order === 'desc') entries.reverse();
      const last = after === undefined ? undefined : nameOf(after);
      const start = last === undefined ? 0 : entries.findIndex(({ name }) => name === last) + 1;
      if (last !== undefined && start === 0) throw unknownDocument(kind, after!);
      const documents: Document[] = [];
      let [at, bytes] = [start, 0];
      for (; at < entries.length && documents.length < limit; at += 1) {
        const entry = entries[at]!;
        bytes += entry.bytes;
        if (bytes > MAX_PAGE_BYTES && documents.length > 0) break;
        const document = await this.#read(folder, entry);
        if (document !== undefined) documents.push(document);
      }
      return { documents, hasMore: at < entries.length };
    });
  }

  async listOpen(kind: DocumentKind, limit: number): Promise<readonly Document[]> {
    if (this.#open === null) {
      const open = new Map<string, DocumentKey>();
      this.#open = open;
      for await (const document of this.all((entry) => entry.isOpen)) {
        open.set(openKey(document), document);
      }
    }
    const found: Document[] = [];
    for (const key of this.#open.values()) {
      if (key.kind !== kind) continue;
      const document = await this.find(key);
      if (document?.isOpen) found.push(document);
    }
    return found.sort((one, other) => one.createdAt - other.createdAt).slice(0, limit);
  }

  usage(kind: DocumentKind, accountId: string) {
    return this.#with(accountId, async ({ index }) => index.usage(kind));
  }

  async sweep(): Promise<number> {
    let swept = 0;
    for (const accountId of await namesIn(this.#files, this.#folder)) {
      if (swept >= MAX_SWEPT || this.#isClosed) break;
      swept += await this.#with(accountId, async (folder) => {
        const now = this.#now();
        const old = [...folder.index.entries(null)].filter((entry) => isExpired(entry, now));
        await this.#delete(folder, old.slice(0, MAX_SWEPT - swept));
        return Math.min(old.length, MAX_SWEPT - swept);
      });
    }
    return swept;
  }

  /** All documents, those of each account in the order of creation. */
  async *all(isWanted: (entry: Entry) => boolean = () => true): AsyncGenerator<Document> {
    for (const accountId of await namesIn(this.#files, this.#folder)) {
      const entries = await this.#with(accountId, async ({ index }) => [...index.entries(null)]);
      for (const entry of entries.filter(isWanted)) {
        const document = await this.#with(accountId, (folder) => this.#read(folder, entry));
        if (document !== undefined) yield document;
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#busy);
  }

  #entryOf(
    { kind, accountId, id, body, parent, expiresAt, isOpen, version = 1 }: Added,
    { createdAt, order }: Pick<Entry, 'createdAt' | 'order'>,
  ): Entry {
    const names = { name: nameOf(id), parent: parent === null ? null : nameOf(parent) };
    const bytes = Buffer.byteLength(this.#textOf({ kind, accountId, id, body, parent }));
    return { kind, ...names, order, createdAt, expiresAt, version, isOpen, bytes };
  }

  /** Empty where the name of the file says all. */
  #textOf({ id, body, parent }: Pick<NewDocument, keyof DocumentKey | 'body' | 'parent'>): string {
    const isNamed = nameOf(id) === id && (parent === null || nameOf(parent) === parent);
    return isNamed && body === null
      ? ''
      : `[${JSON.stringify(id)},${encodeBody(body) || 'null'},${JSON.stringify(parent)}]`;
  }

  async #find(folder: AccountFolder, key: DocumentKey): Promise<Document | undefined> {
    const entry = folder.index.slot(key)?.entry;
    if (!entry || isExpired(entry, this.#now())) return undefined;
    return this.#read(folder, entry);
  }

  /** Undefined where it was deleted meanwhile. @throws Failure `record_damaged` */
  async #read(folder: AccountFolder, entry: Entry): Promise<Document | undefined> {
    const accountId = folder.id;
    if (entry.bytes === 0) {
      return documentOf(entry, { accountId, id: entry.name, parent: entry.parent, body: null });
    }
    try {
      const text = await this.#files.readFile(this.#pathOf(folder, entry), 'utf8');
      const [id, body, parent] = JSON.parse(text) as Stored;
      return documentOf(entry, { accountId, id, parent, body });
    } catch (error) {
      if (isMissing(error)) {
        const newer = folder.index.slot({ kind: entry.kind, accountId, id: entry.name })?.entry;
        return newer && newer !== entry ? this.#read(folder, newer) : undefined;
      }
      if (!(error instanceof SyntaxError)) throw storeUnavailable(error, 'the store cannot read');
      throw new Failure('service_error', `a stored ${entry.kind} is damaged on the disk`, {
        code: 'record_damaged',
        cause: error,
      });
    }
  }

  async #write(folder: AccountFolder, entry: Entry, document: Added): Promise<void> {
    const path = this.#pathOf(folder, entry);
    const text = this.#textOf(document);
    const handle = await this.#files.open(`${path}.new`, 'w', FILE_MODE);
    try {
      if (text !== '') {
        await handle.writeFile(text);
        await handle.datasync();
      }
    } finally {
      await handle.close();
    }
    await this.#files.rename(`${path}.new`, path);
  }

  /** Group commit: the names of files that were renamed during one sync are written by the next. */
  #sync(folder: AccountFolder): Promise<void> {
    folder.nextSync ??= folder.sync.then(() => {
      const sync = syncFolder(this.#files, folder.path);
      folder.nextSync = null;
      folder.sync = sync.catch(() => {});
      return sync;
    });
    return folder.nextSync;
  }

  async #delete(folder: AccountFolder, entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return;
    for (const entry of entries) {
      folder.index.forget(entry);
      this.#noteOpen({ ...entry, accountId: folder.id, id: entry.name }, false);
    }
    try {
      for (const entry of entries) await remove(this.#files, this.#pathOf(folder, entry));
      await this.#sync(folder);
    } catch (error) {
      // Read again with what is left.
      this.#accounts.delete(folder.id);
      throw storeUnavailable(error);
    }
  }

  #noteOpen(key: DocumentKey, isOpen: boolean): void {
    if (!isOpen) this.#open?.delete(openKey(key));
    else this.#open?.set(openKey(key), { kind: key.kind, accountId: key.accountId, id: key.id });
  }

  #pathOf({ path }: AccountFolder, entry: Entry): string {
    return join(path, fileOf(entry));
  }

  #with<Result>(id: string, work: (folder: AccountFolder) => Promise<Result>): Promise<Result> {
    const working = this.#use(id, work);
    this.#busy.add(working);
    const done = () => this.#busy.delete(working);
    working.then(done, done);
    return working;
  }

  async #use<Result>(
    id: string,
    work: (folder: AccountFolder) => Promise<Result>,
  ): Promise<Result> {
    if (this.#isClosed) throw storeUnavailable(new Error('it is closed'));
    let folder = this.#accounts.get(id);
    if (folder === undefined) {
      const loading = this.#loading.get(id) ?? this.#load(id);
      this.#loading.set(id, loading);
      try {
        folder = await loading;
      } catch (error) {
        throw storeUnavailable(error, 'the store cannot read');
      } finally {
        this.#loading.delete(id);
      }
      folder = this.#accounts.get(id) ?? folder;
    }
    this.#accounts.delete(id);
    this.#accounts.set(id, folder);
    folder.users += 1;
    try {
      return await work(folder);
    } finally {
      folder.users -= 1;
    }
  }

  async #load(id: string): Promise<AccountFolder> {
    const path = join(this.#folder, id);
    const found: Entry[] = [];
    const names = await namesIn(this.#files, path);
    for (const file of names) {
      const entry = entryOf(file);
      if (entry !== null) found.push(entry);
      // Left by a crash.
      else if (file.endsWith('.new')) await remove(this.#files, join(path, file));
    }
    const index = new FolderIndex();
    found.sort((one, other) => one.order - other.order || other.version - one.version);
    const orders = new Set<number>();
    for (const entry of found) {
      // A crash left the former version beside its successor.
      if (orders.has(entry.order)) await remove(this.#files, join(path, fileOf(entry)));
      else index.insert(entry, true);
      orders.add(entry.order);
    }
    this.#trim();
    const sync = { nextSync: null, sync: Promise.resolve() };
    return { id, path, index, users: 0, isMade: names.length > 0, ...sync };
  }

  #trim(): void {
    let names = 0;
    for (const { index } of this.#accounts.values()) names += index.size;
    for (const { id, index, users } of this.#accounts.values()) {
      if (names <= MAX_NAMES) return;
      if (users > 0) continue;
      this.#accounts.delete(id);
      names -= index.size;
    }
  }
}

function unwritable(error: unknown): never {
  throw storeUnavailable(error);
}

const openKey = ({ kind, accountId, id }: DocumentKey) => `${kind}.${accountId}.${nameOf(id)}`;

function isExpired({ expiresAt }: Entry, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

function documentOf(
  { kind, createdAt, expiresAt, version, isOpen }: Entry,
  { accountId, id, parent, body }: Pick<Document, 'accountId' | 'id' | 'parent' | 'body'>,
): Document {
  return { kind, accountId, id, parent, createdAt, expiresAt, version, isOpen, body };
}
