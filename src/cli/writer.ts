import {
  closeSync,
  existsSync,
  fchmodSync,
  fsync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import { makeFolders } from '../folders.ts';
import { type FileRecord, OUTPUT_OUTDATED } from '../operations/batch-record.ts';
import type { Input } from './inputs.ts';

const TEMPORARY = /^\.oriel-(\d+)-\d+\.tmp$/;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

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

/** Codes of file systems without hard links (FAT, several network ones). */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

export function existsFailure(path: string): Failure {
  return new Failure('invalid_request', `${path} exists already; --overwrite replaces it`, {
    code: 'output_exists',
  });
}

/** In whole milliseconds, of which times that Node has set consist. */
function isNewer(path: string, other: string): boolean {
  try {
    return statSync(path).mtime > statSync(other).mtime;
  } catch {
    return false;
  }
}

/** The record of an input whose output exists and stays; it warns where the input is newer. */
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

/** Writes the content of a file that is open for it. */
export type Fill = (descriptor: number) => undefined | Promise<void>;

/**
 * Writes files that appear whole or not at all, and never over another unless told so. The steps
 * around the content are taken synchronously: each is a few microseconds of the file system's work,
 * where a turn through libuv's threads, which are busy decoding, would cost ten times that.
 */
export class Writer {
  readonly #overwrite: boolean;
  readonly #prepared = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  #temporaries = 0;

  constructor({ overwrite }: WriterOptions) {
    this.#overwrite = overwrite;
  }

  /**
   * Writes one file beside its place and then gives it its name.
   *
   * @param fill writes the content
   * @throws Failure with code `output_exists` or `write_failed`
   */
  async write(path: string, fill: Fill): Promise<void> {
    const writing = this.#write(path, fill);
    const settled = writing.then(
      () => {},
      () => {},
    );
    this.#underWay.add(settled);
    try {
      await writing;
    } finally {
      this.#underWay.delete(settled);
    }
  }

  /** Resolves when no file is between its temporary name and its own. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #write(path: string, fill: Fill): Promise<void> {
    const folder = dirname(path);
    this.#temporaries += 1;
    // A short name of its own, since the file's with something added might be too long.
    const temporary = join(folder, `.oriel-${process.pid}-${this.#temporaries}.tmp`);
    let begun = false;
    try {
      await this.#prepare(folder);
      const replaced = this.#overwrite ? statSync(path, { throwIfNoEntry: false }) : undefined;
      const descriptor = openSync(temporary, 'wx');
      begun = true;
      try {
        await fill(descriptor);
        if (replaced) {
          fchmodSync(descriptor, replaced.mode);
          // What is replaced is gone afterwards: the new bytes must outlast a power cut before.
          await promisify(fsync)(descriptor);
        }
      } finally {
        closeSync(descriptor);
      }
      if (this.#overwrite) renameSync(temporary, path);
      else publish(temporary, path);
    } catch (error) {
      if (begun) rmSync(temporary, { force: true });
      if (error instanceof Failure) throw error;
      const { code = '', message } = error as NodeJS.ErrnoException;
      throw new Failure('unknown', `${path} cannot be written: ${REASONS[code] ?? message}`, {
        code: 'write_failed',
        cause: error,
      });
    }
  }

  /** Makes a folder, and sweeps out of it what a run that was killed left behind. */
  async #prepare(folder: string): Promise<void> {
    if (this.#prepared.has(folder)) return;
    await makeFolders(folder);
    for (const name of readdirSync(folder)) {
      const pid = TEMPORARY.exec(name)?.[1];
      if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(folder, name), { force: true });
    }
    this.#prepared.add(folder);
  }
}

/** Gives a file its name unless that is taken: a link fails where a rename would replace. */
function publish(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // A link that leads nowhere exists too, which only the error tells.
    if (code === 'EEXIST' || existsSync(path)) throw existsFailure(path);
    if (!NO_LINKS.has(code)) throw error;
    renameSync(temporary, path);
    return;
  }
  unlinkSync(temporary);
}
