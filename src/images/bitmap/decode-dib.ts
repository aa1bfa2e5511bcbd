import { formatOf } from '../decoding/sniff.ts';
import { damagedImage } from '../file-error.ts';
import { forPixels, type ImageInput } from '../input.ts';
import { checkPixels } from '../limits.ts';
import { completePng } from '../png/png.ts';
import { type BitmapFormat, type Dib, readDib } from './dib.ts';
import { largestOfIco } from './ico.ts';
import { tiffCanvas } from './tiff-canvas.ts';

/**
 * Decodes the pixels of a bitmap to a TIFF file. The caller has checked its width and height.
 *
 * @param data from the pixels on
 * @throws Failure corrupt_image
 */
function decodeDib(data: Uint8Array, dib: Dib, format: BitmapFormat): Uint8Array {
  const { width, height, bits } = dib;
  const stride = Math.ceil((width * bits) / 32) * 4;
  if (dib.compression === 'none' && data.length < stride * height) {
    // The last row of some files is not padded.
    const least = stride * (height - 1) + Math.ceil((width * bits) / 8);
    if (data.length < least) throw damagedImage(format, 'it breaks off');
  }
  const rows = rowsOf(data, dib, stride, format);
  const alpha = alphaOf(rows, dib, format);
  const mask = format === 'ICO' && alpha === 0 ? maskOf(data.subarray(stride * height), dib) : null;
  return dib.palette
    ? paintIndices(rows, dib, dib.palette, mask)
    : paintSamples(rows, dib, alpha, mask);
}

type Rows = ReturnType<typeof rowsOf>;

/** Places of the rows of a picture, of which `startOf` is the offset, counted from the top. */
function rowsOf(data: Uint8Array, dib: Dib, stride: number, format: BitmapFormat) {
  const { width, height, topDown, compression, bits } = dib;
  if (compression === 'none') {
    const startOf = (row: number) => (topDown ? row : height - 1 - row) * stride;
    return { bytes: data, bits, startOf };
  }
  const bytes = expandRle(data, width, height, compression === 'rle4');
  if (bytes === null) throw damagedImage(format, 'it breaks off');
  return { bytes, bits: 8, startOf: (row: number) => row * width };
}

/** Bits of a pixel as a number. */
function pixelAt(bytes: Uint8Array, at: number, bits: number): number {
  const low = bytes[at]! | (bytes[at + 1]! << 8);
  if (bits === 16) return low;
  const three = low | (bytes[at + 2]! << 16);
  return bits === 24 ? three : (three | (bytes[at + 3]! << 24)) >>> 0;
}

/**
 * The mask of alpha; 0 where all pixels would be transparent, which writers mean that leave the bits unset. The
 * masks of icons need no mention in the header.
 */
function alphaOf(rows: Rows, { width, height, masks, bits }: Dib, format: BitmapFormat): number {
  const isIcon = format === 'ICO' && bits === 32;
  const mask = masks ? masks.alpha || (isIcon ? 0xff000000 : 0) : 0;
  if (mask === 0) return 0;
  for (let row = 0; row < height; row += 1) {
    const start = rows.startOf(row);
    for (let x = 0; x < width; x += 1) {
      if ((pixelAt(rows.bytes, start + x * (bits / 8), bits) & mask) !== 0) return mask;
    }
  }
  return 0;
}

/** Whether a pixel is transparent: a set bit in the mask of an icon. */
type IsMasked = (x: number, y: number) => boolean;

/** Reads the mask of an icon; null where no pixel is transparent. */
function maskOf(bytes: Uint8Array, { width, height, bits }: Dib): IsMasked | null {
  const stride = Math.ceil(width / 32) * 4;
  if (bytes.length < stride * height) {
    // Writers of icons with alpha leave it out.
    if (bits === 32) return null;
    throw damagedImage('ICO', 'it breaks off in the mask');
  }
  // Rows count from the bottom.
  const isMasked = (x: number, y: number) =>
    (bytes[(height - 1 - y) * stride + (x >> 3)]! & (0x80 >> (x & 7))) !== 0;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) if (isMasked(x, y)) return isMasked;
  }
  return null;
}

function isGrey(palette: Uint8Array): boolean {
  for (let at = 0; at < palette.length; at += 3) {
    if (palette[at] !== palette[at + 1] || palette[at] !== palette[at + 2]) return false;
  }
  return true;
}

function paintIndices(
  { bytes, bits, startOf }: Rows,
  dib: Dib,
  palette: Uint8Array,
  isMasked: IsMasked | null,
): Uint8Array {
  const { width, height, profile } = dib;
  const grey = isGrey(palette) && profile === null && isMasked === null;
  const channels = grey ? 1 : isMasked ? 4 : 3;
  const { file, pixels } = tiffCanvas({ ...dib, channels });
  const perByte = 8 / bits;
  const most = 2 ** bits - 1;
  let to = 0;
  for (let y = 0; y < height; y += 1) {
    const start = startOf(y);
    for (let x = 0; x < width; x += 1) {
      const place = x % perByte;
      const index = (bytes[start + (x - place) / perByte]! >> (8 - bits * (place + 1))) & most;
      // Beyond the palette only where runs have indices of more bits.
      const colour = index * 3;
      pixels[to] = palette[colour] ?? 0;
      if (!grey) {
        pixels[to + 1] = palette[colour + 1] ?? 0;
        pixels[to + 2] = palette[colour + 2] ?? 0;
      }
      if (isMasked) pixels[to + 3] = isMasked(x, y) ? 0 : 255;
      to += channels;
    }
  }
  return file;
}

