import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { valueOr } from '../../flow.ts';
import type { CodedColours } from '../icc.ts';
import { type PngChunk, pngChunk, pngChunks } from './chunks.ts';
import { COLOUR_CHUNKS, profileOfChunks } from './colours.ts';

/** Bytes of the signature, 8, and of IHDR, always the first chunk, 12 around 13 of data. */
const HEADER_BYTES = 33;

/** A PNG with another colour profile. */
export function pngWithProfile(png: Uint8Array, profile: Uint8Array): Buffer {
  const remove = [...pngChunks(png)].filter(({ name }) => COLOUR_CHUNKS.includes(name));
  return rewrite(png, { add: [profileChunk(profile)], remove });
}

function profileChunk(profile: Uint8Array): Buffer {
  const name = Buffer.from('Oriel\0\0', 'latin1');
  return pngChunk('iCCP', Buffer.concat([name, deflateSync(profile)])).stored;
}

/** A PNG with another density. @param density pixels per inch */
export function pngWithDensity(png: Uint8Array, density: number): Buffer {
  const remove = [...pngChunks(png)].filter(({ name }) => name === 'pHYs');
  return rewrite(png, { add: [densityChunk(density).stored], remove });
}

const INCH_IN_METRES = 0.0254;

/** The chunk of a density (PNG, 11.3.4.3). */
export function densityChunk(pixelsPerInch: number): PngChunk {
  const data = Buffer.alloc(9);
  const perMetre = Math.round(pixelsPerInch / INCH_IN_METRES);
  data.writeUInt32BE(perMetre, 0);
  data.writeUInt32BE(perMetre, 4);
  data[8] = 1;
  return pngChunk('pHYs', data);
}

/** A PNG with an added EXIF block. */
export function pngWithExif(png: Uint8Array, exif: Uint8Array): Buffer {
  return rewrite(png, { add: [pngChunk('eXIf', exif).stored], remove: [] });
}

/** Chunks of metadata that libvips reads. */
const METADATA_CHUNKS = ['iCCP', 'pHYs', 'eXIf', 'iTXt', 'tEXt', 'zTXt'];

/** A PNG with the metadata of another one. */
export function pngWithMetadataOf(png: Uint8Array, other: Uint8Array): Buffer {
  const metadataOf = (bytes: Uint8Array) =>
    [...pngChunks(bytes)].filter(({ name }) => METADATA_CHUNKS.includes(name));
  const add = metadataOf(other).map(({ stored }) => stored);
  return rewrite(png, { add, remove: metadataOf(png) });
}

function rewrite(
  png: Uint8Array,
  { add, remove }: { readonly add: readonly Uint8Array[]; readonly remove: readonly PngChunk[] },
): Buffer {
  const parts: Uint8Array[] = [png.subarray(0, HEADER_BYTES), ...add];
  let from = HEADER_BYTES;
  for (const { stored } of remove) {
    const start = stored.byteOffset - png.byteOffset;
    parts.push(png.subarray(from, start));
    from = start + stored.length;
  }
  return Buffer.concat([...parts, png.subarray(from)]);
}

/** The colour type's flag for colour (11.2.1), and its offset in the file. */
const COLOUR = 2;
const COLOUR_TYPE = 25;

/**
 * Rewrites the parts of a PNG that libvips 8.18 does not read:
 *
 * - EXIF after the image data (PNG third edition, 11.3.3.6), or in a text chunk as ImageMagick and
 *   exiftool write it, becomes a chunk eXIf at the start.
 * - Colours that gAMA, cHRM or cICP define get a profile, unless they are sRGB.
 *
 * Returns other bytes, and those of other formats, unchanged.
 */
export function completePng(bytes: Uint8Array): Uint8Array {
  let imageData = false;
  let early = false;
  let late: PngChunk | undefined;
  let text: PngChunk | undefined;
  const colours = new Map<string, PngChunk>();
  for (const chunk of pngChunks(bytes)) {
    const { name } = chunk;
    if (name === 'IDAT') imageData = true;
    else if (name === 'eXIf' && !imageData) early = true;
    else if (name === 'eXIf') late ??= chunk;
    // The first only: a file may have thousands, each of them long after inflation.
    else if (['exif', 'APP1'].includes(rawProfile(chunk) ?? '')) text ??= chunk;
    else if (!imageData && COLOUR_CHUNKS.includes(name) && isIntact(chunk)) {
      colours.set(name, chunk);
    }
  }
  const add: Uint8Array[] = [];
  const remove: PngChunk[] = [];
  if (!early) {
    const exif = late === undefined && text ? exifOfText(text) : null;
    const moved = late ?? (exif ? text : undefined);
    if (late) add.push(late.stored);
    if (exif) add.push(pngChunk('eXIf', exif).stored);
    if (moved) remove.push(moved);
  }
  const chunkData = new Map([...colours].map(([name, { data }]) => [name, data]));
  const profile = profileOfChunks(chunkData, (bytes[COLOUR_TYPE]! & COLOUR) === 0);
  if (profile) {
    add.push(profileChunk(profile));
    remove.push(...colours.values());
  }
  if (add.length === 0) return bytes;
  return rewrite(bytes, { add, remove: remove.sort(byPlace) });
}

