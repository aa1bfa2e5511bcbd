import { valueOr } from '../../flow.ts';
import { isTruncatedAvif } from '../avif.ts';
import { readHeader, type Size } from '../decoding/header.ts';
import { sniff } from '../decoding/sniff.ts';
import { orientationOf, readExif } from '../exif/exif.ts';
import { damagedImage, fileFailure } from '../file-error.ts';
import { isTruncatedGif } from '../gif.ts';
import type { ImageInput } from '../input.ts';
import { isFrameHeader } from '../jpeg/frame.ts';
import { exifOf, isKind } from '../jpeg/metadata.ts';
import { damaged, joinJpeg, MARKER, splitJpeg } from '../jpeg/segments.ts';
import { checkPixels } from '../limits.ts';
import type { EditResult, MetadataEdit } from '../metadata/edit.ts';
import { editJpeg } from '../metadata/jpeg.ts';
import { editPng } from '../metadata/png.ts';
import { editWebp } from '../metadata/webp.ts';
import { withoutGps } from '../metadata/xmp.ts';
import { pngChunks } from '../png/chunks.ts';
import { exifOfText } from '../png/png.ts';
import { isProgramFormat } from '../program-formats.ts';
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

/** Bytes that are read at once. Chunks that are longer are read as a whole. */
const WINDOW = 4096;
/** Chunks of metadata that are longer are not looked at, nor files of more chunks. */
const MAX_CHUNK = 16 * 1024 * 1024;
const MAX_PARTS = 100_000;
/** Bytes of the end of a JPEG in which its last marker is looked for at once. */
const TAIL = 65_536;
/** Bits of a side in the header of a bitstream of WebP. */
const SIDE = 0x3fff;
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
  // To rules, AVIF is one format, which Oriel does not decode if it moves.
  if ('unsupported' in sniffed)
    return { format: sniffed.unsupported.replace('animated AVIF', 'avif'), metadata: [] };
  const { format } = sniffed;
  // libvips reads the header of HEIC without a program.
  if (format === 'svg' || (format !== 'heic' && isProgramFormat(format)))
    return { format, metadata: [] };
  const skim = SKIMMED[format as keyof typeof SKIMMED];
  if (!skim) return scanDecoded(input, kinds);
  const { width, height, exif, edit } = skim(input);
  const found = kindsIn(kinds, edit);
  // The height of a JPEG may stand after its first scan. The decoder refuses other empty pictures.
  if (width * height === 0) return { ...(await scanDecoded(input, [])), metadata: found };
  // Orientations from 5 on exchange the sides.
  const sides = orientationOf(exif) < 5 ? { width, height } : { width: height, height: width };
  return { format, ...sides, metadata: found };
}

/** Facts that the decoder reads. */
async function scanDecoded(input: ImageInput, kinds: readonly string[]): Promise<Scan> {
  const { format, width, height, exif, metadata } = await readHeader(input, { decode: false });
  if (format === 'gif' && isTruncatedGif(input.file)) throw damagedImage('GIF', 'it breaks off');
  if (format === 'avif' && isTruncatedAvif(input.file)) throw damagedImage('AVIF', 'it breaks off');
  const tags = exif && readExif(exif);
  const { xmp, iptc, icc } = metadata;
  const gps = (tags && 'GPSLatitude' in tags.gps) || (xmp && withoutGps(xmp) !== xmp);
  const photo = tags && Object.keys({ ...tags.photo, ...tags.gps }).length > 0;
  const has = { gps, exif: photo, xmp, iptc, icc, all: photo || xmp || iptc };
  return { format, width, height, metadata: kinds.filter((kind) => has[kind as keyof typeof has]) };
}

/** Kinds of metadata whose removal changes a file. @param edit may rewrite the file in any case */
function kindsIn(kinds: readonly string[], edit: Skimmed['edit']): string[] {
  const without = (...strip: string[]) => edit({ strip: new Set(strip), set: [] }).bytes;
  const same = without();
  return kinds.filter((kind) => {
    // EXIF that cannot be changed may have anything in it.
    return valueOr(() => !without(kind).equals(same), true);
  });
}

/** A file without its picture. */
interface Skimmed {
  /** Sides as stored. */
  readonly width: number;
  readonly height: number;
  readonly exif: Uint8Array | null;
  readonly edit: (edit: MetadataEdit) => EditResult;
}

const SKIMMED = { jpeg: skimJpeg, png: skimPng, webp: skimWebp };

