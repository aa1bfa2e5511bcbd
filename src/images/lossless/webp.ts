import type { Header } from '../decoding/header.ts';
import { ExifEditor } from '../exif/edit.ts';
import { ORIENTATION } from '../exif/tags.ts';
import type { MetadataPolicy } from '../output.ts';
import { WEBP_FLAG, WEBP_HEADER_BYTES, type WebpChunk, webpChunks, webpOf } from '../webp.ts';

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
  { oriented, metadata }: Pick<Header, 'oriented' | 'metadata'>,
): Uint8Array | null {
  if (policy === 'all' || policy === 'copyright') return null;
  const exif = ExifEditor.open(null);
  if (oriented) exif.setShort('image', ORIENTATION, metadata.orientation!);
  const block = exif.bytes();
  const chunks: WebpChunk[] = [];
  for (const chunk of webpChunks(bodyOf(file))) {
    const { name } = chunk;
    if (name === 'XMP ' || name === 'EXIF') continue;
    if (name !== 'VP8X') chunks.push(chunk);
    else {
      const data = Buffer.from(chunk.data);
      const flags = data[0]! & ~(WEBP_FLAG.XMP | WEBP_FLAG.EXIF);
      data[0] = block ? flags | WEBP_FLAG.EXIF : flags;
      chunks.push({ name, data });
    }
  }
  if (block) chunks.push({ name: 'EXIF', data: block });
  return webpOf(chunks);
}
