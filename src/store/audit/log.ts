import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import {
  diskFiles,
  type Files,
  isMissing,
  makeFolder,
  namesIn,
  remove,
  syncFolder,
  writeDurably,
} from '../files.ts';
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
  parseHead,
  type Subject,
} from './entry.ts';

/** Bytes after which a file takes no more lines. */
const FILE_SIZE = 16 * 2 ** 20;

/** Files that are kept. The oldest is deleted after a line that states so. */
const FILES = 64;

/** More bytes than a line has. */
const LONGEST_LINE = 64 * 1024;

export interface AuditLogOptions {
  /** `audit` of the data folder; made where it does not exist. */
  readonly folder: string;
  /** Who is named for what the log does by itself. */
  readonly self: Actor;
  readonly files?: Files;
  readonly fileSize?: number;
  readonly keep?: number;
  /** Called with each line once it is on disk. */
  readonly onEntry?: (entry: AuditEntry, head: Head) => void;
  /** Called where the end of an act could not be written, although the act is done. */
  readonly onFault?: (error: unknown) => void;
}

/** The log as those who perform acts see it. */
export type AuditTrail = Pick<AuditLog, 'record'>;

/** An act of which the log is to tell. */
export interface Act<Result> {
  readonly act: string;
  readonly who: Actor;
  /** @param result null before the act and where it fails */
  readonly subject: (result: Result | null) => Subject;
}

type NewEntry = Omit<AuditEntry, 'number' | 'at' | 'previous'>;

/**
 * The append-only log of administrative acts: JSON Lines, each with the hash of the line before. Only
 * the process that holds the store's lock writes it. A line is on disk when its promise resolves.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #files: Files;
  #head: Head = NO_LINE;
  #file: FileHandle | null = null;
  #size = 0;
  /** A line that was refused may be in the file, whole or in part. */
  #isDirty = false;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#files = options.files ?? diskFiles;
  }

  /** @throws Failure `audit_unavailable` where the folder cannot be read or written */
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
   * Performs an act between two lines: one before it, so that no act is without a line, and one that
   * tells what came of it.
   *
   * @throws Failure `audit_unavailable`, and nothing was done; whatever `work` throws
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
    // It is done, and the line before it is on disk.
    await end('done', subject(result)).catch((error: unknown) => this.#options.onFault?.(error));
    return result;
  }

  /** Writes one line. @throws Failure `audit_unavailable` */
  append(entry: NewEntry): Promise<AuditEntry> {
    const appended = this.#last.then(() => this.#write(entry));
    this.#last = appended.catch(() => {});
    return appended.catch((error: unknown) => {
      throw unavailable(error);
    });
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#file?.close();
    this.#file = null;
  }

  async #open(): Promise<void> {
    const { folder } = this.#options;
    await makeFolder(this.#files, folder);
    const head = await this.#readHead();
    const newest = (await namesIn(this.#files, folder)).filter(isLogFile).at(-1);
    let torn = 0;
    if (newest !== undefined) torn = await this.#resume(newest);
    // Lines that are missing leave a gap in the numbers, which every reader sees.
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

  async #readHead(): Promise<Head> {
    try {
      const text = (await this.#files.readFile(join(this.#options.folder, HEAD_FILE))).toString();
      return parseHead(text) ?? NO_LINE;
    } catch (error) {
      if (isMissing(error)) return NO_LINE;
      throw error;
    }
  }

  /** Goes on in a file. @returns bytes of a torn line at its end, which are cut off */
  async #resume(name: string): Promise<number> {
    this.#file = await this.#files.open(join(this.#options.folder, name), 'r+');
    const { size } = await this.#file.stat();
    const start = Math.max(0, size - 2 * LONGEST_LINE);
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
    const isFull = this.#size >= (this.#options.fileSize ?? FILE_SIZE);
    if (this.#file === null || isFull) await this.#begin();
    return this.#put(entry);
  }

  async #put({ act, who, result, of, code, object, details = {} }: NewEntry): Promise<AuditEntry> {
    const { number, hash: previous } = this.#head;
    const told = Object.entries(details).map(([name, value]) => [name, bounded(value)] as const);
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
        told.filter(([, value]) => value !== undefined && value !== null),
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

  /** Begins a file, and deletes the oldest ones once a line says so. */
  async #begin(): Promise<void> {
    const { folder, keep = FILES, self } = this.#options;
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
  return new Failure('service_error', 'the audit log cannot be written, so that nothing was done', {
    code: 'audit_unavailable',
    detail: reason,
    cause: error,
  });
}
