import { setTimeout as delay } from 'node:timers/promises';
import { codedFailure, Failure } from '../failure.ts';
import type { WorkCharges } from './ledger.ts';

/** Kinds of documents. The names are in file names and in tables: they have letters and `_` only. */
export const DOCUMENT_KINDS = [
  ...(['response', 'response_item', 'conversation', 'conversation_item'] as const),
  ...(['compaction_key', 'batch', 'message_batch', 'file'] as const),
];
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** What names a document. */
export interface DocumentKey {
  readonly kind: DocumentKind;
  readonly accountId: string;
  /** Any text, unique among those of a kind and an account. */
  readonly id: string;
}

export interface NewDocument extends DocumentKey {
  /** Identifier of the document of the same account that this one is a part of, and is deleted with; null without one. */
  readonly parent: string | null;
  /** Milliseconds since the epoch; the document is not found after it. Null where it does not expire. */
  readonly expiresAt: number | null;
  /** Whether work on it is left, which `listOpen` finds. */
  readonly isOpen: boolean;
  /** Any JSON value. Null takes no room. */
  readonly body: unknown;
}

/** A durable JSON value of an account. */
export interface Document extends NewDocument {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** 1 at first; every change raises it. */
  readonly version: number;
}

/** A document whose body has a known type: one room alone writes documents of its kind. */
export type Typed<Body> = Omit<Document, 'body'> & { readonly body: Body };

/** What a change may replace. */
export type DocumentChange = Partial<Pick<Document, 'expiresAt' | 'isOpen' | 'body'>>;

/** What is written in the transaction of a change. */
export interface WithChange {
  /** Charges of the work whose result the document has then. */
  readonly charges?: WorkCharges;
  /** Further documents of the account. */
  readonly added?: readonly NewDocument[];
  /** Quota of these, as in `add`. */
  readonly quota?: DocumentQuota;
}

/** What an account may have of one kind. */
export interface DocumentQuota {
  readonly count: number;
  readonly bytes: number;
}

export interface DocumentQuery {
  readonly kind: DocumentKind;
  readonly accountId: string;
  /** Only parts of this document. */
  readonly parent?: string | undefined;
  readonly limit: number;
  /** Identifier of the document after which the page begins. */
  readonly after?: string | undefined;
  /** Order of creation; `asc` by default. */
  readonly order?: 'asc' | 'desc';
}

/** Documents in order. A page ends early where its bodies are large. */
export interface DocumentPage {
  readonly documents: readonly Document[];
  readonly hasMore: boolean;
}

/**
 * JSON documents of accounts. They are for what a client can read, list and delete. Only names and sizes of them are in
 * memory. Every method is one transaction, as those of `Store`: what it wrote is on disk, and on all nodes, when it
 * resolves.
 */
export interface Documents {
  /**
   * Adds documents of one account in their order: all or none.
   *
   * @param quota maximum of documents and bytes of each kind that `limitedKinds` names; above it the method rejects
   *   with `insufficient_quota`, code `storage_full`
   * @throws Failure 409 `document_exists`
   */
  add(documents: readonly NewDocument[], quota?: DocumentQuota): Promise<readonly Document[]>;
  /** Undefined for a document of another account, too. */
  find(key: DocumentKey): Promise<Document | undefined>;
  /**
   * Changes a document that nothing has changed since it was read.
   *
   * @throws Failure 409 `document_changed` where its version is another one, or it was deleted; as `add` does
   */
  change(document: Document, change: DocumentChange, more?: WithChange): Promise<Document>;
  /** Deletes a document with its parts for good. @returns whether there was one */
  remove(key: DocumentKey): Promise<boolean>;
  /** @throws Failure 404 `document_not_found` for an unknown `after` */
  list(query: DocumentQuery): Promise<DocumentPage>;
  /**
   * Documents of all accounts on which work is left, oldest first. They end early where bodies are large.
   *
   * @param except identifiers of those that are not read
   */
  listOpen(
    kind: DocumentKind,
    limit: number,
    except?: ReadonlySet<string>,
  ): Promise<readonly Document[]>;
  /** What an account has of a kind. */
  usage(kind: DocumentKind, accountId: string): Promise<DocumentQuota>;
  /** Deletes at most 1000 expired documents with their parts, and returns how many: call it again until that is 0. */
  sweep(): Promise<number>;
}

/** Documents that one sweep deletes. */
export const MAX_SWEPT = 1000;

/** Bytes of the bodies of a page, after which it ends. */
export const MAX_PAGE_BYTES = 16 * 2 ** 20;

/** The body as it is stored; empty for null. */
export function encodeBody(body: unknown): string {
  return body === null ? '' : JSON.stringify(body);
}

/** Kinds of added documents that a quota limits: parts without a body are limited by what they are parts of. */
export function limitedKinds(documents: readonly NewDocument[]): ReadonlySet<DocumentKind> {
  const limited = documents.filter(({ parent, body }) => parent === null || body !== null);
  return new Set(limited.map(({ kind }) => kind));
}

/** @throws Failure insufficient_quota, code `storage_full` */
export function checkQuota(used: DocumentQuota, quota: DocumentQuota | undefined): void {
  for (const what of ['count', 'bytes'] as const) {
    const most = quota?.[what] ?? Infinity;
    if (used[what] <= most) continue;
    const unit = what === 'count' ? 'stored objects' : 'bytes of stored objects';
    const message = `the account may have at most ${most} ${unit} of this kind; delete some, or wait until they expire`;
    throw codedFailure('storage_full', message);
  }
}

export function documentExists({ kind, id }: DocumentKey): Failure {
  const message = `there is already a ${kind} ${JSON.stringify(id)}`;
  return codedFailure('document_exists', message);
}

export function documentChanged({ kind, id }: DocumentKey): Failure {
  const message = `the ${kind} ${JSON.stringify(id)} has changed meanwhile; read it again`;
  return codedFailure('document_changed', message);
}

export function unknownDocument(kind: DocumentKind, after: string): Failure {
  const message = `after: there is no ${kind} ${JSON.stringify(after)}`;
  return codedFailure('document_not_found', message, { param: 'after' });
}

/** Attempts to change a document that others change at the same time. */
const MAX_ATTEMPTS = 50;

/**
 * Changes a document, again where another node has changed it meanwhile.
 *
 * @param next returns null to leave the document as it is
 * @returns the changed document; null where it was left; undefined where there is none
 */
export async function changeDocument<Body>(
  documents: Documents,
  { kind, accountId, id }: DocumentKey,
  next: (body: Body) => (Omit<DocumentChange, 'body'> & { readonly body: Body }) | null,
  more?: WithChange,
): Promise<Typed<Body> | null | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await documents.find({ kind, accountId, id });
    const change = found && next(found.body as Body);
    if (!found || !change) return found && null;
    try {
      return (await documents.change(found, change, more)) as Typed<Body>;
    } catch (error) {
      const isChanged = error instanceof Failure && error.code === 'document_changed';
      if (!isChanged || attempt === MAX_ATTEMPTS) throw error;
      await delay(Math.random() * 10 * attempt);
    }
  }
}
