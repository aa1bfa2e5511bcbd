/** A chunk of a WebP file (RFC 9649, 2.3). */
export interface WebpChunk {
  readonly name: string;
  readonly data: Buffer;
}

/** Flags of the chunk VP8X (2.7). */
export const WEBP_FLAG = { ICC: 0x20, ALPHA: 0x10, EXIF: 0x08, XMP: 0x04 } as const;

/** Bytes of `RIFF`, the length and `WEBP`. */
export const WEBP_HEADER_BYTES = 12;

/** The chunks in the body of a file or of a frame, up to the first truncated one. */
export function* webpChunks(body: Buffer): Generator<WebpChunk> {
  for (let at = 0; at + 8 <= body.length; ) {
    const data = body.subarray(at + 8, at + 8 + body.readUInt32LE(at + 4));
    if (data.length < body.readUInt32LE(at + 4)) return;
    yield { name: body.toString('latin1', at, at + 4), data };
    at += webpChunkBytes(data);
  }
}

/** Bytes of a chunk with its name, its length and its padding. */
export const webpChunkBytes = ({ length }: Uint8Array): number => 8 + length + (length % 2);

/** The parts of a chunk of RIFF, which is padded to an even length. */
export function riffChunk(name: string, data: Buffer): readonly Buffer[] {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return [head, data, Buffer.alloc(data.length % 2)];
}

export function webpOf(chunks: readonly WebpChunk[]): Buffer {
  const parts = chunks.flatMap(({ name, data }) => riffChunk(name, data));
  return Buffer.concat(riffChunk('RIFF', Buffer.concat([Buffer.from('WEBP'), ...parts])));
}
