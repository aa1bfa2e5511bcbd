import { DIRECTORY_TAGS, GPS_TAGS, IMAGE_AND_PHOTO_TAGS, INTEROP_TAGS } from './tags.ts';
import {
  decodeCommented,
  decodeCopyright,
  decodeText,
  decodeUtf16,
  isoDate,
  isoDateTime,
  isoTime,
  MAX_TEXT_BYTES,
} from './text.ts';
import { type Field, openExif, readDirectories, type TiffBlock } from './tiff-block.ts';

/** A value in JSON. Fractions are numbers; null is an undefined fraction such as 0/0. */
type ExifValue = number | string | null | (number | null)[];

type Tags = Record<string, ExifValue>;

/**
 * The tags of an Exif block by directory: `image` of the file (IFD0), `photo` of the exposure. Keys are the standard's
 * names, `0x....` for unknown tags.
 */
export type ExifTags = Record<'image' | 'photo' | 'gps' | 'interop', Tags>;

/** The most used tags; a key exists only if its value is known. */
export type BasicExif = ReturnType<typeof basicExif>;

/** Most values of an array that is returned; of longer ones, tables for programs, only the number is. */
const MAX_ARRAY_LENGTH = 64;

/** Tags of type undefined that hold text: versions such as `0232`. */
const VERSION_TAGS = new Set(['ExifVersion', 'FlashpixVersion', 'InteroperabilityVersion']);
const COMMENT_TAGS = new Set(['UserComment', 'GPSProcessingMethod', 'GPSAreaInformation']);
const WINDOWS_TAGS = new Set(['XPTitle', 'XPComment', 'XPAuthor', 'XPKeywords', 'XPSubject']);
/** Tags of type undefined that hold small numbers. */
const BYTE_TAGS = new Set(['ComponentsConfiguration', 'FileSource', 'SceneType']);
/** Tags that hold other formats, whatever their type. */
const OPAQUE_TAGS = new Set([
  'MakerNote',
  'XMLPacket',
  'IPTCNAA',
  'ImageResources',
  'InterColorProfile',
  'PrintImageMatching',
]);
/** Date tags, each with the tag of its offset from UTC. */
const DATES = [
  ['DateTime', 'OffsetTime'],
  ['DateTimeOriginal', 'OffsetTimeOriginal'],
  ['DateTimeDigitized', 'OffsetTimeDigitized'],
] as const;
const OFFSET = /^(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

/**
 * Reads an Exif block, with or without its `Exif` prefix, in either byte order: IFD0 and the
 * Exif, GPS and interoperability directories, but no thumbnail (IFD1) and no maker notes. Never throws;
 * time and memory are bounded by the length of the bytes. Null if the bytes are no Exif block. Dates are
 * ISO 8601, with their offset if it is known; invalid dates and empty texts are left out. Opaque or very
 * long values are returned as `(n bytes)` or `(n values)`.
 */
export function readExif(bytes: Uint8Array): ExifTags | null {
  const block = openExif(bytes);
  const directories = block && readDirectories(block);
  if (!directories) return null;
  const { image, photo, gps, interop } = directories;
  const tags: ExifTags = {
    image: readTags(block, image, IMAGE_AND_PHOTO_TAGS),
    photo: readTags(block, photo, IMAGE_AND_PHOTO_TAGS),
    gps: readTags(block, gps, GPS_TAGS),
    interop: readTags(block, interop, INTEROP_TAGS),
  };
  for (const [name, offset] of DATES) {
    const change = (date: string) => withOffset(isoDateTime(date), tags.photo[offset]);
    replaceText(tags.image, name, change);
    replaceText(tags.photo, name, change);
  }
  replaceText(tags.gps, 'GPSDateStamp', isoDate);
  return tags;
}

function readTags(
  block: TiffBlock,
  fields: ReadonlyMap<number, Field>,
  names: Readonly<Record<number, string>>,
): Tags {
  const tags: Tags = {};
  const pointers: readonly number[] = Object.values(DIRECTORY_TAGS);
  for (const [tag, field] of fields) {
    if (pointers.includes(tag)) continue;
    const name = names[tag] ?? `0x${tag.toString(16).padStart(4, '0')}`;
    const value = readValue(block, field, name);
    if (value !== undefined && value !== '') tags[name] = value;
  }
  return tags;
}

/** Undefined if the values of the block exceed its length. */
function readValue(block: TiffBlock, field: Field, name: string): ExifValue | undefined {
  const text = (decode: (bytes: Uint8Array) => string) => {
    const bytes = block.bytes(field, MAX_TEXT_BYTES);
    return bytes === null ? undefined : decode(bytes);
  };
  if (OPAQUE_TAGS.has(name)) return `(${field.count * field.type.bytes} bytes)`;
  if (WINDOWS_TAGS.has(name)) return text((bytes) => decodeUtf16(bytes));
  if (COMMENT_TAGS.has(name)) return text((bytes) => decodeCommented(bytes, block.littleEndian));
  if (VERSION_TAGS.has(name)) return text(decodeText);
  switch (field.type.name) {
    case 'ascii':
    case 'utf8':
      return text(name === 'Copyright' ? decodeCopyright : decodeText);
    case 'undefined':
      if (!BYTE_TAGS.has(name)) return `(${field.count} bytes)`;
  }
  if (field.count > MAX_ARRAY_LENGTH) {
    return `(${field.count} ${field.type.bytes === 1 ? 'bytes' : 'values'})`;
  }
  const numbers = block.numbers(field);
  if (numbers === null) return undefined;
  if (name === 'GPSVersionID') return numbers.join('.');
  return numbers.length === 1 ? numbers[0]! : numbers;
}

/** Replaces a text, or removes it if the result is null. */
function replaceText(tags: Tags, name: string, change: (text: string) => string | null): void {
  const value = tags[name];
  if (value === undefined) return;
  const changed = typeof value === 'string' ? change(value) : null;
  if (changed === null) delete tags[name];
  else tags[name] = changed;
}

function withOffset(date: string | null, offset: ExifValue | undefined): string | null {
  return date !== null && typeof offset === 'string' && OFFSET.test(offset) ? date + offset : date;
}

/** The orientation of a block, 1 to 8; 1 where it is unknown. */
export function orientationOf(block: Uint8Array | null): number {
  const value = block && readExif(block)?.image['Orientation'];
  return typeof value === 'number' && value >= 1 && value <= 8 ? value : 1;
}

/** The most used tags, under plain names. */
export function basicExif(tags: ExifTags) {
  // Some writers put the Exif directory's tags into IFD0, and the other way round.
  const all: Tags = { ...tags.image, ...tags.photo };
  const text = (...names: string[]) =>
    names.map((name) => all[name]).find((value) => typeof value === 'string');
  const number = (name: string, least = 0): number | undefined => {
    const value = all[name];
    const first = Array.isArray(value) ? value[0] : value;
    return typeof first === 'number' && first > least ? first : undefined;
  };
  const flash = number('Flash', -1);
  const orientation = number('Orientation');
  return present({
    make: text('Make'),
    model: text('Model'),
    lens: text('LensModel'),
    software: text('Software'),
    /** Date taken, else digitised, else last changed: `YYYY-MM-DDTHH:MM:SS`, `+HH:MM`. */
    dateTime: text('DateTimeOriginal', 'DateTimeDigitized', 'DateTime'),
    /** Exposure time in seconds. */
    exposureTime: number('ExposureTime'),
    fNumber: number('FNumber'),
    iso: sensitivity(number),
    /** Focal length of the lens in millimetres. */
    focalLength: number('FocalLength'),
    /** Whether the flash fired. */
    flash: flash === undefined ? undefined : flash % 2 === 1,
    /** Orientation 1 to 8, as stored. */
    orientation: orientation !== undefined && orientation <= 8 ? orientation : undefined,
    copyright: text('Copyright'),
    artist: text('Artist'),
  });
}

/** The ISO sensitivity: 65535 in the short tag means that one of the long tags has the value. */
function sensitivity(number: (name: string) => number | undefined): number | undefined {
  const short = number('PhotographicSensitivity');
  if (short !== undefined && short !== 65535) return short;
  return (
    number('StandardOutputSensitivity') ??
    number('RecommendedExposureIndex') ??
    number('ISOSpeed') ??
    short
  );
}

function present<T extends object>(record: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/**
 * The position where the picture was taken; null if it or its hemisphere is missing, or it is invalid.
 * An invalid altitude or time leaves out only itself.
 *
 * @returns degrees, north and east positive, rounded to seven decimals, which is a centimetre; metres above sea level,
 *   negative below; time in UTC, `YYYY-MM-DDTHH:MM:SSZ`
 */
export function gpsPosition({ gps }: ExifTags) {
  const latitude = degrees(gps['GPSLatitude'], gps['GPSLatitudeRef'], 'N', 'S', 90);
  const longitude = degrees(gps['GPSLongitude'], gps['GPSLongitudeRef'], 'E', 'W', 180);
  if (latitude === null || longitude === null) return null;
  const stored = gps['GPSAltitude'];
  // 1 is below sea level, 3 (Exif 3.0) below the ellipsoid.
  const below = gps['GPSAltitudeRef'] === 1 || gps['GPSAltitudeRef'] === 3;
  const height = typeof stored === 'number' ? stored : undefined;
  const altitude = below && height !== undefined ? 0 - height : height;
  const rest = present({ altitude, timestamp: gpsTimestamp(gps) ?? undefined });
  return { latitude, longitude, ...rest };
}

/** Converts degrees, minutes and seconds, of which the last may be missing or null. */
function degrees(
  value: ExifValue | undefined,
  reference: ExifValue | undefined,
  positive: string,
  negative: string,
  most: number,
): number | null {
  if (typeof reference !== 'string') return null;
  const hemisphere = reference.charAt(0).toUpperCase();
  if (hemisphere !== positive && hemisphere !== negative) return null;
  const parts = Array.isArray(value) ? value : [value];
  const [whole, minutes, seconds] = parts;
  if (typeof whole !== 'number' || parts.some((part) => typeof part === 'number' && part < 0)) {
    return null;
  }
  const angle = whole + orZero(minutes) / 60 + orZero(seconds) / 3600;
  if (angle > most) return null;
  const rounded = Math.round(angle * 1e7) / 1e7;
  return hemisphere === negative ? 0 - rounded : rounded;
}

const orZero = (value: ExifValue | undefined): number => (typeof value === 'number' ? value : 0);

function gpsTimestamp(gps: Tags): string | null {
  const date = gps['GPSDateStamp'];
  const time = gps['GPSTimeStamp'];
  if (typeof date !== 'string' || !Array.isArray(time) || time.length !== 3) return null;
  const [hours, minutes, seconds] = time;
  if (typeof hours !== 'number' || typeof minutes !== 'number') return null;
  const iso = isoTime(hours, minutes, orZero(seconds));
  return iso === null ? null : `${date}T${iso}Z`;
}
