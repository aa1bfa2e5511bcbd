import { hash } from 'node:crypto';

/** Who performed an administrative act. */
export interface Actor {
  /** Name of the Unix user; null for a key. */
  readonly user: string | null;
  /** User id of the process that asked, as the kernel tells it; null where it cannot be told. */
  readonly uid: number | null;
  /** The user that `sudo` says it ran for. A claim: the process could have set it itself. */
  readonly sudoUser: string | null;
  /** Identifier of the API key; null for a user of this machine. */
  readonly key: string | null;
  /** Identifier of the key's account. */
  readonly account: string | null;
  /** Address of the client; `local` for this machine. */
  readonly from: string;
}

/** What an act is about. Never a secret. */
export interface Subject {
  /** Name or identifier. */
  readonly object: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** `begun` is on disk before the act; one of the others follows it. */
export type AuditResult = 'begun' | 'done' | 'refused' | 'failed';

/** One line of the log. */
export interface AuditEntry extends Subject {
  /** From 1, without gaps. */
  readonly number: number;
  /** ISO 8601. */
  readonly at: string;
  readonly act: string;
  readonly result: AuditResult;
  /** Number of the line that began the act, on the line that ends it. */
  readonly of?: number;
  /** Code or type of the failure of an act that was refused. */
  readonly code?: string;
  readonly who: Actor;
  /** SHA-256 of the line before, hexadecimal. */
  readonly previous: string;
}

/** The last line that was written: its loss cannot be told from the lines that are left. */
export interface Head {
  readonly number: number;
  readonly hash: string;
}

/** Before the first line. */
export const NO_LINE: Head = { number: 0, hash: '0'.repeat(64) };

export const HEAD_FILE = 'head.json';

/** The act that states which files of the log were deleted to bound it. */
export const PRUNE = 'audit.prune';

export function hashOfLine(line: string): string {
  return hash('sha256', line);
}

/** Files sort by their names in the order of their lines. */
export function fileName(first: number): string {
  return `audit-${String(first).padStart(12, '0')}.jsonl`;
}

export function isLogFile(name: string): boolean {
  return /^audit-\d{12}\.jsonl$/.test(name);
}

/** Undefined for text that is no entry. */
export function parseEntry(line: string): AuditEntry | undefined {
  try {
    const entry = JSON.parse(line) as Partial<AuditEntry>;
    const { number, at, act, result, object, who, previous } = entry;
    const texts = [at, act, result, object, previous];
    const isEntry =
      Number.isSafeInteger(number) &&
      texts.every((text) => typeof text === 'string') &&
      who instanceof Object;
    return isEntry ? (entry as AuditEntry) : undefined;
  } catch {
    return undefined;
  }
}

export function parseHead(text: string): Head | undefined {
  try {
    const { number, hash: last } = JSON.parse(text) as Partial<Head>;
    const isHead = Number.isSafeInteger(number) && typeof last === 'string';
    return isHead ? { number: number!, hash: last } : undefined;
  } catch {
    return undefined;
  }
}

const LONGEST_TEXT = 300;
const MOST_VALUES = 20;

/** A value of bounded length, so that a line is: what is left out is counted. */
export function bounded(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
  }
  if (!Array.isArray(value)) return value;
  const kept = value.slice(0, MOST_VALUES).map(bounded);
  return value.length > kept.length ? [...kept, `and ${value.length - kept.length} more`] : kept;
}
