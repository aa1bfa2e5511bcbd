import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codedFailure, Failure } from '../../failure.ts';
import { oneByOne } from '../../flow.ts';
import {
  diskFiles,
  type Files,
  makeFolder,
  namesIn,
  remove,
  syncFolder,
  writeDurably,
} from '../files.ts';
import type { Recovery } from '../options.ts';
import {
  type Actor,
  type AuditEntry,
  type AuditResult,
  bounded,
  fileName,
  HEAD_FILE,
  type Head,
  hashOfLine,
  isLogFile,
  NO_LINE,
  PRUNE,
  parseEntry,
  type Subject,
} from './entry.ts';
import { readHead } from './read.ts';

/** Size in bytes at which a new file is started. */
const FILE_BYTES = 16 * 2 ** 20;

/** Number of files to keep. The oldest is deleted after a line that records it. */
const MAX_FILES = 64;

/** Upper bound of the size of a line, in bytes. */
const MAX_LINE_BYTES = 64 * 1024;

export interface AuditLogOptions {
  /** `audit` in the data folder; created if it does not exist. */
  readonly folder: string;
  /** Actor of the log's own entries. */
  readonly self: Actor;
  readonly files?: Files;
  readonly fileSize?: number;
  readonly keep?: number;
  /** Called with each line once it is on disk. */
  readonly onEntry?: (entry: AuditEntry, head: Head) => void;
  /** Called when the result of a completed act could not be written. */
  readonly onFault?: (error: unknown) => void;
}

/** The part of the log that administration uses. */
export type AuditTrail = Pick<AuditLog, 'record'>;

/** Act to record. */
export interface Act<Result> {
  readonly act: string;
  readonly who: Actor;
  /** @param result null before the act and if it fails */
  readonly subject: (result: Result | null) => Subject;
}

type NewEntry = Omit<AuditEntry, 'number' | 'at' | 'previous'>;

