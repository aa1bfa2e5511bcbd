import { forPixels, type ImageInput } from '../input.ts';
import { checkPixels } from '../limits.ts';
import { completePng } from '../png/png.ts';
import { sniff } from '../sniff.ts';
import { decodeDib } from './decode-dib.ts';
import { type BitmapFormat, damaged, readDib } from './dib.ts';
import { largestOfIco } from './ico.ts';

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
  const sniffed = sniff(file);
  const format = sniffed && 'format' in sniffed ? sniffed.format : null;
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
    if (offset < 0 || offset >= bytes.byteLength) throw damaged(kind, 'it breaks off');
    return decodeDib(bytes.subarray(offset), dib, kind);
  }
}

/** Offset of the pixels, counted from the bitmap's header; 0 where the file has none. */
function pixelsAt(file: Uint8Array): number {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  return Math.max(0, view.getUint32(10, true) - FILE_HEADER_BYTES);
}
