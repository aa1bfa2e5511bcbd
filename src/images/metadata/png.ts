import { ExifEditor } from '../exif/edit.ts';
import { iptcOf, iptcResource } from '../exif/photoshop.ts';
import { damagedImage } from '../file-error.ts';
import { distinctWarnings, type Warning } from '../output.ts';
import { type PngChunk, pngChunk, pngChunks, pngLength, pngOf } from '../png/chunks.ts';
import { COLOUR_CHUNKS } from '../png/colours.ts';
import {
  densityChunk,
  exifOfText,
  packetOf,
  rawProfile,
  rawProfileBytes,
  rawProfileChunk,
  XMP,
} from '../png/png.ts';
import { type EditResult, editExif, isStripped, type MetadataEdit } from './edit.ts';
import { editResources } from './iptc.ts';
import { changedTexts } from './text-places.ts';
import { editXmp, withoutGps, XMP_LOST } from './xmp.ts';

/** Chunks of which a change would be seen: of the standard's third edition, and animation. */
const DISPLAYED = new Set([
  ...['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', ...COLOUR_CHUNKS, 'mDCV', 'cLLI'],
  ...['sBIT', 'bKGD', 'hIST', 'sPLT', 'pHYs', 'acTL', 'fcTL', 'fdAT'],
]);
const TEXTS = ['tEXt', 'zTXt', 'iTXt'];
const X_RESOLUTION = 282;

/** Changes metadata of a PNG. All chunks of the picture stay byte by byte. @throws Failure */
export function editPng(bytes: Uint8Array, edit: MetadataEdit): EditResult {
  const all = [...pngChunks(bytes)];
  const end = all.findIndex(({ name }) => name === 'IEND');
  if (all[0]?.name !== 'IHDR' || end < 0) throw damagedImage('PNG', 'it breaks off');
  const chunks = all.slice(0, end + 1);
  const warnings: Warning[] = [];
  // EXIF is stored in a chunk, or as text by older programs.
  const source = chunks.find(({ name }) => name === 'eXIf') ?? chunks.find(exifOfText);
  const exif = editedExif(source ? (exifOfText(source) ?? source.data) : null, edit);
  const packet = chunks.find(isPacket);
  const xmp = packet ? [] : xmpChunk(editXmp(null, edit, warnings));
  const kept = chunks
    .filter((chunk) => chunk !== source)
    .flatMap((chunk) => editChunk(chunk, edit, warnings));
  const dpi = edit.set.findLast((change) => change.dpi !== undefined)?.dpi;
  const density = dpi ? [densityChunk(dpi)] : [];
  const added = [...(exif ? [pngChunk('eXIf', exif)] : []), ...density, ...xmp];
  const others = dpi === undefined ? kept : kept.filter(({ name }) => name !== 'pHYs');
  const png = pngOf([others[0]!, ...added, ...others.slice(1)]);
  const rest = edit.strip.has('all') ? [] : [bytes.subarray(pngLength(chunks))];
  // A PNG may have two profiles of IPTC.
  return { bytes: Buffer.concat([png, ...rest]), warnings: distinctWarnings(warnings) };
}

function editedExif(stored: Uint8Array | null, edit: MetadataEdit): Uint8Array | null {
  const exif = editExif(stored, { ...edit, set: edit.set.filter(({ dpi }) => dpi === undefined) });
  // The density of PNG is in a chunk of its own. EXIF has it only where it had it before.
  const dpi = edit.set.filter((change) => change.dpi !== undefined);
  const hasDensity = exif && dpi.length > 0 && ExifEditor.open(exif).has('image', X_RESOLUTION);
  return hasDensity ? editExif(exif, { set: dpi, strip: new Set() }) : exif;
}

function isPacket({ name, data }: PngChunk): boolean {
  return TEXTS.includes(name) && data.subarray(0, XMP.length).equals(XMP);
}

function xmpChunk(xmp: Buffer | null): PngChunk[] {
  return xmp ? [pngChunk('iTXt', Buffer.concat([XMP, Buffer.alloc(4), xmp]))] : [];
}

function editChunk(chunk: PngChunk, edit: MetadataEdit, warnings: Warning[]): PngChunk[] {
  const { name } = chunk;
  if (name === 'iCCP') return isStripped(edit, 'icc') ? [] : [chunk];
  const isXmp = isPacket(chunk);
  if (edit.strip.has('all') && !isXmp) return DISPLAYED.has(name) ? [chunk] : [];
  if (!TEXTS.includes(name)) return [chunk];
  if (isXmp) {
    const packet = packetOf(chunk);
    const xmp = editXmp(packet, edit, warnings);
    // The text might have a position.
    if (packet.length === 0 && edit.strip.has('gps')) {
      warnings.push(XMP_LOST);
      return [];
    }
    return xmp === packet ? [chunk] : xmpChunk(xmp);
  }
  const iptc = changedIptc(chunk, edit, warnings);
  if (iptc) return iptc;
  return editText(chunk, edit, warnings) ? [chunk] : [];
}

/** Image resources of a profile of IPTC, which ImageMagick writes with and without them; null for other chunks. */
function resourcesOf(chunk: PngChunk): Buffer | null {
  if (PROFILES[rawProfile(chunk) ?? ''] !== 'iptc') return null;
  const bytes = rawProfileBytes(chunk);
  return bytes.toString('latin1', 0, 4) === '8BIM' ? bytes : iptcResource(bytes);
}

/** The records of IPTC of a PNG; null where there are none. */
export function iptcOfPng(bytes: Uint8Array): Buffer | null {
  for (const chunk of pngChunks(bytes)) {
    const resources = resourcesOf(chunk);
    const records = resources && iptcOf(resources);
    if (records) return records;
  }
  return null;
}

/** The chunks in place of a profile of IPTC whose texts an edit changes; null for others. */
function changedIptc(chunk: PngChunk, edit: MetadataEdit, warnings: Warning[]): PngChunk[] | null {
  const stored = changedTexts(edit, true) && resourcesOf(chunk);
  if (!stored) return null;
  const resources = editResources(stored, edit, warnings);
  const profile = rawProfile(chunk)!;
  const bytes = profile === '8bim' ? resources : resources && iptcOf(resources);
  return bytes ? [rawProfileChunk(profile, bytes)] : [];
}

/** Kinds of metadata that profiles in text chunks are, by the name of the profile. */
const PROFILES: Readonly<Record<string, string>> = {
  ...{ exif: 'exif', APP1: 'exif', xmp: 'xmp' },
  ...{ iptc: 'iptc', '8bim': 'iptc', icc: 'icc', icm: 'icc' },
};

/** Whether a text stays. */
function editText(chunk: PngChunk, edit: MetadataEdit, warnings: Warning[]): boolean {
  const profile = rawProfile(chunk);
  if (isStripped(edit, PROFILES[profile ?? ''] ?? 'comments')) return false;
  if (!edit.strip.has('gps')) return true;
  if (profile === undefined) return !/^[^\0]{0,60}GPS/.test(chunk.data.toString('latin1', 0, 80));
  const bytes = rawProfileBytes(chunk);
  if (exifOfText(chunk) !== null) return false;
  if (bytes.length > 0 && withoutGps(bytes) === bytes) return true;
  warnings.push(XMP_LOST);
  return false;
}
