import { DirectoryWriter, type Rows } from '../exif/copy.ts';
import type { Dib } from './dib.ts';

/** Bytes of a strip, which the decoder reads at once (TIFF 6.0, section 3, recommends 8 KB for slow disks). */
const STRIP_BYTES = 64 * 1024;

const HEADER_BYTES = 8;

/**
 * Makes a TIFF file (TIFF 6.0) without compression: libvips then reads pixels that Oriel decodes like those of any
 * other image.
 *
 * @param options.channels grey, or red, green and blue, or these with an opacity that is not multiplied in
 * @returns the file, and the part of it that is to be filled in: samples of eight bits, row by row from the top
 */
export function tiffCanvas({
  width,
  height,
  channels,
  pixelsPerMetre,
  profile,
}: Pick<Dib, 'width' | 'height' | 'pixelsPerMetre' | 'profile'> & {
  readonly channels: 1 | 3 | 4;
}) {
  const stride = width * channels;
  const end = HEADER_BYTES + stride * height;
  const rowsPerStrip = Math.max(1, Math.floor(STRIP_BYTES / stride));
  const tops = Array.from(
    { length: Math.ceil(height / rowsPerStrip) },
    (_, strip) => strip * rowsPerStrip,
  );
  const writer = new DirectoryWriter(end + (end % 2));
  const rows: Rows = new Map();
  const long = (tag: number, ...values: number[]) => writer.addNumbers(rows, tag, 4, values);
  const short = (tag: number, ...values: number[]) => writer.addNumbers(rows, tag, 2, values);
  long(256, width);
  long(257, height);
  short(258, ...Array.from({ length: channels }, () => 8));
  short(259, 1);
  short(262, channels === 1 ? 1 : 2);
  long(273, ...tops.map((top) => HEADER_BYTES + top * stride));
  short(277, channels);
  long(278, rowsPerStrip);
  long(279, ...tops.map((top) => Math.min(rowsPerStrip, height - top) * stride));
  if (pixelsPerMetre > 0) {
    writer.addFraction(rows, 282, pixelsPerMetre, 100);
    writer.addFraction(rows, 283, pixelsPerMetre, 100);
    short(296, 3);
  }
  if (channels === 4) short(338, 2);
  if (profile) writer.addBytes(rows, 34675, profile);
  const directory = writer.directory(rows);
  const parts = Buffer.concat(writer.parts);
  const file = new Uint8Array(end + (end % 2) + parts.length);
  file.set([0x49, 0x49, 42, 0]);
  new DataView(file.buffer).setUint32(4, directory, true);
  file.set(parts, end + (end % 2));
  return { file, pixels: file.subarray(HEADER_BYTES, end) };
}
