import { createHash } from 'node:crypto';
import type { DocumentKey, DocumentKind, DocumentQuota } from '../../../document.ts';

/** What the name of a file says of its document. */
export interface Entry {
  readonly kind: DocumentKind;
  /** The identifier, or its digest where it does not fit into a name. */
  readonly name: string;
  readonly parent: string | null;
  /** Position in the order of creation. */
  readonly order: number;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly version: number;
  readonly isOpen: boolean;
  readonly bytes: number;
}

/** Kind, order, creation, expiry, version, bytes, whether it is open, identifier and parent. */
const FILE =
  /^([a-z_]+)\.(\d{1,15})\.(\d{1,16})\.(\d{1,16}|)\.(\d{1,15})\.(\d{1,15})\.([01])\.([\w~-]+)\.([\w~-]*)$/;

/** Identifiers that are names of files as they are. */
const PLAIN = /^[\w-]{1,64}$/;

/** The name under which an identifier is kept. */
export function nameOf(id: string): string {
  return PLAIN.test(id) ? id : `~${createHash('sha256').update(id).digest('hex')}`;
}

export function fileOf(entry: Entry): string {
  const { kind, order, createdAt, expiresAt, version, bytes, isOpen, name, parent } = entry;
  const numbers = [order, createdAt, expiresAt ?? '', version, bytes, isOpen ? 1 : 0];
  return [kind, ...numbers, name, parent ?? ''].join('.');
}

/** Null for a file that is not a document's. */
export function entryOf(file: string): Entry | null {
  const [, kind, order, createdAt, expiresAt, version, bytes, isOpen, name, parent] =
    FILE.exec(file) ?? [];
  if (kind === undefined) return null;
  return {
    kind: kind as DocumentKind,
    name: name!,
    parent: parent || null,
    order: Number(order),
    createdAt: Number(createdAt),
    expiresAt: expiresAt ? Number(expiresAt) : null,
    version: Number(version),
    isOpen: isOpen === '1',
    bytes: Number(bytes),
  };
}

const keyOf = (kind: DocumentKind, name: string) => `${kind}.${name}`;

interface Slot {
  /** What is on disk; null while the first version is written. */
  entry: Entry | null;
  /** The version that is being written; null while none is. */
  next: Entry | null;
}

/** The documents of one account, by their names. */
export class FolderIndex {
  /** In the order of creation. */
  readonly #slots = new Map<string, Slot>();
  readonly #totals = new Map<DocumentKind, { count: number; bytes: number }>();
  readonly #parts = new Map<string, Map<string, Slot>>();
  #order = 0;

  get size(): number {
    return this.#slots.size;
  }

  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  slot({ kind, id }: DocumentKey): Slot | undefined {
    return this.#slots.get(keyOf(kind, nameOf(id)));
  }

  /** Reserves the name and the room of a new document, which is not found before it has an entry. */
  insert(entry: Entry, isDurable: boolean): Slot {
    const slot: Slot = isDurable ? { entry, next: null } : { entry: null, next: entry };
    const key = keyOf(entry.kind, entry.name);
    this.#slots.set(key, slot);
    this.#order = Math.max(this.#order, entry.order);
    this.count(entry, 1);
    if (entry.parent !== null) {
      const parts = this.#parts.get(entry.parent) ?? new Map<string, Slot>();
      this.#parts.set(entry.parent, parts.set(key, slot));
    }
    return slot;
  }

  /** Whether a slot is still that of its document. */
  has(slot: Slot, { kind, name }: Entry): boolean {
    return this.#slots.get(keyOf(kind, name)) === slot;
  }

  forget(entry: Entry): void {
    const key = keyOf(entry.kind, entry.name);
    if (!this.#slots.delete(key)) return;
    this.count(entry, -1);
    if (entry.parent === null) return;
    const parts = this.#parts.get(entry.parent);
    parts?.delete(key);
    if (parts?.size === 0) this.#parts.delete(entry.parent);
  }

  count({ kind, bytes }: Entry, by: 1 | -1, documents: number = by): void {
    const { count, bytes: sum } = this.usage(kind);
    this.#totals.set(kind, { count: count + documents, bytes: sum + by * bytes });
  }

  usage(kind: DocumentKind): DocumentQuota {
    return this.#totals.get(kind) ?? { count: 0, bytes: 0 };
  }

  /** Entries of a kind, or of the parts of a document, in the order of creation. */
  *entries(kind: DocumentKind | null, parent?: string): Generator<Entry> {
    const slots = parent === undefined ? this.#slots : this.#parts.get(nameOf(parent));
    for (const { entry } of slots?.values() ?? []) {
      if (entry !== null && (kind === null || entry.kind === kind)) yield entry;
    }
  }
}
