import { isUtf8 } from 'node:buffer';
import { valueOr } from '../../flow.ts';
import type { InputFormat } from '../decoding/sniff.ts';
import { photoshopOfTiff } from '../exif/copy.ts';
import {
  IPTC_RESOURCES,
  iptcOf,
  iptcResource,
  THUMBNAIL_RESOURCES,
  withoutResources,
} from '../exif/photoshop.ts';
import { decodeText } from '../exif/text.ts';
import { contentOf, isKind, segmentOf } from '../jpeg/metadata.ts';
import { joinJpeg, MARKER, MAX_SEGMENT_BYTES, type Segment, splitJpeg } from '../jpeg/segments.ts';
import type { Warning } from '../output.ts';
import { isStripped, type MetadataEdit } from './edit.ts';
import { changedTexts, placeOf, TEXT_NAMES, type TextName, type Texts } from './text-places.ts';

/**
 * Photoshop's image resources of an input, one of which holds IPTC; null where there are none. libvips reads a quarter
 * of IPTC from TIFF, writes JPEG's resources there as if they were IPTC, and keeps the first segment of them.
 */
export function photoshopOf(format: InputFormat, file: Uint8Array): Buffer | null {
  if (format === 'tiff') return photoshopOfTiff(file);
  if (format !== 'jpeg') return null;
  // The decoder forgives damage.
  return valueOr(() => photoshopOfSegments(splitJpeg(file).segments), null);
}

export function photoshopOfSegments(segments: readonly Segment[]): Buffer | null {
  const found = segments.filter((segment) => isKind(segment, 'photoshop'));
  if (found.length === 0) return null;
  return Buffer.concat(found.map((segment) => contentOf(segment, 'photoshop')));
}

/** A JPEG image with these image resources in place of its own. */
export function jpegWithPhotoshop(jpeg: Uint8Array, resources: Buffer): Buffer {
  const { segments, scans } = splitJpeg(jpeg);
  return joinJpeg(withPhotoshop(segments, resources), scans);
}

/** Segments with these image resources in place of their own. */
export function withPhotoshop(segments: readonly Segment[], resources: Buffer): Segment[] {
  const others = segments.filter((segment) => !isKind(segment, 'photoshop'));
  const first = others.findIndex(({ marker }) => marker < MARKER.APP0);
  const size = MAX_SEGMENT_BYTES - segmentOf('photoshop', Buffer.alloc(0)).data.length;
  const count = Math.ceil(resources.length / size);
  const added = Array.from({ length: count }, (_, index) =>
    segmentOf('photoshop', resources.subarray(index * size, (index + 1) * size)),
  );
  return others.toSpliced(first < 0 ? others.length : first, 0, ...added);
}

/** A data set of IPTC (IIM 4.2, 1.5). */
interface DataSet {
  readonly record: number;
  readonly dataset: number;
  readonly data: Buffer;
}

const MARK = 0x1c;
/** Data sets: the version of the second record, and the coded character set of the first. */
const [VERSION, CHARACTER_SET] = [0, 90];
const UTF8 = Buffer.from('\x1b%G', 'latin1');
/** Data sets of the second record that are no text: version, rasterised caption, preview. */
const BINARY = [VERSION, 125, 200, 201, 202];

/** The data sets up to the end or to damage. */
function dataSetsOf(records: Buffer): DataSet[] {
  const found: DataSet[] = [];
  for (let at = 0; at + 5 <= records.length && records[at] === MARK; ) {
    let length = records.readUInt16BE(at + 3);
    let start = at + 5;
    if (length > 0x7fff) {
      // An extended length has its own number of bytes.
      const bytes = length & 0x7fff;
      if (bytes < 1 || bytes > 4 || start + bytes > records.length) break;
      length = records.readUIntBE(start, bytes);
      start += bytes;
    }
    if (start + length > records.length) break;
    const data = records.subarray(start, start + length);
    found.push({ record: records[at + 1]!, dataset: records[at + 2]!, data });
    at = start + length;
  }
  return found;
}

