import { type Fields, TiffBlock } from '../exif/tiff-block.ts';
import type { OutputFormat } from '../formats.ts';
import type { ProgramFormat } from '../program-formats.ts';

export type InputFormat = OutputFormat | ProgramFormat | 'svg' | 'bmp' | 'ico';

/** The format of the first bytes: one that may be read, a known one that is not read, or null. */
export type SniffResult =
  | { readonly format: InputFormat }
  | { readonly unsupported: string }
  | null;

const SIGNATURES: readonly (readonly [magic: string, sniffed: NonNullable<SniffResult>])[] = [
  ['\xff\xd8\xff', { format: 'jpeg' }],
  ['\x89PNG\r\n\x1a\n', { format: 'png' }],
  ['GIF87a', { format: 'gif' }],
  ['GIF89a', { format: 'gif' }],
  ['II*\0', { format: 'tiff' }],
  ['MM\0*', { format: 'tiff' }],
  ['II+\0', { format: 'tiff' }],
  ['MM\0+', { format: 'tiff' }],
  ['\0\0\0\x0cJXL ', { format: 'jxl' }],
  ['\xff\x0a', { format: 'jxl' }],
  ['\0\0\0\x0cjP  ', { unsupported: 'JPEG 2000' }],
  ['\xff\x4f\xff\x51', { unsupported: 'JPEG 2000' }],
  ['8BPS', { unsupported: 'Photoshop' }],
  ['%PDF-', { format: 'pdf' }],
  ['\0\0\x01\0', { format: 'ico' }],
  ['qoif', { unsupported: 'QOI' }],
  ['v/1\x01', { unsupported: 'OpenEXR' }],
];

/** Brands of image formats among ISO base media files (ISO/IEC 23008-12, AVIF 1.1). */
const BRANDS: Readonly<Record<string, NonNullable<SniffResult>>> = {
  avif: { format: 'avif' },
  avis: { unsupported: 'animated AVIF' },
  heic: { format: 'heic' },
  heix: { format: 'heic' },
  heim: { format: 'heic' },
  heis: { format: 'heic' },
  hevc: { unsupported: 'animated HEIC' },
  hevx: { unsupported: 'animated HEIC' },
  'crx ': { format: 'raw' },
  mif1: { format: 'heic' },
  msf1: { unsupported: 'animated HEIF' },
};

/** Detects a file's format by its content, never by its name. Reads at most 512 bytes, and the directories of TIFF. */
export function sniff(bytes: Uint8Array): SniffResult {
  const head = Buffer.from(
    bytes.buffer,
    bytes.byteOffset,
    Math.min(bytes.byteLength, 512),
  ).toString('latin1');
  const known = SIGNATURES.find(([magic]) => head.startsWith(magic))?.[1];
  if (known) return 'format' in known && known.format === 'tiff' && isRaw(bytes) ? RAW : known;
  if (RAW_MAGIC.test(head)) return RAW;
  if (isBmp(head)) return { format: 'bmp' };
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return { format: 'webp' };
  if (head.startsWith('ftyp', 4)) {
    const major = head.slice(8, 12);
    // The generic brand mif1 means any image item; a compatible brand names the codec.
    if (major === 'mif1' && head.slice(12, 64).includes('avif')) return { format: 'avif' };
    return BRANDS[major] ?? null;
  }
  // An XML prologue, comments and a doctype may precede the root element.
  if (/^(\xef\xbb\xbf)?\s*<(\?xml|!--|!doctype\s+svg|svg)[\s>:-]/i.test(head)) {
    return /<svg[\s>:]|<!doctype\s+svg/i.test(head) || head.length === 512
      ? { format: 'svg' }
      : null;
  }
  return null;
}

const RAW = { format: 'raw' } as const;
/** Files of Fujifilm, Olympus, Panasonic and Sigma. */
const RAW_MAGIC = /^(?:FUJIFILMCCD-RAW|IIRO|IIRS|MMOR|IIU\0|FOVb)/;
const TAGS = { photometric: 262, directories: 330, dngVersion: 50_706 } as const;
/** Interpretations of samples behind a colour filter, and of such samples after interpolation (DNG 1.6). */
const SENSOR = [32_803, 34_892];
const MAX_DIRECTORIES = 8;

/** Whether a TIFF file has samples of a camera's sensor, in its first directory or in those below it. */
function isRaw(bytes: Uint8Array): boolean {
  const block = TiffBlock.open(bytes);
  const first = block?.directory(block.start);
  if (!block || !first) return false;
  // Canon's mark follows the header.
  if (first.has(TAGS.dngVersion) || (bytes[8] === 0x43 && bytes[9] === 0x52)) return true;
  const numbers = (fields: Fields | null, tag: number) => {
    const field = fields?.get(tag);
    return field && field.count <= MAX_DIRECTORIES ? (block.numbers(field) ?? []) : [];
  };
  const below = numbers(first, TAGS.directories).map((offset) => block.directory(offset ?? 0));
  return [first, ...below].some((fields) =>
    numbers(fields, TAGS.photometric).some((value) => SENSOR.includes(value ?? 0)),
  );
}

/** The format of a file that may be read; null for others. */
export function formatOf(bytes: Uint8Array): InputFormat | null {
  const sniffed = sniff(bytes);
  return sniffed && 'format' in sniffed ? sniffed.format : null;
}

/** Whether bytes begin a BMP file: its two letters begin texts too, so the size of the header counts as well. */
function isBmp(head: string): boolean {
  if (!head.startsWith('BM') || !head.startsWith('\0\0\0', 15)) return false;
  const size = head.charCodeAt(14);
  return size === 12 || (size >= 16 && size <= 124);
}

/** The message for an image of a known format that is not read. */
export function unsupportedMessage(format: string): string {
  const program = format === 'animated AVIF' ? 'avifdec (libavif)' : 'magick (ImageMagick)';
  return `${format} images are not supported; ${program} makes PNG of them`;
}
