import stringWidth from 'string-width';

const PLAIN = /^[\x20-\x7e]*$/;

/** Width of a text in columns of a terminal: two for a wide character, none for an escape code. */
export function textWidth(text: string): number {
  return PLAIN.test(text) ? text.length : stringWidth(text);
}

/** Created at the first use, because most texts fit. */
let graphemes: Intl.Segmenter | undefined;

function split(text: string): string[] {
  if (PLAIN.test(text)) return text.split('');
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

/**
 * Cuts the middle out of a text that is too wide, such as a path. It must not contain escape codes.
 *
 * @param share of the columns that the start of the text gets
 */
export function cutMiddle(text: string, columns: number, share = 0.5): string {
  if (textWidth(text) <= columns) return text;
  const segments = split(text);
  const available = Math.max(0, columns - 1);
  const end = fitting(segments.toReversed(), Math.ceil(available * (1 - share)));
  const start = fitting(segments, available - textWidth(end.join('')));
  return `${start.join('')}…${end.toReversed().join('')}`;
}

/** Breaks a text into lines between words, and in words that are wider than a line. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (textWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (textWidth(line) > columns) {
      const [first, ...more] = split(line);
      const start = [first, ...fitting(more, columns - textWidth(first!))].join('');
      lines.push(start);
      line = line.slice(start.length);
    }
  }
  return [...lines, line];
}
