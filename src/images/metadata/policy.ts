import type { Header, Size } from '../decoding/header.ts';
import { withoutMetadata } from '../decoding/pixels.ts';
import { readExif } from '../exif/exif.ts';
import { COPYRIGHT_TAGS } from '../exif/tags.ts';
import type { ImageInput, Sharp } from '../input.ts';
import type { MetadataPolicy } from '../output.ts';
import { pngWithExif } from '../png/png.ts';
import { editExif } from './edit.ts';
import type { TagChange } from './tags.ts';
import { editWebp } from './webp.ts';
import { xmpWithTexts } from './xmp-packet.ts';

interface OutputTraits {
  readonly grey: boolean;
  /** Whether the pixels became grey, so that the profile of a colour image does not fit. */
  readonly desaturated: boolean;
  readonly frames: number;
  /** Whether colours are converted from the profile of the pipeline to another one. */
  readonly converted: boolean;
}

/** The pixels of a pipeline with the metadata of the input, as an uncompressed PNG. */
export function metadataPng(image: Sharp, header: Header, { grey } = header) {
  const { deep } = header;
  const space = grey ? (deep ? 'grey16' : 'b-w') : deep ? 'rgb16' : 'srgb';
  return keepProfile(image.keepMetadata(), header, { grey })
    .toColourspace(space)
    .png({ compressionLevel: 0 })
    .toBuffer({ resolveWithObject: true });
}

/**
 * Continues with the pixels of a pipeline in a new one, which keeps the metadata of the input. sharp copies
 * metadata only from an encoded input.
 */
export async function withMetadata({ sharp }: ImageInput, image: Sharp, header: Header) {
  const { data, info } = await metadataPng(image, header);
  return { image: sharp(data, { limitInputPixels: false }), info };
}

/**
 * Copies metadata from an input to its output. The default is none, because EXIF reveals where a photograph
 * was taken and with which camera. The profile is dropped too, since colours are converted to sRGB.
 */
export async function keepMetadata(
  input: ImageInput,
  image: Sharp,
  header: Header,
  policy: MetadataPolicy,
  output: OutputTraits,
): Promise<Sharp> {
  switch (policy) {
    case 'none':
      return image;
    case 'copyright':
      return keepCopyright(input, image, header, output);
    case 'icc':
      return output.desaturated ? image : keepProfile(image.keepIccProfile(), header, output);
    case 'all':
      if (output.desaturated) return image.keepExif().keepXmp();
      return keepProfile(image.keepMetadata(), header, output);
  }
}

function keepProfile(image: Sharp, header: Header, output: Pick<OutputTraits, 'grey'>): Sharp {
  const { hasProfile, space } = header.metadata;
  // A profile of inks or of grey does not describe an RGB output.
  const foreign = space === 'cmyk' || (header.grey && !output.grey);
  return hasProfile && foreign ? image.withIccProfile('srgb') : image;
}

/** Keeps Artist and Copyright only. */
async function keepCopyright(
  input: ImageInput,
  image: Sharp,
  header: Header,
  { frames, converted }: Pick<OutputTraits, 'frames' | 'converted'>,
): Promise<Sharp> {
  const texts = copyrightOf(header);
  if (texts === null) return image;
  // Only this removes the thumbnail inside EXIF, which shows the whole original.
  const pixels = converted ? image : await withoutMetadata(input, image, header);
  // EXIF is not written to TIFF, so XMP holds the same texts.
  const [rights, creator] = [texts['Copyright'], texts['Artist']];
  const xmp = xmpWithTexts(null, {
    ...(rights && { Copyright: [rights] }),
    ...(creator && { Creator: [creator] }),
  }).toString();
  const changes = exifTexts(texts);
  // A PNG, which `attachExif` writes, has one frame; `withCopyright` adds the letters to others.
  if (changes.length === 0 || frames > 1) {
    return pixels.withExif({ IFD0: texts }).withXmp(xmp);
  }
  const exif = editExif(null, { strip: new Set(), set: changes })!;
  return (await attachExif(input, pixels, exif)).withXmp(xmp);
}

/** Artist and Copyright of an input; null where it has neither. */
function copyrightOf({ exif }: Header): Record<string, string> | null {
  const tags = exif ? readExif(exif)?.image : undefined;
  const { Copyright, Artist } = tags ?? {};
  const texts = Object.entries({ Copyright, Artist }).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
  return texts.length > 0 ? Object.fromEntries(texts) : null;
}

/**
 * Changes of EXIF for texts with letters beyond ASCII; none where libvips can write all of them. It writes texts that
 * it sets itself in ASCII, and leaves blocks of the input as they are.
 */
function exifTexts(texts: Readonly<Record<string, string>>): TagChange[] {
  if (Object.values(texts).every((text) => /^[ -~]*$/.test(text))) return [];
  return Object.entries(texts).map(([name, text]) => ({
    ...{ name, xmp: [] },
    apply: (exif) => exif.setText('image', COPYRIGHT_TAGS[name]!, text),
  }));
}

/** An animated WebP, whose copyright libvips wrote in ASCII, with all letters. */
export function withCopyright(webp: Uint8Array, header: Header, size: Size): Uint8Array {
  const set = exifTexts(copyrightOf(header) ?? {});
  return set.length === 0 ? webp : editWebp(webp, { strip: new Set(), set }, size).bytes;
}

/**
 * Adds an EXIF block that the decoder did not read to an image. The image is written as an uncompressed
 * PNG and read again, since sharp copies whole EXIF blocks only from an input.
 */
export async function attachExif(
  { sharp }: ImageInput,
  image: Sharp,
  exif: Uint8Array,
): Promise<Sharp> {
  const png = await image.png({ compressionLevel: 0 }).toBuffer();
  return sharp(pngWithExif(png, exif), { limitInputPixels: false, ignoreIcc: true }).keepMetadata();
}
