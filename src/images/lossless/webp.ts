import { ExifEditor } from '../exif/edit.ts';
import type { Header } from '../header.ts';
import { ORIENTATION } from '../jpeg/metadata.ts';
import type { MetadataPolicy } from '../metadata.ts';

interface RiffChunk {
  readonly name: string;
  readonly data: Buffer;
  /** With its header and padding. */
  readonly stored: Buffer;
}

/** Bytes of `RIFF`, the length and `WEBP`. */
const RIFF_HEADER = 12;

/** The chunks of a RIFF file's body up to the first truncated one (RFC 9649, 2.3). */
function* chunksOf(body: Buffer): Generator<RiffChunk> {
  for (let at = 0; at + 8 <= body.length; ) {
    const length = body.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (at + 8 + length > body.length) return;
    yield {
      name: body.toString('latin1', at, at + 4),
      data: body.subarray(at + 8, at + 8 + length),
      stored: body.subarray(at, Math.min(end, body.length)),
    };
    at = end;
  }
}

function bodyOf(file: Uint8Array): Buffer {
  return Buffer.from(file.buffer, file.byteOffset, file.byteLength).subarray(RIFF_HEADER);
}

/** Bytes of a frame's place and duration (2.7.1.1). */
const FRAME_HEADER = 16;

/** Whether all pictures of a WebP are lossless. */
export function isLosslessWebp(file: Uint8Array): boolean {
  let lossless = false;
  for (const { name, data } of chunksOf(bodyOf(file))) {
    const inner = name === 'ANMF' ? [...chunksOf(data.subarray(FRAME_HEADER))] : [{ name }];
    if (inner.some((chunk) => chunk.name === 'VP8 ')) return false;
    if (inner.some((chunk) => chunk.name === 'VP8L')) lossless = true;
  }
  return lossless;
}

/** Flags of VP8X (2.7). */
const FLAG = { xmp: 0x04, exif: 0x08 } as const;

/**
 * A WebP without XMP and without EXIF but its orientation; null where the policy keeps more. The colour profile stays:
 * pixels are not converted.
 */
export function strippedWebp(
  file: Uint8Array,
  policy: MetadataPolicy,
  { oriented, metadata }: Pick<Header, 'oriented' | 'metadata'>,
): Uint8Array | null {
  if (policy === 'all' || policy === 'copyright') return null;
  const exif = ExifEditor.open(null);
  if (oriented) exif.setShort('image', ORIENTATION, metadata.orientation!);
  const block = exif.bytes();
  const parts: Buffer[] = [];
  for (const { name, data, stored } of chunksOf(bodyOf(file))) {
    if (name === 'XMP ' || name === 'EXIF') continue;
    if (name !== 'VP8X') parts.push(stored);
    else {
      const copy = Buffer.from(stored);
      const flags = data[0]! & ~(FLAG.xmp | FLAG.exif);
      copy[stored.length - data.length] = block ? flags | FLAG.exif : flags;
      parts.push(copy);
    }
  }
  if (block) parts.push(chunkOf('EXIF', block));
  const head = Buffer.from(file.subarray(0, RIFF_HEADER));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  head.writeUInt32LE(length + 4, 4);
  return Buffer.concat([head, ...parts]);
}

function chunkOf(name: string, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(8 + data.length + (data.length % 2));
  chunk.write(name, 'latin1');
  chunk.writeUInt32LE(data.length, 4);
  chunk.set(data, 8);
  return chunk;
}
