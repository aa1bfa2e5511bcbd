import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Length of the head: CRC-32 and length of the payload, eight hexadecimal digits each, each with one character after it. */
const HEAD = 18;
const HEAD_SHAPE = /^([0-9a-f]{8}) ([0-9a-f]{8})([ ~])$/;
const NEWLINE = 10;

/** Last character of the head: whether the file was synced before the line was written. */
const AFTER_SYNC = ' ';
const BEFORE_SYNC = '~';

export interface Line {
  readonly payload: Buffer;
  /** Offset of the next line. */
  readonly end: number;
}

function hexadecimal(value: number): string {
  return value.toString(16).padStart(8, '0');
}

/**
 * Encodes JSON as a line whose checksum shows whether it is complete and undamaged.
 *
 * @param afterSync whether all lines before it are on disk
 */
export function encodeLine(json: string, afterSync = true): Buffer {
  const length = Buffer.byteLength(json);
  const line = Buffer.allocUnsafe(HEAD + length + 1);
  line.write(json, HEAD);
  const checksum = crc32(line.subarray(HEAD, HEAD + length));
  const mark = afterSync ? AFTER_SYNC : BEFORE_SYNC;
  line.write(`${hexadecimal(checksum)} ${hexadecimal(length)}${mark}`, 'latin1');
  line[HEAD + length] = NEWLINE;
  return line;
}

/** Offset of the end of a line according to its head, whether or not the line is complete. */
function lineEnd(bytes: Buffer, start: number): number | null {
  const head = HEAD_SHAPE.exec(bytes.toString('latin1', start, start + HEAD));
  return head && start + HEAD + Number.parseInt(head[2]!, 16) + 1;
}

/**
 * The complete line at an offset, or null. The last line break of the file may be missing: then the
 * line ends one byte after the file.
 */
export function readLine(bytes: Buffer, start: number): Line | null {
  const end = lineEnd(bytes, start);
  if (end === null || (bytes[end - 1] ?? NEWLINE) !== NEWLINE || end > bytes.length + 1)
    return null;
  const payload = bytes.subarray(start + HEAD, end - 1);
  const checksum = Number.parseInt(bytes.toString('latin1', start, start + 8), 16);
  return crc32(payload) === checksum ? { payload, end } : null;
}

/**
 * Whether the damaged line at an offset was on disk: a complete line follows that was written after a
 * sync. Then the damage is not that of a crash. A power cut can lose any of the lines since the last sync
 * and keep later ones.
 */
export function wasSynced(bytes: Buffer, damaged: number): boolean {
  const isProof = (at: number) =>
    bytes[at + HEAD - 1] === AFTER_SYNC.charCodeAt(0) && readLine(bytes, at) !== null;
  const end = lineEnd(bytes, damaged);
  // If only the line break is damaged, the next line begins in the middle of this one.
  if (end !== null && end < bytes.length && isProof(end)) return true;
  for (let at = bytes.indexOf(NEWLINE, damaged); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
    if (isProof(at + 1)) return true;
  }
  return false;
}

/** Bytes that one read for the end of a file requests. */
const CHUNK = 64 * 1024;

/** Bytes up to the last line break: the line after it is being written. */
export async function lengthOfLines(handle: FileHandle, size: number): Promise<number> {
  const chunk = Buffer.alloc(CHUNK);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - CHUNK);
    const { bytesRead } = await handle.read(chunk, 0, end - start, start);
    const found = chunk.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (found !== -1) return start + found + 1;
    end = start;
  }
  return 0;
}
