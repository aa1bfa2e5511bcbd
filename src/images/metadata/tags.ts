import { type DirectoryName, type ExifEditor, TYPE } from '../exif/edit.ts';
import { isoDateTime } from '../exif/text.ts';
import {
  splitText,
  TEXT_NAMES,
  type TextChange,
  type TextName,
  type Texts,
} from './text-places.ts';

/** A change of one tag. */
export interface TagChange {
  readonly name: string;
  apply(editor: ExifEditor): void;
  /** Properties of XMP that mean the same, and are not changed. */
  readonly xmp: readonly string[];
  /** Dots per inch, which formats store beside EXIF too; null removes them. */
  readonly dpi?: number | null;
  /** A text that XMP and IPTC have too, and after `resolveTexts` what they get. */
  readonly change?: TextChange;
  readonly texts?: Texts;
}

/** A tag that can be set. */
interface SettableTag {
  readonly expects: string;
  readonly xmp?: readonly string[];
  /** The change that a text asks for, empty to remove the tag; null for an invalid one. */
  read(text: string, mode: TextChange['mode']): Pick<TagChange, 'apply' | 'dpi' | 'change'> | null;
  /** Whether it is a list, to which texts can be added. */
  readonly isList?: boolean;
}

/** A text that XMP and IPTC have too. Its EXIF depends on the image, see `resolveTexts`. */
function sharedText(name: TextName): SettableTag {
  const { expects, read } = textTag('image', 0);
  return {
    expects,
    isList: name === 'Keywords' || name === 'Creator',
    read: (text, mode) =>
      read(text, mode) && {
        apply: () => undefined,
        change: { text: name, mode, values: splitText(name, text) },
      },
  };
}

/** Control characters, which no text of EXIF may contain. */
const CONTROL = /\p{Cc}/u;
/** Most UTF-8 bytes of a text, so that several fit into a segment of JPEG. */
const MAX_TEXT_BYTES = 8192;

function textTag(directory: DirectoryName, tag: number, ...xmp: string[]): SettableTag {
  return {
    expects: `a text without control characters, up to ${MAX_TEXT_BYTES} bytes of UTF-8`,
    xmp,
    read: (text) =>
      CONTROL.test(text) || Buffer.byteLength(text) > MAX_TEXT_BYTES
        ? null
        : { apply: orRemove(text, directory, tag, (exif) => exif.setText(directory, tag, text)) },
  };
}

/** Whether a text is empty, which removes a tag, or an integer within limits. */
function isInteger(text: string, least: number, most: number): boolean {
  const value = Number(text);
  return text === '' || (/^\d{1,5}$/.test(text) && value >= least && value <= most);
}

function numberTag(tag: number, least: number, most: number, ...xmp: string[]): SettableTag {
  const set = (text: string) => (exif: ExifEditor) => exif.setShort('image', tag, Number(text));
  return {
    expects: `an integer from ${least} to ${most}`,
    xmp,
    read: (text) =>
      isInteger(text, least, most) ? { apply: orRemove(text, 'image', tag, set(text)) } : null,
  };
}

function orRemove(
  text: string,
  directory: DirectoryName,
  tag: number,
  set: (editor: ExifEditor) => void,
): (editor: ExifEditor) => void {
  return text === '' ? (editor) => void editor.remove(directory, tag) : set;
}

/** Dates, each with the tag of its offset from UTC. */
const DATES = {
  original: [36_867, 36_881],
  digitised: [36_868, 36_882],
  changed: [306, 36_880],
} as const;
const EXIF_VERSION = 36_864;

