import { formatPath } from '../../schema/faults.ts';
import type { Path } from '../../schema/walk.ts';
import type { CanonicalRequest } from '../exchange.ts';

/** Fields of a request that are compared to find the nearest recording. */
const MAX_FIELDS = 256;

/** Recordings with as many equal fields that are read to find the nearest. */
const MAX_READ = 20;

/** Characters of a text that are shown before its first difference, and after. */
const SHOWN_BEFORE = 16;
const SHOWN_AFTER = 48;

/** What is kept of each recording to find the nearest to a request. */
export interface Sketch {
  readonly file: string;
  readonly model: string;
  readonly endpoint: string;
  /** Hashes of fields and their values. */
  readonly fields: ReadonlySet<number>;
}

export function sketchOf(file: string, request: CanonicalRequest): Sketch {
  const { model, method, path, body, headers } = request;
  const fields = new Set<number>();
  collectFields({ body, headers }, '', fields);
  return { file, model, endpoint: `${method} ${path}`, fields };
}

function collectFields(value: unknown, path: string, fields: Set<number>): void {
  if (fields.size >= MAX_FIELDS) return;
  if (typeof value !== 'object' || value === null) {
    fields.add(hashOf(`${path}=${value}`));
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    collectFields(member, `${path}/${name}`, fields);
  }
}

/** FNV-1a of a text; of a long one of its start and end. */
function hashOf(text: string): number {
  const short = text.length > 2000 ? text.slice(0, 1000) + text.length + text.slice(-1000) : text;
  let hash = 0x811c9dc5;
  for (let at = 0; at < short.length; at += 1) {
    hash = Math.imul(hash ^ short.charCodeAt(at), 0x01000193);
  }
  return hash;
}

/** Where two values differ first. */
export interface Difference {
  readonly path: Path;
  readonly recorded: unknown;
  readonly requested: unknown;
}

/**
 * Names the recording that is nearest to a request: of the same path and model first, then with most equal fields.
 *
 * @param read reads the request of a recording; null where it is gone
 */
export function nearestTo(
  request: CanonicalRequest,
  sketches: Iterable<Sketch>,
  read: (file: string) => CanonicalRequest | null,
): { readonly file: string; readonly difference: Difference } | null {
  const own = sketchOf('', request);
  let best = -1;
  let tied: Sketch[] = [];
  for (const sketch of sketches) {
    const score = scoreOf(own, sketch);
    if (score > best) tied = [];
    if (score >= best && tied.length < MAX_READ) tied.push(sketch);
    best = Math.max(best, score);
  }
  let nearest: { file: string; difference: Difference } | null = null;
  let most = -1;
  for (const { file } of tied) {
    const recorded = read(file);
    const difference = recorded && firstDifference(recorded, request);
    if (!difference) continue;
    const equal = equalPart(difference);
    if (equal > most) nearest = { file, difference };
    most = Math.max(most, equal);
  }
  return nearest;
}

function scoreOf(own: Sketch, { model, endpoint, fields }: Sketch): number {
  let equal = 0;
  for (const field of own.fields) if (fields.has(field)) equal += 1;
  const others = own.fields.size + fields.size - 2 * equal;
  const place = (endpoint === own.endpoint ? 2 : 0) + (model === own.model ? 1 : 0);
  return place * 1e6 + equal * 1e3 - Math.min(others, 999);
}

/** The first field in which two values differ: by name in an object, by place in a list; null where they are equal. */
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
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(requested)])];
  if (!isList) names.sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
  for (const name of names) {
    const key = isList ? Number(name) : name;
    // Fields of the body are named as clients know them.
    const below =
      path.length === 0 &&
      name === 'body' &&
      isObject(recorded[name]) &&
      !Array.isArray(recorded[name]);
    const next = below ? [] : [...path, key];
    const found = firstDifference(recorded[name], requested[name], next);
    if (found) return found;
  }
  return null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** What a request is for, before its details. */
function rankOf(name: string): number {
  const rank = ['model', 'method', 'path', 'status'].indexOf(name);
  return rank === -1 ? 9 : rank;
}

function equalPart({ recorded, requested }: Difference): number {
  if (typeof recorded !== 'string' || typeof requested !== 'string') return 0;
  const start = equalStart(recorded, requested);
  let end = 0;
  const longest = Math.min(recorded.length, requested.length) - start;
  while (end < longest && recorded.at(-1 - end) === requested.at(-1 - end)) end += 1;
  return (start + end) / Math.max(recorded.length, requested.length);
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
  const name = path.length === 0 ? 'body' : formatPath(path);
  return `${name}: ${labels[0]} ${shown[0]}, ${labels[1]} ${shown[1]}`;
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function cut(text: string, start: number, isQuoted: boolean): string {
  // At a word, so that the reader knows what comes.
  const word = text.lastIndexOf(' ', Math.max(0, start - SHOWN_BEFORE)) + 1;
  const from = start <= SHOWN_BEFORE ? 0 : Math.max(word, start - 2 * SHOWN_BEFORE);
  const end = start + SHOWN_AFTER;
  const part = text.slice(from, end).replace(/[\ud800-\udbff]$/, '');
  const short = `${from > 0 ? '…' : ''}${part}${end < text.length ? '…' : ''}`;
  return isQuoted ? JSON.stringify(short) : short;
}
