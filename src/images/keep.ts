import { readExif } from './exif/exif.ts';
import type { Header } from './header.ts';
import type { ImageInput, Sharp } from './input.ts';
import { bare } from './pixels.ts';
import { pngWithExif } from './png.ts';

export const METADATA_POLICIES = ['none', 'copyright', 'icc', 'all'] as const;

export type MetadataPolicy = (typeof METADATA_POLICIES)[number];

/**
 * Carries metadata from an input to its output. Nothing is the default: EXIF tells where a
 * photograph was taken and with which camera. The profile goes too, since colours are sRGB by then.
 */
export async function keepMetadata(
  input: ImageInput,
  image: Sharp,
  header: Header,
  policy: MetadataPolicy,
  output: { readonly grey: boolean },
): Promise<Sharp> {
  switch (policy) {
    case 'none':
      return image;
    case 'copyright':
      return keepCopyright(input, image, header);
    case 'icc':
      return keepProfile(image.keepIccProfile(), header, output);
    case 'all':
      return keepProfile(image.keepMetadata(), header, output);
  }
}

function keepProfile(image: Sharp, header: Header, output: { readonly grey: boolean }): Sharp {
  const { hasProfile, space } = header.metadata;
  // A profile of inks or of grey says nothing about the red, green and blue that we write.
  const foreign = space === 'cmyk' || (header.grey && !output.grey);
  return hasProfile && foreign ? image.withIccProfile('srgb') : image;
}

/** Who made it and who owns it, and nothing of when, where or with what. */
async function keepCopyright(input: ImageInput, image: Sharp, header: Header): Promise<Sharp> {
  const { exif } = header;
  const tags = exif ? readExif(exif)?.image : undefined;
  const { Copyright: rights, Artist: creator } = tags ?? {};
  const texts = Object.entries({ Copyright: rights, Artist: creator }).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
  if (texts.length === 0) return image;
  // The thumbnail inside EXIF, which shows the whole original, outlives every other way to drop it.
  const pixels = await bare(input, image, header);
  // EXIF is ASCII and TIFF files get none, so XMP says the same in UTF-8.
  return pixels.withExif({ IFD0: Object.fromEntries(texts) }).withXmp(xmpOf(rights, creator));
}

/**
 * Gives an image an EXIF block that the input's decoder did not read. The image goes through a PNG
 * that is not compressed, since sharp takes EXIF as a whole from an input alone.
 */
export async function attachExif(
  { sharp }: ImageInput,
  image: Sharp,
  exif: Uint8Array,
): Promise<Sharp> {
  const png = await image.png({ compressionLevel: 0 }).toBuffer();
  return sharp(pngWithExif(png, exif), { limitInputPixels: false, ignoreIcc: true }).keepMetadata();
}

const XML_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Adobe's XMP with Dublin Core's rights and creator (ISO 16684-1). */
function xmpOf(rights: unknown, creator: unknown): string {
  const escaped = (text: unknown) =>
    String(text).replace(/[&<>]/g, (character) => XML_ESCAPES[character]!);
  const properties = [
    rights &&
      `<dc:rights><rdf:Alt><rdf:li xml:lang="x-default">${escaped(rights)}</rdf:li></rdf:Alt></dc:rights>`,
    creator && `<dc:creator><rdf:Seq><rdf:li>${escaped(creator)}</rdf:li></rdf:Seq></dc:creator>`,
  ];
  return [
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">',
    ...properties.filter(Boolean),
    '</rdf:Description></rdf:RDF></x:xmpmeta>',
  ].join('');
}