function dateTag(xmp: readonly string[], ...names: (keyof typeof DATES)[]): SettableTag {
  return {
    expects: 'a date such as 2026-01-31T12:00:00, with +01:00 or Z if its offset is known',
    xmp,
    read(text) {
      const [, date = '', offset] = DATE.exec(text) ?? [];
      const iso = isoDateTime(date);
      if (text !== '' && iso === null) return null;
      const stored = iso?.replaceAll('-', ':').replace('T', ' ');
      const apply = (editor: ExifEditor) => {
        for (const name of names) {
          const [tag, offsetTag] = DATES[name];
          const directory = name === 'changed' ? 'image' : 'photo';
          if (stored === undefined) {
            editor.remove(directory, tag);
            editor.remove('photo', offsetTag);
            continue;
          }
          editor.setText(directory, tag, stored);
          if (offset) editor.setText('photo', offsetTag, offset === 'Z' ? '+00:00' : offset);
        }
        if (
          stored !== undefined &&
          editor.has('photo', 36_867) &&
          !editor.has('photo', EXIF_VERSION)
        ) {
          const bytes = Buffer.from('0232');
          editor.set('photo', EXIF_VERSION, { code: TYPE.UNDEFINED, count: 4, bytes });
        }
      };
      return { apply };
    },
  };
}

const DATE = /^(\d{4}[:-]\d\d[:-]\d\d[ T]\d\d:\d\d:\d\d)(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$/;

const [X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT] = [282, 283, 296];
const INCH = 2;

const DPI: SettableTag = {
  expects: 'an integer from 1 to 65535',
  read(text) {
    const dpi = Number(text);
    if (!isInteger(text, 1, 65_535)) return null;
    const apply = (editor: ExifEditor) => {
      for (const tag of [X_RESOLUTION, Y_RESOLUTION]) {
        if (text === '') editor.remove('image', tag);
        else editor.setRational('image', tag, dpi, 1);
      }
      if (text === '') editor.remove('image', RESOLUTION_UNIT);
      else editor.setShort('image', RESOLUTION_UNIT, INCH);
    };
    return { apply, dpi: text === '' ? null : dpi };
  },
};

const TAGS: Readonly<Record<string, SettableTag>> = {
  ...(Object.fromEntries(TEXT_NAMES.map((name) => [name, sharedText(name)])) as Record<
    TextName,
    SettableTag
  >),
  Artist: textTag('image', 315, 'dc:creator'),
  ImageDescription: textTag('image', 270, 'dc:description'),
  Software: textTag('image', 305, 'xmp:CreatorTool'),
  Make: textTag('image', 271, 'tiff:Make'),
  Model: textTag('image', 272, 'tiff:Model'),
  LensModel: textTag('photo', 42_036, 'exifEX:LensModel'),
  DateTimeOriginal: dateTag(['exif:DateTimeOriginal', 'photoshop:DateCreated'], 'original'),
  DateTimeDigitized: dateTag(['exif:DateTimeDigitized', 'xmp:CreateDate'], 'digitised'),
  DateTime: dateTag(['xmp:ModifyDate'], 'changed'),
  AllDates: dateTag(
    ['exif:DateTimeOriginal', 'photoshop:DateCreated', 'xmp:CreateDate', 'xmp:ModifyDate'],
    'original',
    'digitised',
    'changed',
  ),
  Orientation: numberTag(274, 1, 8, 'tiff:Orientation'),
  Rating: numberTag(18_246, 0, 5, 'xmp:Rating'),
  DPI,
};

export const TAG_NAMES = Object.keys(TAGS);

/**
 * The change that `NAME=VALUE` asks for. Names may be written in small letters.
 *
 * @returns the message of a fault as a text
 */
export function readTagChange(text: string): TagChange | string {
  const separator = text.indexOf('=');
  const [, given = '', sign = ''] =
    /^(.*?)([+-]?)$/s.exec(separator < 0 ? text : text.slice(0, separator)) ?? [];
  const name = TAG_NAMES.find((one) => one.toLowerCase() === given.trim().toLowerCase());
  if (name === undefined)
    return `expected one of ${TAG_NAMES.join(', ')}, received ${JSON.stringify(given.slice(0, 40))}`;
  if (separator < 0) return `expected ${name}=VALUE, received no =`;
  const { expects, xmp = [], read, isList } = TAGS[name]!;
  if (sign !== '' && !isList)
    return `expected ${name}=VALUE, received ${sign}=; only lists have it`;
  const value = text.slice(separator + 1).trim();
  const change = read(value, sign as TextChange['mode']);
  if (change === null)
    return `${name}: expected ${expects}, received ${JSON.stringify(value.slice(0, 40))}`;
  return { name, xmp, ...change };
}
