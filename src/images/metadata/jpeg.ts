import { fileFailure } from '../file-error.ts';
import {
  contentOf,
  isKind,
  isMetadata,
  isThumbnail,
  MAX_EXIF_BYTES,
  segmentOf,
  withExif,
  withoutJfifThumbnail,
} from '../jpeg/metadata.ts';
import { correctPictures } from '../jpeg/pictures.ts';
import {
  joinJpeg,
  MARKER,
  MAX_SEGMENT_BYTES,
  pictureEnd,
  type Segment,
  splitJpeg,
} from '../jpeg/segments.ts';
import type { Warning } from '../output.ts';
import { type EditResult, editExif, isStripped, type MetadataEdit } from './edit.ts';
import { editResources, photoshopOfSegments, withPhotoshop } from './iptc.ts';
import { editXmp, withoutGps, XMP_LOST } from './xmp.ts';

/** Segments without which colours would be others. */
const COLOUR_KINDS = ['jfif', 'icc', 'adobe'] as const;

/** Changes metadata of a JPEG. Tables and scans stay byte by byte. @throws Failure */
export function editJpeg(bytes: Uint8Array, edit: MetadataEdit): EditResult {
  const file = splitJpeg(bytes);
  const warnings: Warning[] = [];
  const exifs = file.segments.filter((segment) => isKind(segment, 'exif'));
  if (exifs.length > 1 && !isStripped(edit, 'exif')) {
    const message = 'EXIF in several segments cannot be changed; strip exif removes it';
    throw fileFailure('metadata_not_writable', message);
  }
  const stored = exifs[0] ? contentOf(exifs[0], 'exif') : null;
  const exif = editExif(stored, edit);
  if (exif && exif.length > MAX_EXIF_BYTES) {
    const message = `EXIF would have ${exif.length} bytes, more than the ${MAX_EXIF_BYTES} of JPEG`;
    throw fileFailure('metadata_not_writable', message);
  }
  const without = edit.strip.has('gps')
    ? withoutExtendedGps(file.segments, warnings)
    : file.segments;
  const kept = without.flatMap((segment) => editSegment(segment, edit));
  const shared = withTexts(file.segments, kept, edit, warnings);
  const segments = exif === stored ? shared : withExif(shared, exif);
  const end = pictureEnd(file.scans);
  const trailer = file.scans.length - end;
  if (edit.strip.has('all'))
    return { bytes: joinJpeg(segments, file.scans.subarray(0, end)), warnings };
  const edited = joinJpeg(segments, file.scans);
  correctPictures(bytes, edited, trailer);
  if (edit.strip.has('gps') && file.scans.includes('Exif\0\0', end, 'latin1')) {
    const message =
      'pictures after the first one have EXIF, which was not changed; strip all removes them';
    warnings.push({ code: 'trailer_unchanged', message });
  }
  return { bytes: edited, warnings };
}

/** A segment after an edit, EXIF excepted; none where it is removed. */
function editSegment(segment: Segment, edit: MetadataEdit): Segment[] {
  if (!isMetadata(segment) || isKind(segment, 'exif')) return [segment];
  if (isKind(segment, 'icc')) return isStripped(edit, 'icc') ? [] : [segment];
  if (isKind(segment, 'jfif')) return [editJfif(segment, edit)];
  if (edit.strip.has('all'))
    return COLOUR_KINDS.some((kind) => isKind(segment, kind)) ? [segment] : [];
  if (isThumbnail(segment)) return isStripped(edit, 'thumbnail') ? [] : [segment];
  if (segment.marker === MARKER.COM) return isStripped(edit, 'comments') ? [] : [segment];
  if (isKind(segment, 'extendedXmp')) return isStripped(edit, 'xmp') ? [] : [segment];
  return [segment];
}

/** Segments with XMP and image resources after an edit. */
function withTexts(
  stored: readonly Segment[],
  segments: readonly Segment[],
  edit: MetadataEdit,
  warnings: Warning[],
): readonly Segment[] {
  const packet = stored.find((segment) => isKind(segment, 'xmp'));
  const content = packet ? contentOf(packet, 'xmp') : null;
  const xmp = editXmp(content, edit, warnings);
  let all = segments;
  if (xmp !== content) {
    const added = xmp ? [segmentOf('xmp', xmp)] : [];
    if (xmp && added[0]!.data.length > MAX_SEGMENT_BYTES) {
      const message = `XMP would have ${xmp.length} bytes, more than a segment of JPEG`;
      throw fileFailure('metadata_not_writable', message);
    }
    const others = all.filter((segment) => segment !== packet);
    const place = others.findIndex((one) => !isKind(one, 'jfif') && !isKind(one, 'exif'));
    all = others.toSpliced(place < 0 ? others.length : place, 0, ...added);
  }
  const former = photoshopOfSegments(stored);
  const resources = editResources(former, edit, warnings);
  return resources === former ? all : withPhotoshop(all, resources ?? Buffer.alloc(0));
}

/** Bytes before a part of extended XMP: its digest, length and offset (XMP Specification Part 3, 1.1.3.1). */
const PART_HEADER = 40;

/** Segments without extended XMP if it has a position: a digest of the whole forbids to change it. */
function withoutExtendedGps(segments: readonly Segment[], warnings: Warning[]) {
  const parts = segments.filter((segment) => isKind(segment, 'extendedXmp'));
  const whole = Buffer.concat(
    parts.map((part) => contentOf(part, 'extendedXmp').subarray(PART_HEADER)),
  );
  if (withoutGps(whole) === whole) return segments;
  warnings.push(XMP_LOST);
  return segments.filter((segment) => !parts.includes(segment));
}

/** Offsets in JFIF: unit of the densities, and the densities. */
const [UNIT, DENSITIES] = [7, 8];

function editJfif(segment: Segment, edit: MetadataEdit): Segment {
  const kept = isStripped(edit, 'thumbnail') ? withoutJfifThumbnail(segment) : segment;
  const dpi = edit.set.findLast((change) => change.dpi !== undefined)?.dpi;
  if (dpi === undefined || kept.data.length < DENSITIES + 4) return kept;
  const data = Buffer.from(kept.data);
  data[UNIT] = dpi === null ? 0 : 1;
  data.writeUInt16BE(dpi ?? 1, DENSITIES);
  data.writeUInt16BE(dpi ?? 1, DENSITIES + 2);
  return { marker: kept.marker, data };
}
