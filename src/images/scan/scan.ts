import { readHeader, type Size } from '../decoding/header.ts';
import { orientationOf, readExif } from '../exif/exif.ts';
import { fileFailure } from '../file-error.ts';
import { isTruncatedGif } from '../gif.ts';
import type { ImageInput } from '../input.ts';
import { isFrameHeader } from '../jpeg/frame.ts';
import { exifOf, isKind } from '../jpeg/metadata.ts';
import { damaged, joinJpeg, MARKER, readSegment, type Segment } from '../jpeg/segments.ts';
import { checkPixels } from '../limits.ts';
import type { EditResult, MetadataEdit } from '../metadata/edit.ts';
import { editJpeg } from '../metadata/jpeg.ts';
import { editPng } from '../metadata/png.ts';
import { editWebp } from '../metadata/webp.ts';
import { withoutGps } from '../metadata/xmp.ts';
import { pngChunks } from '../png/chunks.ts';
import { exifOfText } from '../png/png.ts';
import { sniff } from '../sniff.ts';
import { WEBP_HEADER_BYTES, type WebpChunk, webpOf } from '../webp.ts';

/** Facts of a file that its headers give. */
export interface Scan {
  /** Name of the format of the content, also of one that is not read. */
  readonly format: string;
  /** Pixels of one frame as displayed; undefined for formats that are not read. */
  readonly width?: number;
  readonly height?: number;
  /** Kinds of metadata among those that were asked for. */
  readonly metadata: readonly string[];
}

/** Bytes that are read at once. Segments and chunks that are longer are read as a whole. */
const WINDOW = 4096;
/** Chunks of metadata that are longer are not looked at, nor files of more segments or chunks. */
const MAX_CHUNK = 16 * 1024 * 1024;
const MAX_PARTS = 100_000;
/** Bytes of the end of a JPEG in which its last marker is looked for at once. */
const TAIL = 65_536;
/** Bits of a side in the header of a bitstream of WebP. */
const SIDE = 0x3fff;
const FILL = Buffer.from([0xff, 0xff]);
const END = Buffer.from([0xff, MARKER.EOI]);
/** A scan without a picture, and the end. */
const EMPTY_SCAN = Buffer.from([0xff, MARKER.SOS, 0, 2, 0xff, MARKER.EOI]);
/** Chunks of PNG and WebP that hold compressed pictures. */
const PICTURES = new Set(['IDAT', 'fdAT', 'VP8 ', 'VP8L', 'ALPH', 'ANMF']);

/**
 * Reads the headers of a file and skips its compressed pictures: no pixel is decoded, and of JPEG, PNG and WebP only
 * the headers are read from the disk.
 *
 * @param kinds metadata to look for
 * @throws Failure corrupt_image for files that break off, unsupported_format for files that are no images,
 *   image_too_large for pictures beyond the limit of pixels
 */
export async function scanImage(input: ImageInput, kinds: readonly string[]): Promise<Scan> {
  const scan = await scanFormat(input, kinds);
  const { width = 0, height = 0 } = scan;
  checkPixels({ width, height, pages: 1 }, input.limits);
  return scan;
}

async function scanFormat(input: ImageInput, kinds: readonly string[]): Promise<Scan> {
  if (input.size === 0) throw fileFailure('empty_file', 'the file is empty');
  const sniffed = sniff(input.part(0, 512));
  if (sniffed === null) throw fileFailure('unsupported_format', 'not an image of a known format');
  if ('unsupported' in sniffed) return { format: sniffed.unsupported, metadata: [] };
  const { format } = sniffed;
  switch (format) {
    case 'jpeg':
      return scanJpeg(input, kinds);
    case 'png':
      return scanPng(input, kinds);
    case 'webp':
      return scanWebp(input, kinds);
    case 'svg':
    case 'heic':
      return { format, metadata: [] };
    default:
      return scanDecoded(input, kinds);
  }
}