function paintSamples(
  { bytes, startOf }: Rows,
  dib: Dib,
  alpha: number,
  isMasked: IsMasked | null,
): Uint8Array {
  const { width, height, bits, masks } = dib;
  const channels = alpha !== 0 || isMasked ? 4 : 3;
  const { file, pixels } = tiffCanvas({ ...dib, channels });
  const { red, green, blue } = masks!;
  const scales = [red, green, blue, ...(alpha === 0 ? [] : [alpha])].map(scaleOf);
  const usual = bits >= 24 && red === 0xff0000 && green === 0xff00 && blue === 0xff;
  const step = bits / 8;
  let to = 0;
  for (let y = 0; y < height; y += 1) {
    let at = startOf(y);
    for (let x = 0; x < width; x += 1) {
      if (usual) {
        pixels[to] = bytes[at + 2]!;
        pixels[to + 1] = bytes[at + 1]!;
        pixels[to + 2] = bytes[at]!;
        if (alpha !== 0) pixels[to + 3] = bytes[at + 3]!;
      } else {
        const pixel = pixelAt(bytes, at, bits);
        for (let channel = 0; channel < scales.length; channel += 1) {
          const { shift, most } = scales[channel]!;
          const value = (pixel >>> shift) & most;
          pixels[to + channel] = most === 255 ? value : Math.round((value * 255) / (most || 1));
        }
      }
      if (isMasked) pixels[to + 3] = isMasked(x, y) ? 0 : 255;
      to += channels;
      at += step;
    }
  }
  return file;
}

/** The lowest bit of a mask, and the largest value of its channel; 0 where it has none. */
function scaleOf(mask: number): { readonly shift: number; readonly most: number } {
  if (mask === 0) return { shift: 0, most: 0 };
  const shift = 31 - Math.clz32(mask & -mask);
  // More than eight bits are cut off; so are bits above a gap.
  let bits = 0;
  while (shift + bits < 32 && ((mask >>> (shift + bits)) & 1) === 1) bits += 1;
  const used = Math.min(bits, 8);
  return { shift: shift + bits - used, most: 2 ** used - 1 };
}

/**
 * Expands rows of run-length encoded indices, the lowest row first. Pixels that are skipped have the index 0.
 * The position only moves on, so that the work is bounded by the bytes and the pixels, whatever they say.
 *
 * @param isNibble whether an index has four bits
 * @returns an index for each pixel, row by row from the top; null where the data breaks off
 */
function expandRle(
  bytes: Uint8Array,
  width: number,
  height: number,
  isNibble: boolean,
): Uint8Array | null {
  const indices = new Uint8Array(width * height);
  let x = 0;
  let y = 0;
  let at = 0;
  /** Writes pixels up to the end of the row. */
  const write = (count: number, indexOf: (pixel: number) => number) => {
    const row = (height - 1 - y) * width;
    const visible = Math.min(count, width - x);
    for (let pixel = 0; pixel < visible; pixel += 1) indices[row + x + pixel] = indexOf(pixel);
    x += count;
  };
  const nibble = (value: number, pixel: number) => (pixel % 2 === 0 ? value >> 4 : value & 15);
  while (y < height) {
    if (at + 2 > bytes.length) return y === height - 1 && x >= width ? indices : null;
    const count = bytes[at]!;
    const value = bytes[at + 1]!;
    at += 2;
    if (count > 0) {
      write(count, (pixel) => (isNibble ? nibble(value, pixel) : value));
    } else if (value === 0) {
      x = 0;
      y += 1;
    } else if (value === 1) {
      return indices;
    } else if (value === 2) {
      if (at + 2 > bytes.length) return null;
      x += bytes[at]!;
      y += bytes[at + 1]!;
      at += 2;
    } else {
      const length = isNibble ? Math.ceil(value / 2) : value;
      if (at + length > bytes.length) return null;
      const start = at;
      write(value, (pixel) =>
        isNibble ? nibble(bytes[start + (pixel >> 1)]!, pixel) : bytes[start + pixel]!,
      );
      at += length + (length % 2);
    }
  }
  return indices;
}

/** Bytes of the header of a BMP file before that of its bitmap. */
const FILE_HEADER_BYTES = 14;

/**
 * The bytes for libvips, which reads neither BMP nor ICO: the file itself, the PNG in an ICO file, or a TIFF of
 * the decoded pixels. Limits are checked before memory is allocated.
 *
 * @throws Failure with a file error code
 */
export function decodable({
  file,
  limits,
  admit,
}: Pick<ImageInput, 'file' | 'limits' | 'admit'>): Uint8Array {
  const format = formatOf(file);
  if (format !== 'bmp' && format !== 'ico') return completePng(file);
  if (format === 'ico') {
    const { bytes, isPng } = largestOfIco(file);
    return isPng ? completePng(bytes) : decodeBitmap(bytes, 'ICO', null);
  }
  return decodeBitmap(file.subarray(FILE_HEADER_BYTES), 'BMP', pixelsAt(file));

  function decodeBitmap(bytes: Uint8Array, kind: BitmapFormat, given: number | null): Uint8Array {
    const dib = readDib(bytes, kind);
    const { width, height } = dib;
    checkPixels({ width, height, pages: 1 }, limits);
    // The TIFF, indices of run-length encoded rows, and what libvips needs for the TIFF.
    admit(forPixels(width * height, 7, 0.05));
    // Some writers leave the offset at 0.
    const offset = given || dib.end;
    if (offset < 0 || offset >= bytes.byteLength) throw damagedImage(kind, 'it breaks off');
    return decodeDib(bytes.subarray(offset), dib, kind);
  }
}

/** Offset of the pixels, counted from the bitmap's header; 0 where the file has none. */
function pixelsAt(file: Uint8Array): number {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  return Math.max(0, view.getUint32(10, true) - FILE_HEADER_BYTES);
}
