import { fileFailure } from '../file-error.ts';
import type { Warning } from '../output.ts';
import type { Size } from '../sizes.ts';
import {
  WEBP_FLAG,
  WEBP_HEADER_BYTES,
  type WebpChunk,
  webpChunkBytes,
  webpChunks,
  webpOf,
} from '../webp.ts';
import { type EditResult, editExif, isStripped, type MetadataEdit } from './edit.ts';
import { editXmp } from './xmp.ts';

const DISPLAYED = new Set(['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);

/**
 * Changes metadata of a WebP. All chunks of the picture stay byte by byte.
 *
 * @param size of the picture as stored, for a file that has no extended header yet
 * @throws Failure
 */
export function editWebp(bytes: Uint8Array, edit: MetadataEdit, size: Size): EditResult {
  const { chunks, trailer } = readChunks(bytes);
  const warnings: Warning[] = [];
  const stored = chunks.find(({ name }) => name === 'EXIF')?.data ?? null;
  const exif = editExif(stored, edit);
  const packet = chunks.find(({ name }) => name === 'XMP ')?.data ?? null;
  const xmp = editXmp(packet, edit, warnings);
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
  return { bytes: Buffer.concat([webpOf(written), ...rest]), warnings };
}

/** Chunks with a header that has the flags of the metadata, if there is a header or any is needed. */
function extended(chunks: readonly WebpChunk[], size: Size): WebpChunk[] {
  const has = (name: string) => chunks.some((chunk) => chunk.name === name);
  const flags =
    (has('ICCP') ? WEBP_FLAG.ICC : 0) |
    (has('EXIF') ? WEBP_FLAG.EXIF : 0) |
    (has('XMP ') ? WEBP_FLAG.XMP : 0);
  const [first, ...rest] = chunks;
  if (first?.name === 'VP8X' && first.data.length >= 10) {
    const data = Buffer.from(first.data);
    data[0] = (data[0]! & ~(WEBP_FLAG.ICC | WEBP_FLAG.EXIF | WEBP_FLAG.XMP)) | flags;
    return [{ name: 'VP8X', data }, ...rest];
  }
  if (flags === 0) return [...chunks];
  const data = Buffer.alloc(10);
  data[0] = flags | (chunks.some(hasAlpha) ? WEBP_FLAG.ALPHA : 0);
  data.writeUIntLE(size.width - 1, 4, 3);
  data.writeUIntLE(size.height - 1, 7, 3);
  return [{ name: 'VP8X', data }, ...chunks];
}

/** Whether a lossless bitstream has alpha: the bit after the signature and twice 14 bits of size. */
function hasAlpha({ name, data }: WebpChunk): boolean {
  return name === 'VP8L' && data.length > 4 && (data[4]! & 0x10) !== 0;
}

function readChunks(bytes: Uint8Array): { chunks: WebpChunk[]; trailer: Buffer } {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const damaged = () => fileFailure('corrupt_image', 'this WEBP image is damaged');
  const end = file.length < WEBP_HEADER_BYTES ? -1 : 8 + file.readUInt32LE(4);
  if (end < WEBP_HEADER_BYTES || end > file.length) throw damaged();
  const body = file.subarray(WEBP_HEADER_BYTES, end);
  const chunks = [...webpChunks(body)];
  const length = chunks.reduce((sum, { data }) => sum + webpChunkBytes(data), 0);
  if (length < body.length || chunks.findLastIndex(({ name }) => name === 'VP8X') > 0) {
    throw damaged();
  }
  return { chunks, trailer: file.subarray(end) };
}
