import { crc32 } from 'node:zlib';

/** CRC-32 and length of the payload, eight hexadecimal digits each, with a space after either. */
const HEAD = 18;
const HEAD_SHAPE = /^([0-9a-f]{8}) ([0-9a-f]{8})([ ~])$/;
const NEWLINE = 10;

/** Ends the head of a line before which the file was synced, and of one before which it was not. */
const AFTER_SYNC = ' ';
const BEFORE_SYNC = '~';

export interface Line {
  readonly payload: Buffer;
  /** Where the next line begins. */
  readonly end: number;
}

function hexadecimal(value: number): string {
  return value.toString(16).padStart(8, '0');
}

/**
 * JSON as a line of a journal: what is torn or damaged can be told from what is whole.
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

/** Where a line would end by what its head says, whether or not it is whole. */
function lineEnd(bytes: Buffer, start: number): number | null {
  const head = HEAD_SHAPE.exec(bytes.toString('latin1', start, start + HEAD));
  return head && start + HEAD + Number.parseInt(head[2]!, 16) + 1;
}

/**
 * The whole line that begins at an offset, or null. The line break may be missing at the end of the
 * file: then the line ends one byte behind it.
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
 * Whether the damaged line that begins at an offset was on disk: a whole line follows that was
 * written only after a sync. Then no crash has torn it. A power cut can lose any of the lines since
 * the last sync and keep others behind them.
 */
export function wasSynced(bytes: Buffer, damaged: number): boolean {
  const isProof = (at: number) =>
    bytes[at + HEAD - 1] === AFTER_SYNC.charCodeAt(0) && readLine(bytes, at) !== null;
  const end = lineEnd(bytes, damaged);
  // Where the line break alone is damaged, the next line begins in the middle of this one.
  if (end !== null && end < bytes.length && isProof(end)) return true;
  for (let at = bytes.indexOf(NEWLINE, damaged); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
    if (isProof(at + 1)) return true;
  }
  return false;
}
