import stringWidth from 'string-width';

const PLAIN = /^[\x20-\x7e]*$/;

/** Width of a text in columns of a terminal: two for a wide character, none for an escape code. */
export function textWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** Created at the first use, because most texts fit. */
let graphemes: Intl.Segmenter | undefined;

function split(text: string): string[] {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/** The first graphemes that fit. */
function fitting(segments: readonly string[], columns: number): string[] {
  let left = columns;
  const end = segments.findIndex((segment) => {
    left -= textWidth(segment);
    return left < 0;
  });
  return segments.slice(0, end === -1 ? segments.length : end);
}

/** Cuts the end off a text that is too wide. It must not contain escape codes. */
export function cutEnd(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  return `${fitting(split(text), Math.max(0, columns - 1)).join('')}…`;
}

/** Cuts the middle out of a text that is too wide, such as a path. It must not contain escape codes. */
export function cutMiddle(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  const segments = split(text);
  const available = Math.max(0, columns - 1);
  const end = fitting(segments.toReversed(), Math.ceil(available / 2));
  const start = fitting(segments, available - textWidth(end.join('')));
  return `${start.join('')}…${end.toReversed().join('')}`;
}
