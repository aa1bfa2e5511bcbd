import type { ExifEditor } from '../exif/edit.ts';
import { type ExifTags, readExif } from '../exif/exif.ts';
import { isStripped, type MetadataEdit } from './edit.ts';
import { iptcTexts } from './iptc.ts';
import type { TagChange } from './tags.ts';
import {
  placeOf,
  splitText,
  TEXT_NAMES,
  TEXTS,
  type TextName,
  type Texts,
  unique,
} from './text-places.ts';
import { readPacket, xmpTexts } from './xmp-packet.ts';

/** Blocks of metadata that have texts. */
export interface TextBlocks {
  readonly exif: Uint8Array | null;
  readonly xmp: Uint8Array | null;
  /** Records of IPTC. */
  readonly iptc: Buffer | null;
}

/** The texts of an image: of XMP, else IPTC, else EXIF, and keywords of all of them. */
export function readTexts({ exif, xmp, iptc }: TextBlocks): Texts {
  const sources = [
    (xmp && xmpTexts(readPacket(xmp))) ?? {},
    (iptc && iptcTexts(iptc)) ?? {},
    (exif && exifTexts(readExif(exif)?.image)) ?? {},
  ];
  const entries = TEXT_NAMES.map((name) => {
    const found = sources.map((texts: Texts) => texts[name] ?? []);
    const all = found.find((texts) => texts.length > 0) ?? [];
    return [name, name === 'Keywords' ? merged(found.flat()) : all] as const;
  });
  return Object.fromEntries(entries.filter(([, texts]) => texts.length > 0));
}

/** Keywords without repetitions, and without the beginnings that IPTC has of long ones. */
function merged(texts: readonly string[]): string[] {
  const isCut = (text: string) => Buffer.byteLength(text) > TEXTS.Keywords.bytes - 4;
  const long = texts.filter(isCut);
  const isBeginning = (text: string) =>
    isCut(text) && long.some((one) => one.length > text.length && one.startsWith(text));
  return unique(texts).filter((text) => !isBeginning(text));
}

const WINDOWS_NAMES = { Title: 'XPTitle', Keywords: 'XPKeywords', Creator: 'XPAuthor' } as const;

function exifTexts(image: ExifTags['image'] = {}): Texts {
  const names = { Description: 'ImageDescription', Creator: 'Artist', Copyright: 'Copyright' };
  const texts = TEXT_NAMES.map((name) => {
    const tags: Partial<Record<TextName, string>>[] = [names, WINDOWS_NAMES];
    const value = tags.map((tag) => image[tag[name] ?? '']).find((one) => typeof one === 'string');
    return [name, splitText(name, String(value ?? ''))] as const;
  });
  return Object.fromEntries(texts);
}

/** Changes with the texts that they give for an image with these blocks, after what is removed. */
export function resolveTexts(edit: MetadataEdit, blocks: TextBlocks): MetadataEdit {
  if (!edit.set.some(({ change }) => change)) return edit;
  const left = (kind: 'exif' | 'xmp' | 'iptc') => (isStripped(edit, kind) ? null : blocks[kind]);
  const texts: Partial<Record<TextName, readonly string[]>> = {
    ...readTexts({ exif: left('exif'), xmp: left('xmp'), iptc: left('iptc') as Buffer | null }),
  };
  const set = edit.set.map((one): TagChange => {
    if (!one.change) return one;
    const { text, mode, values } = one.change;
    const former = texts[text] ?? [];
    const result =
      mode === '-'
        ? former.filter((value) => !values.includes(value))
        : unique([...(mode === '+' ? former : []), ...values]);
    texts[text] = result;
    return { ...one, texts: { [text]: result }, apply: (exif) => setExif(exif, text, result) };
  });
  return { ...edit, set };
}

function setExif(editor: ExifEditor, name: TextName, texts: readonly string[]): void {
  const { exif, windows } = placeOf(name);
  if (windows !== undefined) editor.remove('image', windows);
  if (exif === undefined) return;
  if (texts.length === 0) editor.remove('image', exif);
  else editor.setText('image', exif, texts.join('; '));
}
