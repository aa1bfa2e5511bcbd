import { ORIENTATION } from '../exif/tags.ts';
import { openExif } from '../exif/tiff-block.ts';
import { type PngChunk, pngChunk, pngChunks, pngOf } from '../png/chunks.ts';
import { packetOf, pngWithProfile, XMP } from '../png/png.ts';

/** Metadata of a file that a program decodes or writes, and its sides where they are known. */
export type SourceMetadata = Partial<
  Record<'exif' | 'xmp' | 'icc', Uint8Array | undefined> & Record<'width' | 'height', number>
>;

const isPicture = ({ name }: PngChunk) => !['eXIf', 'tEXt', 'zTXt', 'iTXt'].includes(name);
const PREFIX = 'Exif\0\0';

/** The EXIF block of an upright picture, without the prefix that only JPEG has. */
function uprightExif(block: Uint8Array): Buffer {
  const copy = Buffer.from(block);
  const exif = copy.indexOf(PREFIX) === 0 ? copy.subarray(PREFIX.length) : copy;
  const tiff = openExif(exif);
  const field = tiff?.directory(tiff.start)?.get(ORIENTATION);
  if (!field) return exif;
  const end = field.offset + field.type.bytes;
  exif.fill(0, field.offset, end)[tiff?.littleEndian ? field.offset : end - 1] = 1;
  return exif;
}

/**
 * A PNG of upright pixels with the metadata of its source instead of its own. Decoders of HEIC and JPEG XL rotate the
 * pixels by the file's transformations, and keep an orientation in EXIF that would rotate them again.
 */
export function pngWithSource(png: Uint8Array, { exif, xmp, icc }: SourceMetadata): Buffer {
  const chunks = [...pngChunks(png)].filter(isPicture);
  const added = [
    ...(exif ? [pngChunk('eXIf', uprightExif(exif))] : []),
    ...(xmp ? [pngChunk('iTXt', Buffer.concat([XMP, Buffer.alloc(4), xmp]))] : []),
  ];
  const complete = pngOf([...chunks.slice(0, 1), ...added, ...chunks.slice(1)]);
  return icc ? pngWithProfile(complete, icc) : complete;
}

/** A PNG without metadata beside its colours, and the metadata. */
export function splitPng(png: Uint8Array): SourceMetadata & { readonly png: Buffer } {
  const chunks = [...pngChunks(png)];
  const packet = chunks.find(({ data }) => data.subarray(0, XMP.length).equals(XMP));
  return {
    png: pngOf(chunks.filter(isPicture)),
    exif: chunks.find(({ name }) => name === 'eXIf')?.data,
    xmp: packet && packetOf(packet),
  };
}