/**
 * Append-only log of administrative acts: JSON Lines, each with the hash of the line before. Only
 * the process that holds the store's lock writes it. A line is on disk when its promise resolves.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #files: Files;
  #head: Head = NO_LINE;
  #file: FileHandle | null = null;
  #size = 0;
  /** Whether the file may contain all or part of a line whose write failed. */
  #isDirty = false;
  readonly #inTurn = oneByOne();

  private constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#files = options.files ?? diskFiles;
  }

  /** @throws Failure `audit_unavailable` if the folder cannot be read or written */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const log = new AuditLog(options);
    try {
      await log.#open();
    } catch (error) {
      await log.#file?.close();
      throw unavailable(error);
    }
    return log;
  }

  /**
   * Performs an act between two lines: one before it, so that there is no act without a line, and one with
   * its result.
   *
   * @throws Failure `audit_unavailable` before the act, which is not performed then; errors of `work`
   */
  async record<Result>(
    { act, who, subject }: Act<Result>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const begun = await this.append({ act, who, result: 'begun', ...subject(null) });
    const end = (result: AuditResult, rest: Subject, code?: string) =>
      this.append({
        act,
        who,
        result,
        of: begun.number,
        ...(code !== undefined && { code }),
        ...rest,
      });
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      const isRefusal = error instanceof Failure;
      const code = isRefusal ? (error.code ?? error.type) : 'internal_error';
      await end(isRefusal ? 'refused' : 'failed', subject(null), code).catch(this.#options.onFault);
      throw error;
    }
    // The act is done and its first line is on disk: an error here does not reject.
    await end('done', subject(result)).catch((error: unknown) => this.#options.onFault?.(error));
    return result;
  }

  /** Writes one line. @throws Failure `audit_unavailable` */
  append(entry: NewEntry): Promise<AuditEntry> {
    return this.#inTurn(() => this.#write(entry)).catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => this.#file?.close());
    this.#file = null;
  }

  async #open(): Promise<void> {
    const { folder } = this.#options;
    await makeFolder(this.#files, folder);
    const head = await readHead(this.#files, folder);
    const newest = (await namesIn(this.#files, folder)).filter(isLogFile).at(-1);
    let torn = 0;
    if (newest !== undefined) torn = await this.#resume(newest);
    // The numbers of lost lines are skipped, so that every reader sees the gap.
    if (head.number > this.#head.number) this.#head = head;
    if (torn > 0) {
      const details = { bytes: torn };
      const object = newest!;
      await this.#write({
        act: 'audit.recover',
        who: this.#options.self,
        result: 'done',
        object,
        details,
      });
    }
  }

  /** Continues a file. @returns bytes of an incomplete line at its end, which were cut off */
  async #resume(name: string): Promise<number> {
    this.#file = await this.#files.open(join(this.#options.folder, name), 'r+');
    const { size } = await this.#file.stat();
    const start = Math.max(0, size - 2 * MAX_LINE_BYTES);
    const tail = Buffer.alloc(size - start);
    await this.#file.read(tail, 0, tail.length, start);
    const end = tail.lastIndexOf('\n') + 1;
    const before = end < 2 ? 0 : tail.lastIndexOf('\n', end - 2) + 1;
    this.#size = start + end;
    const line = tail.toString('utf8', before, Math.max(before, end - 1));
    const entry = parseEntry(line);
    if (entry) this.#head = { number: entry.number, hash: hashOfLine(line) };
    const torn = tail.length - end;
    if (torn > 0) await this.#file.truncate(this.#size);
    return torn;
  }

  async #write(entry: NewEntry): Promise<AuditEntry> {
    if (this.#isDirty) await this.#file!.truncate(this.#size);
    this.#isDirty = false;
    const isFull = this.#size >= (this.#options.fileSize ?? FILE_BYTES);
    if (this.#file === null || isFull) await this.#startFile();
    return this.#put(entry);
  }

  async #put({ act, who, result, of, code, object, details = {} }: NewEntry): Promise<AuditEntry> {
    const { number, hash: previous } = this.#head;
    const values = Object.entries(details).map(([name, value]) => [name, bounded(value)] as const);
    const entry: AuditEntry = {
      number: number + 1,
      at: new Date().toISOString(),
      act,
      result,
      ...(of !== undefined && { of }),
      ...(code !== undefined && { code }),
      who,
      object: String(bounded(object)),
      details: Object.fromEntries(
        values.filter(([, value]) => value !== undefined && value !== null),
      ),
      previous,
    };
    const line = JSON.stringify(entry);
    const bytes = Buffer.from(`${line}\n`);
    const head = { number: entry.number, hash: hashOfLine(line) };
    this.#isDirty = true;
    await this.#file!.write(bytes, 0, bytes.length, this.#size);
    await this.#file!.datasync();
    const file = join(this.#options.folder, HEAD_FILE);
    await writeDurably(this.#files, file, Buffer.from(`${JSON.stringify(head)}\n`));
    this.#isDirty = false;
    this.#size += bytes.length;
    this.#head = head;
    this.#options.onEntry?.(entry, head);
    return entry;
  }

  /** Starts a file, and deletes the oldest files after a line that records it. */
  async #startFile(): Promise<void> {
    const { folder, keep = MAX_FILES, self } = this.#options;
    const path = join(folder, fileName(this.#head.number + 1));
    const file = await this.#files.open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    await syncFolder(this.#files, folder);
    await this.#file?.close();
    this.#file = file;
    this.#size = (await file.stat()).size;
    const names = (await namesIn(this.#files, folder)).filter(isLogFile);
    for (const [index, name] of names.slice(0, Math.max(0, names.length - keep)).entries()) {
      const details = {
        before: Number(names[index + 1]!.slice('audit-'.length, -'.jsonl'.length)),
      };
      await this.#put({ act: PRUNE, who: self, result: 'done', object: name, details });
      await remove(this.#files, join(folder, name));
    }
  }
}

function unavailable(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const message = `the audit log cannot be written${code ? ` (${code})` : ''}: nothing was done`;
  return codedFailure('audit_unavailable', message, { detail: reason, cause: error });
}

/** The folder of the audit log in a data folder. */
export function auditFolder(dataDir: string): string {
  return join(dataDir, 'audit');
}

/** Opens the audit log of a data folder. Only the process that holds the store's lock may call this. */
export function openAudit(
  dataDir: string,
  self: Actor,
  options: Pick<AuditLogOptions, 'onEntry' | 'onFault'>,
): Promise<AuditLog> {
  return AuditLog.open({ folder: auditFolder(dataDir), self, ...options });
}

/** Records that a torn journal was repaired when the store was opened. */
export async function recordRecovery(
  log: AuditLog,
  who: Actor,
  { file, dropped, keptIn }: Recovery,
): Promise<void> {
  const details = { bytes: dropped, keptIn: basename(keptIn) };
  await log.append({ act: 'store.recover', who, result: 'done', object: basename(file), details });
}
