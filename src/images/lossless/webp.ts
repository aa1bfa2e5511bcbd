import type { Header } from '../decoding/header.ts';
import { editWebp } from '../metadata/webp.ts';
import type { MetadataPolicy } from '../output.ts';
import { WEBP_HEADER_BYTES, webpChunks } from '../webp.ts';

function bodyOf(file: Uint8Array): Buffer {
  return Buffer.from(file.buffer, file.byteOffset, file.byteLength).subarray(WEBP_HEADER_BYTES);
}

/** Bytes of a frame's place and duration (2.7.1.1). */
const FRAME_HEADER = 16;

/** Whether all pictures of a WebP are lossless. */
export function isLosslessWebp(file: Uint8Array): boolean {
  let lossless = false;
  for (const { name, data } of webpChunks(bodyOf(file))) {
    const inner = name === 'ANMF' ? [...webpChunks(data.subarray(FRAME_HEADER))] : [{ name }];
    if (inner.some((chunk) => chunk.name === 'VP8 ')) return false;
    if (inner.some((chunk) => chunk.name === 'VP8L')) lossless = true;
  }
  return lossless;
}

/**
 * A WebP without XMP and without EXIF but its orientation; null where the policy keeps more. The colour profile stays:
 * pixels are not converted.
 */
export function strippedWebp(
  file: Uint8Array,
  policy: MetadataPolicy,
  { metadata }: Pick<Header, 'metadata'>,
): Uint8Array | null {
  if (policy === 'all' || policy === 'copyright') return null;
  const { width, height, pageHeight = height } = metadata;
  return editWebp(file, { strip: new Set(['all']), set: [] }, { width, height: pageHeight }).bytes;
}