/** The texts of records of IPTC. */
export function iptcTexts(records: Buffer): Texts {
  const all = dataSetsOf(records).filter(({ record }) => record === 2);
  const entries = TEXT_NAMES.map((name) => {
    const found = all.filter(({ dataset }) => dataset === placeOf(name).dataset);
    const texts = found.map(({ data }) => decodeText(data)).filter(Boolean);
    return [name, placeOf(name).list === 'Alt' ? texts.slice(0, 1) : texts];
  });
  return Object.fromEntries(entries);
}

/** Image resources, null for none, after an edit. */
export function editResources(
  stored: Buffer | null,
  edit: MetadataEdit,
  warnings: Warning[],
): Buffer | null {
  const removed = [
    ...(isStripped(edit, 'iptc') ? IPTC_RESOURCES : []),
    ...(isStripped(edit, 'thumbnail') ? THUMBNAIL_RESOURCES : []),
  ];
  const all = edit.strip.has('all') ? null : stored;
  const kept = all && removed.length > 0 ? withoutResources(all, removed) : all;
  const records = kept && iptcOf(kept);
  const texts = changedTexts(edit, records !== null);
  if (texts === null) return kept?.length ? kept : null;
  const others = kept ? withoutResources(kept, IPTC_RESOURCES) : Buffer.alloc(0);
  return Buffer.concat([iptcResource(withTexts(records, texts, warnings)), others]);
}

/** Records with other texts, all in UTF-8. */
function withTexts(records: Buffer | null, texts: Texts, warnings: Warning[]): Buffer {
  const names = Object.keys(texts) as TextName[];
  const changed = names.map((name) => placeOf(name).dataset);
  const former = records ? dataSetsOf(records) : [];
  const kept = former.filter(({ record, dataset }) =>
    record === 2 ? !changed.includes(dataset) : record !== 1 || dataset !== CHARACTER_SET,
  );
  const isNew = !former.some(({ record }) => record === 2);
  const shortened = new Set<TextName>();
  const added = names.flatMap((name) => {
    const { dataset, bytes } = placeOf(name);
    return texts[name]!.map((text) => {
      const whole = Buffer.from(text);
      if (whole.length > bytes) shortened.add(name);
      return { record: 2, dataset, data: upTo(whole, bytes) };
    });
  });
  if (shortened.size > 0) {
    const message = `IPTC holds only the beginning of ${[...shortened].join(', ')}; XMP or EXIF has all of it`;
    warnings.push({ code: 'iptc_shortened', message });
  }
  const all = [
    { record: 1, dataset: CHARACTER_SET, data: UTF8 },
    ...(isNew ? [{ record: 2, dataset: VERSION, data: Buffer.from([0, 4]) }] : []),
    ...kept.map(inUtf8),
    ...added,
  ].sort((one, other) => one.record - other.record);
  return Buffer.concat(
    all.flatMap(({ record, dataset, data }) => {
      const isLong = data.length > 0x7fff;
      const head = Buffer.from([MARK, record, dataset, 0, 0, ...(isLong ? [0, 0, 0, 0] : [])]);
      head.writeUInt16BE(isLong ? 0x8004 : data.length, 3);
      if (isLong) head.writeUInt32BE(data.length, 5);
      return [head, data];
    }),
  );
}

/** The first bytes of UTF-8, without a part of a character at the end. */
function upTo(text: Buffer, most: number): Buffer {
  let end = Math.min(text.length, most);
  while (end < text.length && (text[end]! & 0xc0) === 0x80) end -= 1;
  return text.subarray(0, end);
}

function inUtf8(one: DataSet): DataSet {
  const isText = one.record === 2 && !BINARY.includes(one.dataset);
  if (!isText || isUtf8(one.data)) return one;
  return { ...one, data: Buffer.from(one.data.toString('latin1')) };
}
