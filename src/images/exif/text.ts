/** No text is read beyond this many bytes. */
export const LONGEST_TEXT = 4096;

/** ISO 646 in the standard, but read as UTF-8, which contains it, and failing that as Latin-1. */
export function decodeText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return tidy(decodeUtf8OrLatin(end < 0 ? bytes : bytes.subarray(0, end)));
}

/** Photographer and editor, which TIFF's Copyright parts by a NUL. */
export function decodeCopyright(bytes: Uint8Array): string {
  const parts = decodeUtf8OrLatin(bytes).split('\0').slice(0, 2).map(tidy);
  return parts.filter((part) => part !== '').join('; ');
}

/** Text as Windows stores it, whatever the byte order of the block. */
export function decodeUtf16(bytes: Uint8Array, littleEndian = true): string {
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const text = new TextDecoder(littleEndian ? 'utf-16le' : 'utf-16be').decode(whole);
  return tidy(text.split('\0', 1)[0]!);
}

/** Text behind eight bytes that name its character code (Exif 2.32, 4.6.5, UserComment). */
export function decodeCommented(bytes: Uint8Array, littleEndian: boolean): string {
  const code = new TextDecoder('latin1').decode(bytes.subarray(0, 8)).replace(/[\0 ]+$/, '');
  const text = bytes.subarray(8);
  switch (code.toUpperCase()) {
    case 'UNICODE':
      // A byte order mark overrides the order of the block; the decoder then swallows the mark.
      if (text[0] === 0xff && text[1] === 0xfe) return decodeUtf16(text, true);
      if (text[0] === 0xfe && text[1] === 0xff) return decodeUtf16(text, false);
      return decodeUtf16(text, littleEndian);
    case 'JIS':
      return tidy(new TextDecoder('iso-2022-jp').decode(text).split('\0', 1)[0]!);
    case 'ASCII':
    case '':
      return decodeText(text);
    default:
      // No code at all: some writers begin with the text itself.
      return decodeText(bytes);
  }
}

function decodeUtf8OrLatin(bytes: Uint8Array): string {
  // Where a long text was cut, the cut may have gone through a character.
  const stream = bytes.length >= LONGEST_TEXT;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream });
  } catch {
    return new TextDecoder('latin1').decode(bytes);
  }
}

/**
 * What could steer a terminal or turn the direction of text (control characters, bidirectional
 * overrides, line separators) becomes a space; spaces at both ends go.
 */
function tidy(text: string): string {
  return text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ').trim();
}

/** `2008:10:22 16:28:39` as `2008-10-22T16:28:39`; null where it names no moment. */
export function isoDateTime(text: string): string | null {
  const parts = /^(\d{4})[:/-](\d\d)[:/-](\d\d)[ T](\d\d):(\d\d):(\d\d)/.exec(text);
  if (parts === null) return null;
  const date = isoDate(parts.slice(1, 4).join(':'));
  const time = isoTime(Number(parts[4]), Number(parts[5]), Number(parts[6]));
  return date === null || time === null ? null : `${date}T${time}`;
}

/** `2008:10:22` as `2008-10-22`; null where the calendar has no such day. */
export function isoDate(text: string): string | null {
  const parts = /^(\d{4})[:/-](\d\d)[:/-](\d\d)$/.exec(text);
  if (parts === null) return null;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  if (year === 0 || month < 1 || month > 12 || day < 1) return null;
  // Day 0 of the next month is the last of this one.
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return day <= days ? parts.slice(1).join('-') : null;
}

/** Whole seconds; null outside a day. A leap second is one of its seconds. */
export function isoTime(hours: number, minutes: number, seconds: number): string | null {
  const within = (value: number, most: number) => value >= 0 && value < most;
  if (!within(hours, 24) || !within(minutes, 60) || !within(seconds, 61)) return null;
  return [hours, minutes, seconds]
    .map((part) => String(Math.floor(part)).padStart(2, '0'))
    .join(':');
}
