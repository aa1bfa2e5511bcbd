import { ExifEditor } from '../exif/edit.ts';
import { readExif } from '../exif/exif.ts';
import { COPYRIGHT_TAGS, ORIENTATION } from '../exif/tags.ts';
import type { MetadataPolicy } from '../output.ts';
import { MARKER, MAX_SEGMENT_BYTES, type Segment } from './segments.ts';

/** Marks at the beginning of segments, with their markers. */
const KINDS = {
  jfif: [MARKER.APP0, 'JFIF\0'],
  exif: [MARKER.APP1, 'Exif\0\0'],
  xmp: [MARKER.APP1, 'http://ns.adobe.com/xap/1.0/\0'],
  extendedXmp: [MARKER.APP1, 'http://ns.adobe.com/xmp/extension/\0'],
  icc: [MARKER.APP2, 'ICC_PROFILE\0'],
  /** Places of further pictures after the first (CIPA DC-007). */
  pictures: [MARKER.APP2, 'MPF\0'],
  photoshop: [MARKER.APP13, 'Photoshop 3.0\0'],
  adobe: [MARKER.APP14, 'Adobe'],
} as const;

export type SegmentKind = keyof typeof KINDS;

export function isKind({ marker, data }: Segment, kind: SegmentKind): boolean {
  const [expected, mark] = KINDS[kind];
  return marker === expected && data.toString('latin1', 0, mark.length) === mark;
}

/** The content of a segment after its mark. */
export function contentOf({ data }: Segment, kind: SegmentKind): Buffer {
  return data.subarray(KINDS[kind][1].length);
}

export function segmentOf(kind: SegmentKind, content: Uint8Array): Segment {
  const [marker, mark] = KINDS[kind];
  return { marker, data: Buffer.concat([Buffer.from(mark, 'latin1'), content]) };
}

export function isMetadata({ marker }: Segment): boolean {
  return (marker >= MARKER.APP0 && marker <= MARKER.APP15) || marker === MARKER.COM;
}

/** Most bytes of EXIF in its segment. */
export const MAX_EXIF_BYTES = MAX_SEGMENT_BYTES - KINDS.exif[1].length;

const [PIXEL_WIDTH, PIXEL_HEIGHT] = [0xa002, 0xa003];

/** The EXIF block of a file; null where it has none. */
export function exifOf(segments: readonly Segment[]): Buffer | null {
  const exif = segments.find((segment) => isKind(segment, 'exif'));
  return exif ? contentOf(exif, 'exif') : null;
}

/**
 * The metadata segments that a policy keeps. The colour profile and the marks of colour spaces always stay, since
 * pixels are not converted.
 *
 * @param orientation what the picture is to have; 1 needs no tag
 */
export function keptSegments(
  segments: readonly Segment[],
  policy: MetadataPolicy,
  orientation: number,
): Segment[] {
  const metadata = segments.filter(isMetadata);
  if (policy === 'all') return metadata;
  const kept = metadata
    .filter((segment) => ['jfif', 'icc', 'adobe'].some((kind) => isKind(segment, kind as 'icc')))
    .map(withoutJfifThumbnail);
  const exif = ExifEditor.open(null);
  if (orientation > 1) exif.setShort('image', ORIENTATION, orientation);
  if (policy === 'copyright') {
    const stored = exifOf(segments);
    const tags = stored && readExif(stored)?.image;
    for (const [name, tag] of Object.entries(COPYRIGHT_TAGS)) {
      const text = tags?.[name];
      if (typeof text === 'string') exif.setText('image', tag, text);
    }
  }
  const block = exif.bytes();
  return block ? withExif(kept, block) : kept;
}

/** Segments with another Exif block in place of their own, or after JFIF; null removes it. */
export function withExif(segments: readonly Segment[], block: Uint8Array | null): Segment[] {
  const added = block ? [segmentOf('exif', block)] : [];
  const index = segments.findIndex((segment) => isKind(segment, 'exif'));
  const others = segments.filter((segment) => !isKind(segment, 'exif'));
  // A camera's first segment is EXIF; that of other programs JFIF (CIPA DC-008, 4.5.5).
  const place = index >= 0 ? index : others.findIndex((segment) => !isKind(segment, 'jfif'));
  return others.toSpliced(place < 0 ? others.length : place, 0, ...added);
}

/**
 * Metadata of a picture whose orientation was changed in its blocks: displayed as it is, with other sides, without
 * thumbnails and further pictures, which were not changed.
 */
export function uprightSegments(
  segments: readonly Segment[],
  size: { readonly width: number; readonly height: number; readonly transposed: boolean },
): Segment[] {
  const kept = segments
    .filter((segment) => !isKind(segment, 'pictures') && !isThumbnail(segment))
    .map(withoutJfifThumbnail)
    .map((segment) => (size.transposed ? withSwappedDensity(segment) : segment));
  const exif = exifOf(kept);
  if (!exif || !readExif(exif)) return kept;
  const editor = ExifEditor.open(exif);
  if (editor.has('image', ORIENTATION)) editor.setShort('image', ORIENTATION, 1);
  if (editor.has('photo', PIXEL_WIDTH)) editor.setShort('photo', PIXEL_WIDTH, size.width);
  if (editor.has('photo', PIXEL_HEIGHT)) editor.setShort('photo', PIXEL_HEIGHT, size.height);
  editor.removeThumbnail();
  return withExif(kept, editor.bytes());
}

/** Whether it is JFIF's extension for thumbnails. */
export function isThumbnail({ marker, data }: Segment): boolean {
  return marker === MARKER.APP0 && data.toString('latin1', 0, 5) === 'JFXX\0';
}

/** Offsets in JFIF: densities, and the sides of the thumbnail after them. */
const [DENSITY, JFIF_THUMBNAIL] = [8, 12];

export function withoutJfifThumbnail(segment: Segment): Segment {
  const { marker, data } = segment;
  if (!isKind(segment, 'jfif') || data.length <= JFIF_THUMBNAIL + 2) return segment;
  const cut = Buffer.from(data.subarray(0, JFIF_THUMBNAIL + 2));
  cut.fill(0, JFIF_THUMBNAIL);
  return { marker, data: cut };
}

function withSwappedDensity(segment: Segment): Segment {
  const { marker, data } = segment;
  if (!isKind(segment, 'jfif') || data.length < JFIF_THUMBNAIL) return segment;
  const swapped = Buffer.from(data);
  data.copy(swapped, DENSITY, DENSITY + 2, DENSITY + 4);
  data.copy(swapped, DENSITY + 2, DENSITY, DENSITY + 2);
  return { marker, data: swapped };
}