/** The chunks before the image data. */
function headChunks(bytes: Uint8Array): PngChunk[] {
  const head: PngChunk[] = [];
  for (const chunk of pngChunks(bytes)) {
    if (chunk.name === 'IDAT') break;
    head.push(chunk);
  }
  return head;
}

/** The colours of the chunk cICP (11.3.2.6); null if there is none before the image data. */
export function readPngCode(bytes: Uint8Array): CodedColours | null {
  const code = headChunks(bytes).find(({ name, data }) => name === 'cICP' && data.length === 4);
  return code ? { primaries: code.data[0]!, transfer: code.data[1]! } : null;
}

/** Whether a PNG has a density, which sharp reports as 72 where there is none. */
export function hasDensity(bytes: Uint8Array): boolean {
  return headChunks(bytes).some(({ name }) => name === 'pHYs');
}

function byPlace({ stored: one }: PngChunk, { stored: other }: PngChunk): number {
  return one.byteOffset - other.byteOffset;
}

function isIntact({ stored }: PngChunk): boolean {
  return crc32(stored.subarray(4, -4)) === stored.readUInt32BE(stored.length - 4);
}

const RAW_PROFILE = 'Raw profile type ';
/** Most bytes of text that are read: EXIF in JPEG has 64 kB, here with two digits per byte. */
const MAX_TEXT_BYTES = 1024 * 1024;

/** The kind of the profile that ImageMagick and exiftool write as text, such as `exif`; undefined for other chunks. */
export function rawProfile({ name, data }: PngChunk): string | undefined {
  if (name !== 'tEXt' && name !== 'zTXt') return undefined;
  if (data.toString('latin1', 0, RAW_PROFILE.length) !== RAW_PROFILE) return undefined;
  const end = data.subarray(0, 80).indexOf(0);
  return end < 0 ? undefined : data.toString('latin1', RAW_PROFILE.length, end);
}

/** The bytes of a profile: a name, a count and hexadecimal digits, separated by white space. */
export function rawProfileBytes(chunk: PngChunk): Buffer {
  const { name, data } = chunk;
  const start = data.indexOf(0) + 1;
  const text = name === 'tEXt' ? data.subarray(start) : inflated(data.subarray(start + 1));
  const parts = text.toString('latin1', 0, MAX_TEXT_BYTES).trim().split(/\s+/);
  return Buffer.from(parts.slice(2).join(''), 'hex');
}

/** A profile as text, in lines as ImageMagick writes them. */
export function rawProfileChunk(profile: string, bytes: Buffer): PngChunk {
  const digits = bytes.toString('hex').replace(/.{72}/g, '$&\n');
  const text = `${RAW_PROFILE}${profile}\0\n${profile}\n${String(bytes.length).padStart(8)}\n${digits}\n`;
  return pngChunk('tEXt', Buffer.from(text, 'latin1'));
}

/** The EXIF block of a text chunk; null for other text. */
export function exifOfText(chunk: PngChunk): Uint8Array | null {
  if (!['exif', 'APP1'].includes(rawProfile(chunk) ?? '')) return null;
  const block = rawProfileBytes(chunk);
  const exif = block.toString('latin1', 0, 6) === 'Exif\0\0' ? block.subarray(6) : block;
  // APP1 may also hold XMP.
  return ['II*\0', 'MM\0*'].includes(exif.toString('latin1', 0, 4)) ? exif : null;
}

/** Inflated text; empty if it is damaged or longer than EXIF can be. */
function inflated(data: Uint8Array): Buffer {
  return valueOr(() => inflateSync(data, { maxOutputLength: MAX_TEXT_BYTES }), Buffer.alloc(0));
}

/**
 * The number of frames of a PNG: more than one if it is animated (APNG 1.0, the chunk acTL before the
 * first image data). The decoder does not support APNG and reads the first frame.
 */
export function countApngFrames(bytes: Uint8Array): number {
  const control = headChunks(bytes).find(({ name, data }) => name === 'acTL' && data.length >= 4);
  return Math.max(1, control?.data.readUInt32BE(0) ?? 1);
}

/** The keyword of a text that is XMP. */
export const XMP = Buffer.from('XML:com.adobe.xmp\0', 'latin1');

/** The packet of XMP, which programs also write as other texts than iTXt (11.3.3). */
export function packetOf({ name, data }: PngChunk): Buffer {
  const rest = data.subarray(XMP.length);
  if (name === 'tEXt') return rest;
  if (name === 'zTXt') return inflated(rest.subarray(1));
  // Two bytes about compression, a language and a translated keyword.
  const language = rest.indexOf(0, 2);
  const keyword = language < 0 ? -1 : rest.indexOf(0, language + 1);
  const packet = keyword < 0 ? rest.subarray(rest.length) : rest.subarray(keyword + 1);
  return rest[0] === 0 ? packet : inflated(packet);
}
