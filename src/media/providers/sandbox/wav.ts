import type { FileHandle } from 'node:fs/promises';
import { riffChunk } from '../../../images/webp.ts';

/** Chunks of a file that are read. */
const MAX_CHUNKS = 64;

/** Bytes of a comment that are read. */
const MAX_COMMENT_BYTES = 128 * 1024;

/** A RIFF WAVE file of one channel of 16 bits, with a comment as INFO list (RIFF specification, 1991). */
export function wavFile(samples: Buffer, sampleRate: number, comment: string): Buffer {
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(sampleRate, 4);
  format.writeUInt32LE(sampleRate * 2, 8);
  format.writeUInt16LE(2, 12);
  format.writeUInt16LE(16, 14);
  const info = Buffer.concat([
    Buffer.from('INFO'),
    ...riffChunk('ICMT', Buffer.from(`${comment}\0`)),
  ]);
  const content = [
    Buffer.from('WAVE'),
    riffChunk('fmt ', format),
    riffChunk('data', samples),
    riffChunk('LIST', info),
  ];
  return Buffer.concat(riffChunk('RIFF', Buffer.concat(content.flat())));
}

export interface WavDescription {
  /** Duration in seconds; null where the headers do not say it. */
  readonly seconds: number | null;
  readonly comment: string | null;
}

/** Reads duration and comment of a RIFF WAVE file, whose headers may be wrong. */
export async function describeWav(file: FileHandle): Promise<WavDescription> {
  const { size: fileBytes } = await file.stat();
  let bytesPerSecond = 0;
  let seconds: number | null = null;
  let comment: string | null = null;
  let position = 12;
  for (let count = 0; count < MAX_CHUNKS; count += 1) {
    const head = await bytesAt(file, position, 8);
    if (head.length < 8) break;
    const id = head.toString('latin1', 0, 4);
    const size = head.readUInt32LE(4);
    if (id === 'fmt ') {
      const format = await bytesAt(file, position + 8, 16);
      bytesPerSecond = format.length === 16 ? format.readUInt32LE(8) : 0;
    } else if (id === 'data' && bytesPerSecond > 0) {
      // Files that were streamed have the largest size in their headers.
      seconds = Math.min(size, Math.max(0, fileBytes - position - 8)) / bytesPerSecond;
    } else if (id === 'LIST') {
      comment ??= commentIn(await bytesAt(file, position + 8, Math.min(size, MAX_COMMENT_BYTES)));
    }
    position += 8 + size + (size % 2);
  }
  return { seconds, comment };
}

function commentIn(list: Buffer): string | null {
  if (list.toString('latin1', 0, 8) !== 'INFOICMT' || list.length < 12) return null;
  const text = list.toString('utf8', 12, 12 + list.readUInt32LE(8));
  const end = text.indexOf('\0');
  return end === -1 ? text : text.slice(0, end);
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
