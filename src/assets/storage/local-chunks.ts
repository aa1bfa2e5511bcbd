import type { FileHandle } from 'node:fs/promises';
import { onDisk } from './errors.ts';

/** A range of bytes, both ends included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Bytes that one read of a file requests. */
const CHUNK_BYTES = 256 * 1024;

/** Content of a file in chunks. The file is opened when the first chunk is requested. */
export async function* chunksOf(
  open: () => Promise<FileHandle>,
  { first, last }: ByteRange = { first: 0, last: Number.POSITIVE_INFINITY },
): AsyncGenerator<Buffer, void> {
  const handle = await open();
  try {
    for (let position = first; position <= last; ) {
      // A new buffer each time: a reader may still use the previous one.
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, last - position + 1));
      const { bytesRead } = await onDisk(() => handle.read(chunk, 0, chunk.length, position));
      if (bytesRead === 0) return;
      position += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