/** Facts that the decoder reads. */
async function scanDecoded(input: ImageInput, kinds: readonly string[]): Promise<Scan> {
  const { format, width, height, exif, metadata } = await readHeader(input);
  if (format === 'gif' && isTruncatedGif(input.file)) throw brokenOff('GIF');
  if (format === 'avif' && boxesEnd(input) > input.size) throw brokenOff('AVIF');
  const tags = exif && readExif(exif);
  const { xmp, iptc, icc } = metadata;
  const gps = (tags && 'GPSLatitude' in tags.gps) || (xmp && withoutGps(xmp) !== xmp);
  const photo = tags && Object.keys({ ...tags.photo, ...tags.gps }).length > 0;
  const has = { gps, exif: photo, xmp, iptc, icc, all: photo || xmp || iptc };
  return { format, width, height, metadata: kinds.filter((kind) => has[kind as keyof typeof has]) };
}

/** The end of the last box of a file (ISO/IEC 14496-12, 4.2). */
function boxesEnd(input: ImageInput): number {
  const take = rangeReader(input);
  let at = 0;
  while (at + 16 <= input.size) {
    const head = take(at, 16);
    const short = head.readUInt32BE(0);
    const length = short === 1 ? Number(head.readBigUInt64BE(8)) : short;
    // The last box may have no length.
    if (length < 8) break;
    at += length;
  }
  return at;
}

function brokenOff(format: string) {
  return fileFailure('corrupt_image', `this ${format} image is damaged: it breaks off`);
}

/** Kinds of metadata whose removal changes a file. @param edit may rewrite the file in any case */
function kindsIn(kinds: readonly string[], edit: (edit: MetadataEdit) => EditResult): string[] {
  const without = (...strip: string[]) => edit({ strip: new Set(strip), set: [] }).bytes;
  const same = without();
  return kinds.filter((kind) => {
    try {
      return !without(kind).equals(same);
    } catch {
      // EXIF that cannot be changed may have anything in it.
      return true;
    }
  });
}

/** Reads ranges of a file, small ones through a window. Shorter at the end of the file. */
function rangeReader(input: ImageInput): (at: number, length: number) => Buffer {
  let start = 0;
  let window = input.part(0, WINDOW);
  return (at, length) => {
    if (at < start || at + length > start + window.length) {
      start = at;
      window = input.part(at, Math.max(length, WINDOW));
    }
    return window.subarray(at - start, at - start + length);
  };
}

/** Width and height as displayed: orientations from 5 on exchange them. */
function displayed(width: number, height: number, exif: Uint8Array | null) {
  return orientationOf(exif) < 5 ? { width, height } : { width: height, height: width };
}

async function scanJpeg(input: ImageInput, kinds: readonly string[]): Promise<Scan> {
  const take = rangeReader(input);
  const segments: Segment[] = [];
  let at = 2;
  for (;;) {
    while (take(at, 2).equals(FILL)) at += 1;
    const head = take(at, 4);
    const length = head.length < 4 ? 0 : head.readUInt16BE(2);
    const { marker, data } = readSegment(take(at, 2 + length), 0);
    if (marker === MARKER.EOI || segments.length > MAX_PARTS) throw damaged('it has no scan');
    at += 2 + length;
    if (marker === MARKER.SOS) break;
    // Their offsets count from the start of the whole file.
    if (!isKind({ marker, data }, 'pictures')) segments.push({ marker, data: Buffer.from(data) });
  }
  if (!hasEnd(input, at)) throw brokenOff('JPEG');
  const frame = segments.find(({ marker }) => isFrameHeader(marker))?.data;
  if (!frame || frame.length < 6) throw damaged('it has no frame header');
  const [height, width] = [frame.readUInt16BE(1), frame.readUInt16BE(3)];
  const withoutPicture = joinJpeg(segments, EMPTY_SCAN);
  return {
    format: 'jpeg',
    // A height of 0 stands after the first scan.
    ...(height === 0
      ? sizeOf(await readHeader(input))
      : displayed(width, height, exifOf(segments))),
    metadata: kindsIn(kinds, (edit) => editJpeg(withoutPicture, edit)),
  };
}