function skimJpeg(input: ImageInput): Skimmed {
  const { segments, scans } = jpegHead(input);
  if (!hasEnd(input, scans)) throw damagedImage('JPEG', 'it breaks off');
  const frame = segments.find(({ marker }) => isFrameHeader(marker))?.data;
  if (!frame || frame.length < 6) throw damaged('it has no frame header');
  // The offsets of further pictures count from the start of the whole file.
  const kept = segments.filter((segment) => !isKind(segment, 'pictures'));
  const withoutPicture = joinJpeg(kept, EMPTY_SCAN);
  return {
    ...{ width: frame.readUInt16BE(3), height: frame.readUInt16BE(1), exif: exifOf(segments) },
    edit: (edit) => editJpeg(withoutPicture, edit),
  };
}

/** The segments of a JPEG up to its first scan, and the place of that. */
function jpegHead(input: ImageInput) {
  for (let length = WINDOW; ; length *= 4) {
    const head = input.part(0, length);
    try {
      const { segments, scans } = splitJpeg(head);
      return { segments, scans: head.length - scans.length };
    } catch (error) {
      // The first scan may begin later.
      if (head.length < length || length > MAX_CHUNK) throw error;
    }
  }
}

/** Whether a JPEG has the marker of its end, after which cameras append other data. */
function hasEnd(input: ImageInput, from: number): boolean {
  for (let end = input.size; end > from; end -= TAIL - 1) {
    const start = Math.max(from, end - TAIL);
    if (input.part(start, end - start).includes(END)) return true;
  }
  return false;
}

/**
 * Reads the heads of the chunks of a file, and the chunks that the caller asks for.
 *
 * @param start place of the first chunk; `end` that after the last one; `multiple` to which lengths are padded
 * @param measure name and length of a chunk with its head, by its first 8 bytes
 * @throws Failure corrupt_image if the file breaks off
 */
function* chunksOf(
  input: ImageInput,
  format: string,
  [start, end, multiple]: readonly [start: number, end: number, multiple: number],
  measure: (head: Buffer) => readonly [name: string, length: number],
) {
  let from = 0;
  let window = input.part(0, WINDOW);
  const take = (at: number, length: number): Buffer => {
    if (at < from || at + length > from + window.length) {
      from = at;
      window = input.part(at, Math.max(length, WINDOW));
    }
    return Buffer.from(window.subarray(at - from, at - from + length));
  };
  for (let at = start, count = 1; at + 8 <= end; count += 1) {
    const head = take(at, 8);
    const [name, length] = head.length < 8 ? ['', end] : measure(head);
    if (at + length > end || count > MAX_PARTS) throw damagedImage(format, 'it breaks off');
    yield { name, length, read: (bytes: number, place = at) => take(place, bytes) };
    at += length + (length % multiple);
  }
}

function skimPng(input: ImageInput): Skimmed {
  const kept: Buffer[] = [input.part(0, 8)];
  const measure = (head: Buffer) =>
    [head.toString('latin1', 4), 12 + head.readUInt32BE(0)] as const;
  for (const { name, length, read } of chunksOf(input, 'PNG', [8, input.size + 8, 1], measure)) {
    if (!PICTURES.has(name) && length < MAX_CHUNK) kept.push(read(length));
    if (name === 'IEND') break;
  }
  const withoutPicture = Buffer.concat(kept);
  const chunks = [...pngChunks(withoutPicture)];
  const [header] = chunks;
  if (header?.name !== 'IHDR' || header.data.length < 13)
    throw damagedImage('PNG', 'it breaks off');
  const texts = () => chunks.map(exifOfText).find((exif) => exif !== null) ?? null;
  return {
    width: header.data.readUInt32BE(0),
    height: header.data.readUInt32BE(4),
    exif: chunks.find(({ name }) => name === 'eXIf')?.data ?? texts(),
    edit: (edit) => editPng(withoutPicture, edit),
  };
}

function skimWebp(input: ImageInput): Skimmed {
  const end = input.size < WEBP_HEADER_BYTES ? 0 : 8 + input.part(4, 4).readUInt32LE(0);
  if (end < WEBP_HEADER_BYTES || end > input.size) throw damagedImage('WEBP', 'it breaks off');
  const chunks: WebpChunk[] = [];
  const measure = (head: Buffer) =>
    [head.toString('latin1', 0, 4), 8 + head.readUInt32LE(4)] as const;
  const place = [WEBP_HEADER_BYTES, end, 2] as const;
  for (const { name, length, read } of chunksOf(input, 'WEBP', place, measure)) {
    const kept = PICTURES.has(name) || length > MAX_CHUNK ? Math.min(length, 24) : length;
    chunks.push({ name, data: read(kept).subarray(8) });
  }
  const [first] = chunks;
  const size = first ? webpSize(first) : null;
  if (size === null) throw damagedImage('WEBP', 'it breaks off');
  const withoutPicture = webpOf(chunks);
  return {
    ...size,
    exif: chunks.find(({ name }) => name === 'EXIF')?.data ?? null,
    edit: (edit) => editWebp(withoutPicture, edit, size),
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
