import type { ByteRange } from '../../assets/storage/local-chunks.ts';

const SINGLE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * The part of a file that a `Range` header selects (RFC 9110 §14.2). Null for the whole file, which is
 * also the response to several ranges, other units and malformed headers.
 */
export function rangeOf(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | null {
  const [, from = '', to = ''] = SINGLE.exec(header ?? '') ?? [];
  if (from === '') {
    if (to === '') return null;
    const length = Math.min(Number(to), size);
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return null;
  if (first >= size) return 'unsatisfiable';
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}

/** Whether an `If-None-Match` has a tag (RFC 9110 §13.1.2). @param tag with its quotes */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
}

/** Whether an `If-Range` allows a range (§13.1.5): weak tags and dates never do. */
export function allowsRange(header: string | undefined, tag: string): boolean {
  return header === undefined || header.trim() === tag;
}
