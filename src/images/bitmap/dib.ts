import { damagedImage, fileFailure } from '../file-error.ts';

/** The header of a device-independent bitmap, of which BMP files and most images of ICO files consist. */
export type Dib = Readonly<ReturnType<typeof readDib>>;

export type BitmapFormat = 'BMP' | 'ICO';

/** Masks of the channels in a pixel of 16 or 32 bits. That of alpha is 0 where there is no transparency. */
type Masks = Readonly<Record<'red' | 'green' | 'blue' | 'alpha', number>>;

/** Sizes of the header of OS/2 1.x and of the first one of Windows. */
const CORE = 12;
const INFO = 40;
/** Sizes of headers whose masks follow the first 40 bytes, inside or behind the header. */
const WINDOWS = [INFO, 52, 56, 108, 124];
/** From this size on, the header has a mask of alpha. */
const WITH_ALPHA = 56;
const V5 = 124;

const COMPRESSION = { none: 0, rle8: 1, rle4: 2, bitFields: 3, alphaBitFields: 6 } as const;
/** `MBED` in the field of the colour space: the file contains a profile. */
const EMBEDDED = 0x4d424544;

const BITS = [1, 2, 4, 8, 16, 24, 32] as const;

const DEFAULT_MASKS: Readonly<Record<number, Masks>> = {
  16: { red: 0x7c00, green: 0x03e0, blue: 0x1f, alpha: 0 },
  24: { red: 0xff0000, green: 0xff00, blue: 0xff, alpha: 0 },
  32: { red: 0xff0000, green: 0xff00, blue: 0xff, alpha: 0 },
};

/**
 * Reads the header of a bitmap ([MS-WMF] 2.2.2; the OS/2 headers are shorter forms of it).
 *
 * @param bytes from the header on
 * @throws Failure corrupt_image or unsupported_format
 */
export function readDib(bytes: Uint8Array, format: BitmapFormat) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = bytes.byteLength < 4 ? 0 : view.getUint32(0, true);
  if (size !== CORE && !(size >= 16 && size <= V5)) throw damagedImage(format, 'unknown header');
  if (bytes.byteLength < size) throw damagedImage(format, 'it breaks off in the header');
  const isCore = size === CORE;
  const field = (offset: number) => (offset + 4 <= size ? view.getUint32(offset, true) : 0);
  const width = isCore ? view.getUint16(4, true) : view.getInt32(4, true);
  const stored = isCore ? view.getUint16(6, true) : view.getInt32(8, true);
  const rows = format === 'ICO' ? Math.floor(Math.abs(stored) / 2) : Math.abs(stored);
  if (width <= 0 || rows === 0) throw damagedImage(format, `its size is ${width}x${stored}`);
  const depth = view.getUint16(isCore ? 10 : 14, true);
  const bits = BITS.find((known) => known === depth);
  const isWindows = WINDOWS.includes(size);
  const number = isCore ? COMPRESSION.none : field(16);
  const compression = compressionOf(number, bits, isWindows, format);
  if (bits === undefined) throw damagedImage(format, `${depth} bits per pixel`);
  const topDown = stored < 0;
  if (compression !== 'none' && topDown) throw damagedImage(format, 'compressed rows from the top');
  const hasMasks = number === COMPRESSION.bitFields || number === COMPRESSION.alphaBitFields;
  const masks = hasMasks
    ? readMasks(view, size >= WITH_ALPHA || number === COMPRESSION.alphaBitFields, format)
    : (DEFAULT_MASKS[bits] ?? null);
  const behind = hasMasks && size === INFO ? (number === COMPRESSION.alphaBitFields ? 16 : 12) : 0;
  const start = size + behind;
  const entry = isCore ? 3 : 4;
  const used = bits > 8 ? 0 : Math.min(field(32) || 2 ** bits, 2 ** bits);
  return {
    width,
    /** Rows of the picture, without those of an icon's mask. */
    height: rows,
    topDown,
    bits,
    compression,
    /** Null for pixels that are indices into the palette. */
    masks,
    /** Red, green and blue of 2^bits colours; those that the file lacks are black. */
    palette:
      bits > 8 ? null : readPalette(bytes.subarray(start, start + used * entry), bits, entry),
    /** First byte after header, masks and palette, counted from the header. */
    end: start + used * entry,
    /** 0 where it is not known. */
    pixelsPerMetre: Math.max(0, field(24) | 0),
    /** An embedded ICC profile. */
    profile:
      size === V5 && field(56) === EMBEDDED ? profileOf(bytes, field(112), field(116)) : null,
  };
}

function compressionOf(
  number: number,
  bits: number | undefined,
  isWindows: boolean,
  format: BitmapFormat,
): 'none' | 'rle8' | 'rle4' {
  const { none, rle8, rle4, bitFields, alphaBitFields } = COMPRESSION;
  if (number === none) return 'none';
  if (number === rle8 && bits === 8 && format === 'BMP') return 'rle8';
  if (number === rle4 && bits === 4 && format === 'BMP') return 'rle4';
  const hasMasks = isWindows && (number === bitFields || number === alphaBitFields);
  if (hasMasks && (bits === 16 || bits === 32)) return 'none';
  // 3 and 4 are Huffman and RLE24 of OS/2, or 4 and 5 a whole JPEG or PNG, which only printers take.
  if (number <= 5 && !hasMasks && number > rle4) {
    const message = `${format} images of compression ${number} are not supported`;
    throw fileFailure('unsupported_format', message);
  }
  throw damagedImage(format, `compression ${number} of ${bits} bits per pixel`);
}

function readMasks(view: DataView, withAlpha: boolean, format: BitmapFormat): Masks {
  if (view.byteLength < INFO + (withAlpha ? 16 : 12)) {
    throw damagedImage(format, 'it breaks off in the header');
  }
  const mask = (index: number) => view.getUint32(INFO + index * 4, true);
  return { red: mask(0), green: mask(1), blue: mask(2), alpha: withAlpha ? mask(3) : 0 };
}

function readPalette(stored: Uint8Array, bits: number, entry: 3 | 4): Uint8Array {
  const palette = new Uint8Array(2 ** bits * 3);
  for (let at = 0, to = 0; at + 3 <= stored.length; at += entry, to += 3) {
    palette[to] = stored[at + 2]!;
    palette[to + 1] = stored[at + 1]!;
    palette[to + 2] = stored[at]!;
  }
  return palette;
}

function profileOf(bytes: Uint8Array, offset: number, length: number): Uint8Array | null {
  const isWhole = length >= 128 && offset + length <= bytes.byteLength;
  return isWhole ? bytes.subarray(offset, offset + length) : null;
}
