/** Bytes of a file, both ends included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

const SINGLE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * The part of a file that a `Range` asks for (RFC 9110 §14.2). Null for all of it, which also answers
 * several ranges, other units and nonsense.
 */
export function rangeOf(header: string | undefined, size: number): Range | 'unsatisfiable' | null {
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

/** Whether an `If-None-Match` names a tag (RFC 9110 §13.1.2). @param tag with its quotes */
export function names(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
}

/** Whether an `If-Range` lets a range count (§13.1.5): tags that are weak, and dates, never do. */
export function allowsRange(header: string | undefined, tag: string): boolean {
  return header === undefined || header.trim() === tag;
}
