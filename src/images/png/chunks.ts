import { crc32 } from 'node:zlib';

export interface PngChunk {
  readonly name: string;
  readonly data: Buffer;
  /** The chunk as it is stored: length, name, data and checksum. */
  readonly stored: Buffer;
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** The chunks of a PNG (ISO 15948, 5.3) up to the first truncated one; none of other formats. */
export function* pngChunks(bytes: Uint8Array): Generator<PngChunk> {
  const png = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return;
  for (let at = SIGNATURE.length; at + 12 <= png.length; ) {
    const end = at + 12 + png.readUInt32BE(at);
    if (end > png.length) return;
    yield readChunk(png.subarray(at, end));
    at = end;
  }
}

function readChunk(stored: Buffer): PngChunk {
  return { name: stored.toString('latin1', 4, 8), data: stored.subarray(8, -4), stored };
}

export function pngChunk(name: string, data: Uint8Array): PngChunk {
  const stored = Buffer.alloc(data.length + 12);
  stored.writeUInt32BE(data.length);
  stored.write(name, 4, 'latin1');
  stored.set(data, 8);
  stored.writeUInt32BE(crc32(stored.subarray(4, -4)), data.length + 8);
  return readChunk(stored);
}

export function pngOf(chunks: readonly PngChunk[]): Buffer {
  return Buffer.concat([SIGNATURE, ...chunks.map(({ stored }) => stored)]);
}

/** Length of the PNG that `pngOf` makes of the chunks. */
export function pngLength(chunks: readonly PngChunk[]): number {
  return chunks.reduce((sum, { stored }) => sum + stored.length, SIGNATURE.length);
}
