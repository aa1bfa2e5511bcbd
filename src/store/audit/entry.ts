import { hash } from 'node:crypto';
import { valueOr } from '../../flow.ts';

/** User or key that performed an administrative act. */
export interface Actor {
  /** Name of the Unix user; null for a key. */
  readonly user: string | null;
  /** User id of the requesting process according to the kernel; null if it is not known. */
  readonly uid: number | null;
  /** User that ran `sudo`, according to its environment, which the process could have changed. */
  readonly sudoUser: string | null;
  /** Identifier of the API key; null for a user of this machine. */
  readonly key: string | null;
  /** Identifier of the key's account. */
  readonly account: string | null;
  /** Address of the client; `local` for this machine. */
  readonly from: string;
}

/** Object of an act. Contains no secrets. */
export interface Subject {
  /** Name or identifier. */
  readonly object: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** `begun` is on disk before the act; one of the others follows. */
export type AuditResult = 'begun' | 'done' | 'refused' | 'failed';

/** One line of the log. */
export interface AuditEntry extends Subject {
  /** From 1, without gaps. */
  readonly number: number;
  /** ISO 8601. */
  readonly at: string;
  readonly act: string;
  readonly result: AuditResult;
  /** Number of the `begun` line, on the line with the result. */
  readonly of?: number;
  /** Code or type of the failure of a refused act. */
  readonly code?: string;
  readonly who: Actor;
  /** SHA-256 of the line before, hexadecimal. */
  readonly previous: string;
}

/** Number and hash of the last line, stored apart: without them the loss of last lines would go unnoticed. */
export interface Head {
  readonly number: number;
  readonly hash: string;
}

/** Head of an empty log. */
export const NO_LINE: Head = { number: 0, hash: '0'.repeat(64) };

export const HEAD_FILE = 'head.json';

/** Act that records which files of the log were deleted to limit its size. */
export const PRUNE = 'audit.prune';

export function hashOfLine(line: string): string {
  return hash('sha256', line);
}

/** Name of a file by the number of its first line: names sort in the order of the lines. */
export function fileName(first: number): string {
  return `audit-${String(first).padStart(12, '0')}.jsonl`;
}

export function isLogFile(name: string): boolean {
  return /^audit-\d{12}\.jsonl$/.test(name);
}

/** Returns undefined if the text is not an entry. */
export function parseEntry(line: string): AuditEntry | undefined {
  const entry = valueOr(() => JSON.parse(line) as Partial<AuditEntry> | null, null) ?? {};
  const { number, at, act, result, object, who, previous } = entry;
  const texts = [at, act, result, object, previous];
  const isEntry =
    Number.isSafeInteger(number) &&
    texts.every((text) => typeof text === 'string') &&
    who instanceof Object;
  return isEntry ? (entry as AuditEntry) : undefined;
}

export function parseHead(text: string): Head | undefined {
  const head = valueOr(() => JSON.parse(text) as Partial<Head> | null, null);
  const { number, hash: last } = head ?? {};
  const isHead = Number.isSafeInteger(number) && typeof last === 'string';
  return isHead ? { number: number!, hash: last } : undefined;
}

const MAX_TEXT = 300;
const MAX_VALUES = 20;

/** Limits the size of a value, and with it that of a line. Says how many elements were left out. */
export function bounded(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  }
  if (!Array.isArray(value)) return value;
  const kept = value.slice(0, MAX_VALUES).map(bounded);
  return value.length > kept.length ? [...kept, `and ${value.length - kept.length} more`] : kept;
}
