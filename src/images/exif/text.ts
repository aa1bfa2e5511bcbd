import { valueOr } from '../../flow.ts';

/** Most bytes of a text that are read. */
export const MAX_TEXT_BYTES = 4096;

/** Decodes UTF-8, which contains the standard's ISO 646, or else Latin-1. */
export function decodeText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return sanitise(decodeUtf8OrLatin(end < 0 ? bytes : bytes.subarray(0, end)));
}

/** Decodes TIFF's Copyright, which separates photographer and editor by a NUL. */
export function decodeCopyright(bytes: Uint8Array): string {
  const parts = decodeUtf8OrLatin(bytes).split('\0').slice(0, 2).map(sanitise);
  return parts.filter((part) => part !== '').join('; ');
}

/** Decodes UTF-16, which Windows stores little-endian in blocks of either byte order. */
export function decodeUtf16(bytes: Uint8Array, littleEndian = true): string {
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const text = new TextDecoder(littleEndian ? 'utf-16le' : 'utf-16be').decode(whole);
  return sanitise(text.split('\0', 1)[0]!);
}

/** Decodes text after eight bytes that name its character code (Exif 2.32, 4.6.5, UserComment). */
export function decodeCommented(bytes: Uint8Array, littleEndian: boolean): string {
  const code = new TextDecoder('latin1').decode(bytes.subarray(0, 8)).replace(/[\0 ]+$/, '');
  const text = bytes.subarray(8);
  switch (code.toUpperCase()) {
    case 'UNICODE':
      // A byte order mark overrides the order of the block; the decoder removes the mark.
      if (text[0] === 0xff && text[1] === 0xfe) return decodeUtf16(text, true);
      if (text[0] === 0xfe && text[1] === 0xff) return decodeUtf16(text, false);
      return decodeUtf16(text, littleEndian);
    case 'JIS':
      return sanitise(new TextDecoder('iso-2022-jp').decode(text).split('\0', 1)[0]!);
    case 'ASCII':
    case '':
      return decodeText(text);
    default:
      // No character code: some writers begin with the text itself.
      return decodeText(bytes);
  }
}

function decodeUtf8OrLatin(bytes: Uint8Array): string {
  // A truncated text may end within a character.
  const stream = bytes.length >= MAX_TEXT_BYTES;
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  return (
    valueOr(() => utf8.decode(bytes, { stream }), null) ?? new TextDecoder('latin1').decode(bytes)
  );
}

/**
 * Replaces characters that could control a terminal or the direction of text (control characters,
 * bidirectional overrides, line separators) with spaces, and trims.
 */
export function sanitise(text: string): string {
  return text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ').trim();
}

/** Converts `2008:10:22 16:28:39` to `2008-10-22T16:28:39`; null if it is invalid. */
export function isoDateTime(text: string): string | null {
  const parts = /^(\d{4})[:/-](\d\d)[:/-](\d\d)[ T](\d\d):(\d\d):(\d\d)/.exec(text);
  if (parts === null) return null;
  const date = isoDate(parts.slice(1, 4).join(':'));
  const time = isoTime(Number(parts[4]), Number(parts[5]), Number(parts[6]));
  return date === null || time === null ? null : `${date}T${time}`;
}

/** Converts `2008:10:22` to `2008-10-22`; null if there is no such day. */
export function isoDate(text: string): string | null {
  const parts = /^(\d{4})[:/-](\d\d)[:/-](\d\d)$/.exec(text);
  if (parts === null) return null;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  if (year === 0 || month < 1 || month > 12 || day < 1) return null;
  // Day 0 of the next month is the last day of this one.
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return day <= days ? parts.slice(1).join('-') : null;
}

/** Formats a time in whole seconds; null if it is invalid. A leap second is valid. */
export function isoTime(hours: number, minutes: number, seconds: number): string | null {
  const within = (value: number, most: number) => value >= 0 && value < most;
  if (!within(hours, 24) || !within(minutes, 60) || !within(seconds, 61)) return null;
  return [hours, minutes, seconds]
    .map((part) => String(Math.floor(part)).padStart(2, '0'))
    .join(':');
}
