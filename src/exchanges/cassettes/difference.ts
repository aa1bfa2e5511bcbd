import { crc32 } from 'node:zlib';
import { formatPath } from '../../schema/faults.ts';
import type { Path } from '../../schema/walk.ts';
import type { CanonicalRequest } from '../exchange.ts';

/** Maximum number of words of a request that are compared to find the nearest recording. */
const MAX_WORDS = 1024;

/** Characters of a text shown before and after its first difference. */
const SHOWN_BEFORE = 16;
const SHOWN_AFTER = 48;

/** Features of a recording by which the nearest to a request is found. */
export interface Sketch {
  readonly file: string;
  readonly model: string;
  readonly endpoint: string;
  /** Hashes of its words. If there are too many, the smallest, so that equal words are chosen in every request. */
  readonly words: ReadonlySet<number>;
}

export function sketchOf(file: string, request: CanonicalRequest): Sketch {
  const { model, method, path, body, headers } = request;
  const words = new Set(
    JSON.stringify({ body, headers })
      .match(/[^\s",:[\]{}]+/g)
      ?.map((word) => crc32(word)),
  );
  const least = [...words].sort((a, b) => a - b).slice(0, MAX_WORDS);
  return { file, model, endpoint: `${method} ${path}`, words: new Set(least) };
}

/** The recording nearest to a request: first by path and model, then by the number of equal words. */
export function nearestTo(request: CanonicalRequest, sketches: Iterable<Sketch>): string | null {
  const own = sketchOf('', request);
  let nearest: string | null = null;
  let best = -1;
  for (const { file, model, endpoint, words } of sketches) {
    const equal = [...own.words].filter((word) => words.has(word)).length;
    const place = (endpoint === own.endpoint ? 4 : 0) + (model === own.model ? 2 : 0);
    const score = place + equal / Math.max(1, own.words.size + words.size - equal);
    if (score > best) nearest = file;
    best = Math.max(best, score);
  }
  return nearest;
}

/** The first difference between two values. */
export interface Difference {
  readonly path: Path;
  readonly recorded: unknown;
  readonly requested: unknown;
}

/** The first field in which two values differ; null where they are equal. */
export function firstDifference(
  recorded: unknown,
  requested: unknown,
  path: Path = [],
): Difference | null {
  if (recorded === requested) return null;
  const isList = Array.isArray(recorded);
  if (!isObject(recorded) || !isObject(requested) || isList !== Array.isArray(requested)) {
    return { path, recorded, requested };
  }
  for (const name of new Set([...Object.keys(recorded), ...Object.keys(requested)])) {
    const key = isList ? Number(name) : name;
    const found = firstDifference(recorded[name], requested[name], [...path, key]);
    if (found) return found;
  }
  return null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function equalStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

/** `messages[1].content: recorded "…a red barn", requested "…a blue barn"` */
export function describe(
  { path, recorded, requested }: Difference,
  labels: readonly [string, string] = ['recorded', 'requested'],
): string {
  const texts = [recorded, requested].map(textOf);
  const isText = typeof recorded === 'string' && typeof requested === 'string';
  const start = isText ? equalStart(recorded, requested) : 0;
  const shown = texts.map((text) => cut(text, start, isText));
  // Fields of the body are named as clients know them.
  const name = formatPath(path).replace(/^body\./, '');
  return `${name}: ${labels[0]} ${shown[0]}, ${labels[1]} ${shown[1]}`;
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function cut(text: string, start: number, isQuoted: boolean): string {
  // Begin at a word, for readability.
  const word = text.lastIndexOf(' ', Math.max(0, start - SHOWN_BEFORE)) + 1;
  const from = start <= SHOWN_BEFORE ? 0 : Math.max(word, start - 2 * SHOWN_BEFORE);
  const end = start + SHOWN_AFTER;
  const part = text.slice(from, end).replace(/[\ud800-\udbff]$/, '');
  const short = `${from > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`;
  return isQuoted ? JSON.stringify(short) : short;
}
