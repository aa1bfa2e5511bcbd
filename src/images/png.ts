import { crc32, inflateSync } from 'node:zlib';

interface Chunk {
  readonly name: string;
  readonly data: Buffer;
  /** Where the chunk begins and ends in the file, its length and checksum included. */
  readonly start: number;
  readonly end: number;
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Signature and IHDR, which is always the first chunk: 8 bytes, then 12 around 13 of data. */
const HEADER_BYTES = 33;

/** The chunks of a PNG (ISO 15948, 5.3) up to the first that is cut off. */
export function* pngChunks(bytes: Uint8Array): Generator<Chunk> {
  const png = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return;
  for (let start = SIGNATURE.length; start + 12 <= png.length; ) {
    const end = start + 12 + png.readUInt32BE(start);
    if (end > png.length) return;
    const name = png.toString('latin1', start + 4, start + 8);
    yield { name, data: png.subarray(start + 8, end - 4), start, end };
    start = end;
  }
}

function writeChunk(name: string, data: Uint8Array): Buffer {
  const chunk = Buffer.alloc(data.length + 12);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(name, 4, 'latin1');
  chunk.set(data, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), data.length + 8);
  return chunk;
}

/** A PNG with an EXIF block added to it. */
export function pngWithExif(png: Uint8Array, exif: Uint8Array): Buffer {
  return rewrite(png, { add: [writeChunk('eXIf', exif)], remove: [] });
}

function rewrite(
  png: Uint8Array,
  { add, remove }: { readonly add: readonly Uint8Array[]; readonly remove: readonly Chunk[] },
): Buffer {
  const parts: Uint8Array[] = [png.subarray(0, HEADER_BYTES), ...add];
  let from = HEADER_BYTES;
  for (const { start, end } of remove) {
    parts.push(png.subarray(from, start));
    from = end;
  }
  return Buffer.concat([...parts, png.subarray(from)]);
}

/**
 * Moves EXIF to where libvips 8.18 reads it, into a chunk eXIf before the image data. It may also
 * stand behind them (PNG third edition, 11.3.2.4), or in a text chunk as ImageMagick and exiftool
 * write it. Bytes of any other kind come back as they are.
 */
export function exposePngExif(bytes: Uint8Array): Uint8Array {
  let imageData = false;
  let text: Chunk | undefined;
  for (const chunk of pngChunks(bytes)) {
    if (chunk.name === 'IDAT') imageData = true;
    if (chunk.name === 'eXIf') {
      if (!imageData) return bytes;
      return rewrite(bytes, { add: [bytes.subarray(chunk.start, chunk.end)], remove: [chunk] });
    }
    // The first alone: a file may have thousands, each of them long once it is inflated.
    if (rawProfile(chunk)) text ??= chunk;
  }
  const exif = text && exifOfText(text);
  return text && exif ? rewrite(bytes, { add: [writeChunk('eXIf', exif)], remove: [text] }) : bytes;
}

const RAW_PROFILES = ['Raw profile type exif', 'Raw profile type APP1'];
/** Bytes of text that are read at most: EXIF in JPEG has 64 kB, here in two digits a byte. */
const LONGEST_TEXT = 1024 * 1024;

function rawProfile({ name, data }: Chunk): string | undefined {
  if (name !== 'tEXt' && name !== 'zTXt') return undefined;
  return RAW_PROFILES.find((keyword) => data.indexOf(`${keyword}\0`, 0, 'latin1') === 0);
}

/** The EXIF block of a text chunk: a name, a count and hexadecimal digits, parted by white space. */
function exifOfText(chunk: Chunk): Uint8Array | null {
  const start = rawProfile(chunk)!.length + 1;
  const { name, data } = chunk;
  const text = name === 'tEXt' ? data.subarray(start) : inflated(data.subarray(start + 1));
  const words = text.toString('latin1', 0, LONGEST_TEXT).trim().split(/\s+/);
  const block = Buffer.from(words.slice(2).join(''), 'hex');
  const exif = block.toString('latin1', 0, 6) === 'Exif\0\0' ? block.subarray(6) : block;
  // APP1 may also hold XMP.
  return ['II*\0', 'MM\0*'].includes(exif.toString('latin1', 0, 4)) ? exif : null;
}

/** Nothing where the data are damaged or longer than EXIF is. */
function inflated(data: Uint8Array): Buffer {
  try {
    return inflateSync(data, { maxOutputLength: LONGEST_TEXT });
  } catch {
    return Buffer.alloc(0);
  }
}
