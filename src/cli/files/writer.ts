import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { codedFailure, Failure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { makeFolders } from '../../folders.ts';
import { type FileRecord, OUTPUT_OUTDATED } from '../../operations/batch/batch-record.ts';
import { removeTemporaries, temporaryName } from '../../temporary.ts';
import type { Input } from './inputs.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no folder can be made there',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  EFBIG: 'the file would be larger than this system allows',
  ENAMETOOLONG: 'the name is too long',
  ENOTDIR: 'part of its path is a file',
  EEXIST: 'part of its path is a file',
  EISDIR: 'it is a folder',
};

/** Error codes of `link` on file systems without hard links (FAT, several network ones). */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

export function existsFailure(path: string): Failure {
  return codedFailure('output_exists', `${path} exists already; --overwrite replaces it`);
}

/** Compares whole milliseconds, the precision of times that Node sets. */
function isNewer(path: string, other: string): boolean {
  return valueOr(() => fs.statSync(path).mtime > fs.statSync(other).mtime, false);
}

/** The record of an input whose output exists and is kept; with a warning where the input is newer. */
export function keptOutput(
  path: string,
  { filename, source }: Input,
): Pick<FileRecord, 'status' | 'outputFilename' | 'reason' | 'warnings'> {
  const outdated = 'path' in source && isNewer(source.path, path);
  const message = `${filename} is newer; --overwrite makes the output anew`;
  return {
    status: 'skipped',
    outputFilename: path,
    reason: { code: 'output_exists', message: 'exists already' },
    ...(outdated && { warnings: [{ code: OUTPUT_OUTDATED, message }] }),
  };
}

export interface WriterOptions {
  readonly overwrite: boolean;
}

/** Writes the content of an open file. */
export type WriteContent = (descriptor: number) => undefined | Promise<void>;

/**
 * Writes each file under a temporary name and renames it, so that it appears whole or not at all, and
 * replaces no file without `overwrite`. The calls around the content are synchronous: each takes a few
 * microseconds, and ten times as long through libuv's threads, which are busy decoding.
 */
export class Writer {
  readonly #overwrite: boolean;
  readonly #prepared = new Set<string>();
  readonly #inProgress = new Set<Promise<void>>();
  #temporaries = 0;

  constructor({ overwrite }: WriterOptions) {
    this.#overwrite = overwrite;
  }

  /**
   * Writes one file.
   *
   * @param overwrite replaces this file in any case
   * @throws Failure with code `output_exists` or `write_failed`
   */
  async write(
    path: string,
    writeContent: WriteContent,
    overwrite = this.#overwrite,
  ): Promise<void> {
    const writing = this.#write(path, writeContent, overwrite);
    const settled = writing.then(
      () => {},
      () => {},
    );
    this.#inProgress.add(settled);
    try {
      await writing;
    } finally {
      this.#inProgress.delete(settled);
    }
  }

  /** Resolves when no file is being written. */
  async settled(): Promise<void> {
    await Promise.all(this.#inProgress);
  }

  async #write(path: string, writeContent: WriteContent, overwrite: boolean): Promise<void> {
    const folder = dirname(path);
    this.#temporaries += 1;
    // A short name: the file's own with a suffix might be too long.
    const temporary = join(folder, temporaryName(this.#temporaries));
    let created = false;
    try {
      await this.#prepare(folder);
      const replaced = overwrite ? fs.statSync(path, { throwIfNoEntry: false }) : undefined;
      const descriptor = fs.openSync(temporary, 'wx', replaced ? 0o600 : 0o666);
      created = true;
      try {
        await writeContent(descriptor);
        if (replaced) {
          keepOwner(descriptor, replaced);
          fs.fchmodSync(descriptor, replaced.mode);
          // The new bytes must be on disk before the rename removes the old ones.
          await promisify(fs.fsync)(descriptor);
        }
      } finally {
        fs.closeSync(descriptor);
      }
      if (overwrite) fs.renameSync(temporary, path);
      else publish(temporary, path);
    } catch (error) {
      if (created) fs.rmSync(temporary, { force: true });
      if (error instanceof Failure) throw error;
      const { code = '', message } = error as NodeJS.ErrnoException;
      throw codedFailure('write_failed', `${path} cannot be written: ${REASONS[code] ?? message}`, {
        cause: error,
      });
    }
  }

  /** Creates a folder, and removes temporary files of killed runs from it. */
  async #prepare(folder: string): Promise<void> {
    if (this.#prepared.has(folder)) return;
    await makeFolders(folder);
    removeTemporaries(folder);
    this.#prepared.add(folder);
  }
}

/** Gives a file the owner and group of the one that it replaces, as far as this user may. */
function keepOwner(descriptor: number, { uid, gid }: fs.Stats): void {
  const own = fs.fstatSync(descriptor);
  if (own.uid === uid && own.gid === gid) return;
  try {
    fs.fchownSync(descriptor, uid, gid);
  } catch {}
}

/** Renames a file unless the name is taken: `link` fails where `rename` would replace the file. */
function publish(temporary: string, path: string): void {
  try {
    fs.linkSync(temporary, path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // `existsSync` is false for a dangling link.
    if (code === 'EEXIST' || fs.existsSync(path)) throw existsFailure(path);
    if (!NO_LINKS.has(code)) throw error;
    fs.renameSync(temporary, path);
    return;
  }
  fs.unlinkSync(temporary);
}
