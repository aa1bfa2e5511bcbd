import { fileFailure } from '../file-error.ts';
import type { Warning } from '../output.ts';
import { type EditResult, editExif, editXmp, isStripped, type MetadataEdit } from './edit.ts';

interface Chunk {
  readonly name: string;
  readonly data: Buffer;
}

/** Flags of VP8X (WebP Container Specification, "Extended File Format"). */
const FLAG = { ICC: 0x20, ALPHA: 0x10, EXIF: 0x08, XMP: 0x04 } as const;
const DISPLAYED = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);

/**
 * Changes metadata of a WebP. All chunks of the picture stay byte by byte.
 *
 * @param size of the picture as stored, for a file that has no extended header yet
 * @throws Failure
 */
export function editWebp(
  bytes: Uint8Array,
  edit: MetadataEdit,
  size: { readonly width: number; readonly height: number },
): EditResult {
  const { chunks, trailer } = readChunks(bytes);
  const warnings: Warning[] = [];
  const stored = chunks.find(({ name }) => name === 'EXIF')?.data ?? null;
  const exif = editExif(stored, edit);
  const packet = chunks.find(({ name }) => name === 'XMP ')?.data ?? null;
  const xmp = packet && editXmp(packet, edit, warnings);
  const others = chunks.filter(({ name }) => {
    if (name === 'EXIF' || name === 'XMP ') return false;
    if (name === 'ICCP') return !isStripped(edit, 'icc');
    return !edit.strip.has('all') || DISPLAYED.has(name);
  });
  const metadata = [
    ...(exif ? [{ name: 'EXIF', data: Buffer.from(exif) }] : []),
    ...(xmp ? [{ name: 'XMP ', data: xmp }] : []),
  ];
  const written = extended([...others, ...metadata], size);
  const rest = edit.strip.has('all') ? [] : [trailer];
  return { bytes: Buffer.concat([writeChunks(written), ...rest]), warnings };
}

/** Chunks with a header that has the flags of the metadata, if there is a header or any is needed. */
function extended(chunks: readonly Chunk[], size: { width: number; height: number }): Chunk[] {
  const has = (name: string) => chunks.some((chunk) => chunk.name === name);
  const flags =
    (has('ICCP') ? FLAG.ICC : 0) | (has('EXIF') ? FLAG.EXIF : 0) | (has('XMP ') ? FLAG.XMP : 0);
  const [first, ...rest] = chunks;
  if (first?.name === 'VP8X' && first.data.length >= 10) {
    const data = Buffer.from(first.data);
    data[0] = (data[0]! & ~(FLAG.ICC | FLAG.EXIF | FLAG.XMP)) | flags;
    return [{ name: 'VP8X', data }, ...rest];
  }
  if (flags === 0) return [...chunks];
  const data = Buffer.alloc(10);
  data[0] = flags | (chunks.some(hasAlpha) ? FLAG.ALPHA : 0);
  data.writeUIntLE(size.width - 1, 4, 3);
  data.writeUIntLE(size.height - 1, 7, 3);
  return [{ name: 'VP8X', data }, ...chunks];
}

/** Whether a lossless bitstream has alpha: the bit after the signature and twice 14 bits of size. */
function hasAlpha({ name, data }: Chunk): boolean {
  return name === 'VP8L' && data.length > 4 && (data[4]! & 0x10) !== 0;
}

function readChunks(bytes: Uint8Array): { chunks: Chunk[]; trailer: Buffer } {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const damaged = () => fileFailure('corrupt_image', 'this WEBP image is damaged');
  const end = file.length < 12 ? -1 : 8 + file.readUInt32LE(4);
  if (end < 12 || end > file.length) throw damaged();
  const chunks: Chunk[] = [];
  for (let at = 12; at < end; ) {
    const stop = at + 8 > end ? end + 1 : at + 8 + file.readUInt32LE(at + 4);
    if (stop > end) throw damaged();
    chunks.push({ name: file.toString('latin1', at, at + 4), data: file.subarray(at + 8, stop) });
    at = stop + (stop % 2);
  }
  if (chunks.findLastIndex(({ name }) => name === 'VP8X') > 0) throw damaged();
  return { chunks, trailer: file.subarray(end) };
}

function writeChunks(chunks: readonly Chunk[]): Buffer {
  const parts = chunks.flatMap(({ name, data }) => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return [head, data, Buffer.alloc(data.length % 2)];
  });
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(12);
  head.write('RIFF', 'latin1');
  head.writeUInt32LE(body.length + 4, 4);
  head.write('WEBP', 8, 'latin1');
  return Buffer.concat([head, body]);
}