/** Whether a JPEG has the marker of its end, after which cameras append other data. */
function hasEnd(input: ImageInput, from: number): boolean {
  for (let end = input.size; end > from; end -= TAIL - 1) {
    const start = Math.max(from, end - TAIL);
    if (input.part(start, end - start).includes(END)) return true;
  }
  return false;
}

function scanPng(input: ImageInput, kinds: readonly string[]): Scan {
  const take = rangeReader(input);
  const parts: Buffer[] = [Buffer.from(take(0, 8))];
  for (let at = 8, name = ''; name !== 'IEND'; ) {
    const head = take(at, 8);
    const length = head.length < 8 ? input.size : 12 + head.readUInt32BE(0);
    if (at + length > input.size || parts.length > MAX_PARTS) throw brokenOff('PNG');
    name = head.toString('latin1', 4, 8);
    if (!PICTURES.has(name) && length < MAX_CHUNK) parts.push(Buffer.from(take(at, length)));
    at += length;
  }
  const withoutPicture = Buffer.concat(parts);
  const chunks = [...pngChunks(withoutPicture)];
  const [header] = chunks;
  if (header?.name !== 'IHDR' || header.data.length < 13) throw brokenOff('PNG');
  const texts = () => chunks.map(exifOfText).find((exif) => exif !== null) ?? null;
  const exif = chunks.find(({ name }) => name === 'eXIf')?.data ?? texts();
  return {
    format: 'png',
    ...displayed(header.data.readUInt32BE(0), header.data.readUInt32BE(4), exif),
    metadata: kindsIn(kinds, (edit) => editPng(withoutPicture, edit)),
  };
}

function scanWebp(input: ImageInput, kinds: readonly string[]): Scan {
  const take = rangeReader(input);
  const end = input.size < WEBP_HEADER_BYTES ? 0 : 8 + take(0, 8).readUInt32LE(4);
  if (end < WEBP_HEADER_BYTES || end > input.size) throw brokenOff('WEBP');
  const chunks: WebpChunk[] = [];
  for (let at = WEBP_HEADER_BYTES; at + 8 <= end; ) {
    const head = take(at, 8);
    const [name, length] = [head.toString('latin1', 0, 4), head.readUInt32LE(4)];
    if (at + 8 + length > end || chunks.length > MAX_PARTS) throw brokenOff('WEBP');
    const kept = PICTURES.has(name) || length > MAX_CHUNK ? Math.min(length, 16) : length;
    chunks.push({ name, data: Buffer.from(take(at + 8, kept)) });
    at += 8 + length + (length % 2);
  }
  const [first] = chunks;
  const exif = chunks.find(({ name }) => name === 'EXIF')?.data ?? null;
  const size = first ? webpSize(first) : null;
  if (size === null) throw brokenOff('WEBP');
  const withoutPicture = webpOf(chunks);
  return {
    format: 'webp',
    ...displayed(size.width, size.height, exif),
    metadata: kindsIn(kinds, (edit) => editWebp(withoutPicture, edit, size)),
  };
}

/** The size in the first chunk of a WebP (RFC 9649, 2.5 to 2.7); null where it breaks off. */
function webpSize({ name, data }: WebpChunk): Size | null {
  if (data.length < 10) return null;
  if (name === 'VP8X')
    return { width: 1 + data.readUIntLE(4, 3), height: 1 + data.readUIntLE(7, 3) };
  if (name === 'VP8 ')
    return { width: data.readUInt16LE(6) & SIDE, height: data.readUInt16LE(8) & SIDE };
  const bits = data.readUInt32LE(1);
  return name === 'VP8L' ? { width: 1 + (bits & SIDE), height: 1 + ((bits >>> 14) & SIDE) } : null;
}

function sizeOf({ width, height }: Size): Size {
  return { width, height };
}
