import { brotliDecompressSync } from 'node:zlib';
import { valueOr } from '../../flow.ts';
import { box, boxes } from '../avif.ts';
import type { SourceMetadata } from './png-metadata.ts';

/** Boxes with which a container begins (ISO/IEC 18181-2, 9.1). */
const HEAD = Buffer.concat([
  box('JXL ', Buffer.from('\r\n\x87\n', 'latin1')),
  box('ftyp', Buffer.from('jxl \0\0\0\0jxl ', 'latin1')),
]);

/** Most bytes of a compressed box of metadata after decompression. */
const BOUNDS = { maxOutputLength: 16 * 2 ** 20 };

/** EXIF and XMP of a JPEG XL file, which are in boxes of a container. */
export function metadataOfJxl(file: Uint8Array): SourceMetadata {
  const stored = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const all = stored[0] === 0 ? [...boxes(stored)] : [];
  const find = (kind: string) => {
    const plain = all.find(({ type }) => type === kind)?.body;
    const packed = all.find(({ type, body }) => type === 'brob' && body.indexOf(kind) === 0)?.body;
    return valueOr(
      () => plain ?? (packed && brotliDecompressSync(packed.subarray(4), BOUNDS)),
      undefined,
    );
  };
  const exif = find('Exif');
  // The block begins at an offset, counted after these four bytes.
  const block = exif && exif.length > 4 ? exif.subarray(4 + exif.readUInt32BE(0)) : undefined;
  return { exif: block, xmp: find('xml ') };
}

/** A JPEG XL file with metadata. A codestream alone becomes a container. */
export function jxlWithMetadata(file: Buffer, { exif, xmp }: SourceMetadata): Buffer {
  const added = [
    ...(exif ? [box('Exif', Buffer.alloc(4), exif)] : []),
    ...(xmp ? [box('xml ', xmp)] : []),
  ];
  if (added.length === 0) return file;
  if (file[0] !== 0) return Buffer.concat([HEAD, ...added, box('jxlc', file)]);
  // Not before the level of the codestream, which follows the head.
  const at = [...boxes(file)].find(({ type }) => type.startsWith('jxlc'))?.at ?? file.length;
  return Buffer.concat([file.subarray(0, at), ...added, file.subarray(at)]);
}
