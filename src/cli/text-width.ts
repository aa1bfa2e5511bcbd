import stringWidth from 'string-width';

const PLAIN = /^[\x20-\x7e]*$/;

/** Columns of a terminal that a text takes: two for a wide character, none for an escape code. */
export function textWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** Made when first needed: most texts fit. */
let graphemes: Intl.Segmenter | undefined;

function split(text: string): string[] {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/** As many of the first graphemes as fit. */
function fitting(segments: readonly string[], columns: number): string[] {
  let left = columns;
  const end = segments.findIndex((segment) => {
    left -= textWidth(segment);
    return left < 0;
  });
  return segments.slice(0, end === -1 ? segments.length : end);
}

/** A text without escape codes, its end cut off where it takes more columns than there are. */
export function cutEnd(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  return `${fitting(split(text), Math.max(0, columns - 1)).join('')}…`;
}

/** A text without escape codes, shortened in the middle: both ends of a path tell most. */
export function cutMiddle(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  const segments = split(text);
  const room = Math.max(0, columns - 1);
  const end = fitting(segments.toReversed(), Math.ceil(room / 2));
  const start = fitting(segments, room - textWidth(end.join('')));
  return `${start.join('')}…${end.toReversed().join('')}`;
}
