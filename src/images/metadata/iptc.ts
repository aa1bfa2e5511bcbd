import type { InputFormat } from '../decoding/sniff.ts';
import { photoshopOfTiff } from '../exif/copy.ts';
import { contentOf, isKind, segmentOf } from '../jpeg/metadata.ts';
import { joinJpeg, MARKER, MAX_SEGMENT_BYTES, splitJpeg } from '../jpeg/segments.ts';

/**
 * Photoshop's image resources of an input, one of which holds IPTC; null where there are none. libvips reads a quarter
 * of IPTC from TIFF, writes JPEG's resources there as if they were IPTC, and keeps the first segment of them.
 */
export function photoshopOf(format: InputFormat, file: Uint8Array): Buffer | null {
  if (format === 'tiff') return photoshopOfTiff(file);
  if (format !== 'jpeg') return null;
  try {
    const segments = splitJpeg(file).segments.filter((segment) => isKind(segment, 'photoshop'));
    if (segments.length === 0) return null;
    return Buffer.concat(segments.map((segment) => contentOf(segment, 'photoshop')));
  } catch {
    // The decoder forgives damage.
    return null;
  }
}

/** A JPEG image with these image resources in place of its own. */
export function jpegWithPhotoshop(jpeg: Uint8Array, resources: Buffer): Buffer {
  const { segments, scans } = splitJpeg(jpeg);
  const others = segments.filter((segment) => !isKind(segment, 'photoshop'));
  const first = others.findIndex(({ marker }) => marker < MARKER.APP0);
  const size = MAX_SEGMENT_BYTES - segmentOf('photoshop', Buffer.alloc(0)).data.length;
  const count = Math.ceil(resources.length / size);
  const added = Array.from({ length: count }, (_, index) =>
    segmentOf('photoshop', resources.subarray(index * size, (index + 1) * size)),
  );
  return joinJpeg([...others.slice(0, first), ...added, ...others.slice(first)], scans);
}
