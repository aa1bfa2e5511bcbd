import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { valueOr } from '../../flow.ts';

/**
 * Size, both times in nanoseconds and inode of a file: a file with the same identity has the same content,
 * unless its last change is so recent that a later one may get the same time. The change time counts too,
 * because programs can restore the modification time, and no program can set the change time.
 */
export function identityOf({ size, mtimeNs, ctimeNs, ino }: fs.BigIntStats): string {
  return `${size}-${mtimeNs}-${ctimeNs}-${ino}`;
}

/** Milliseconds between two clock ticks of a file system: kernels with 100 Hz have 10. */
const TICK = 50;
/** Milliseconds of a file system with whole or even seconds (FAT, HFS+). */
const COARSE_TICK = 2100;

/**
 * Whether a change after `now` would get another time than the last change. If not, Git calls the file racy, and
 * compares its content.
 *
 * @param now milliseconds since the epoch, before the content was read
 */
export function isSettled({ mtimeMs, ctimeMs, ctimeNs }: fs.BigIntStats, now: number): boolean {
  const tick = ctimeNs % 1_000_000_000n === 0n ? COARSE_TICK : TICK;
  const last = mtimeMs > ctimeMs ? mtimeMs : ctimeMs;
  return now - Number(last) > tick;
}

const chunk = Buffer.allocUnsafeSlow(1024 * 1024);

/**
 * Hashes a regular file.
 *
 * @param maxBytes a larger file is not hashed
 * @returns null if it is not a readable regular file, is too large, or changes while it is read
 */
export function digestFile(path: string, maxBytes: number) {
  let descriptor: number | undefined;
  try {
    // Opening a pipe without this flag would wait for its writer.
    descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const stat = fs.fstatSync(descriptor, { bigint: true });
    if (!stat.isFile() || stat.size > maxBytes) return null;
    const hash = createHash('sha256');
    for (;;) {
      const length = fs.readSync(descriptor, chunk, 0, chunk.length, null);
      if (length === 0) break;
      hash.update(chunk.subarray(0, length));
    }
    if (identityOf(fs.fstatSync(descriptor, { bigint: true })) !== identityOf(stat)) return null;
    return { stat, sha256: hash.digest('hex') };
  } catch {
    return null;
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

export function statAt(path: string) {
  return valueOr(() => fs.statSync(path, { bigint: true, throwIfNoEntry: false }), undefined);
}

export function identityAt(path: string): string | null {
  const stat = statAt(path);
  return stat ? identityOf(stat) : null;
}
