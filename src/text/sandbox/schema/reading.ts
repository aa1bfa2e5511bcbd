import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { Unmakeable } from './unmakeable.ts';
import type { Work } from './work.ts';

/** A property of its own: schemas come from outside, `__proto__` and all. */
export function own(value: Json, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const;
export type Type = (typeof TYPES)[number];

/** The types that a schema names; undefined where it names none. */
export function typesOf({ type }: Json, work: Work): Type[] | undefined {
  if (type === undefined) return undefined;
  const named = Array.isArray(type) ? (type as unknown[]) : [type];
  work.spend(named.length);
  return TYPES.filter((known) => named.includes(known));
}

/** The length of a text as JSON Schema counts it: in characters, however many units they take. */
export function lengthOf(text: string, work: Work): number {
  work.spend(text.length / 4);
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * What `#/$defs/name` refers to.
 *
 * @throws Unmakeable
 */
export function resolve(root: unknown, reference: unknown, work: Work): unknown {
  if (typeof reference === 'string') work.spend(reference.length);
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
    throw new Unmakeable(`the reference ${quoted(reference)} leads out of the schema`);
  }
  let found = root;
  for (const step of reference.split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = typeof found === 'object' && found !== null ? own(found as Json, key) : undefined;
    if (found === undefined) {
      throw new Unmakeable(`the reference ${quoted(reference)} leads nowhere`);
    }
  }
  return found;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** The text of a value that is the same for equal values of JSON, whatever order properties have. */
export function canonical(value: unknown, work: Work): string {
  if (Array.isArray(value)) {
    work.spend(1 + value.length);
    return `[${value.map((item) => canonical(item, work)).join()}]`;
  }
  if (isObject(value)) {
    const keys = Object.keys(value).sort();
    work.spend(1 + 4 * keys.length);
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key], work)}`).join()}}`;
  }
  work.spend(1 + (typeof value === 'string' ? value.length / 16 : 0));
  // A value that is no JSON, such as undefined, has no text of its own.
  return JSON.stringify(value) ?? 'undefined';
}

/** Whether two values of JSON are the same, the order of properties aside. */
export function isSame(a: unknown, b: unknown, work: Work): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    work.spend(1 + Math.min(a.length, b.length) / 64);
    return a === b;
  }
  work.spend(1);
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index], work));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = keysOf(a, work);
  return (
    keys.length === keysOf(b, work).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key], work))
  );
}

/** The names of an object's properties. Reading them takes time for each. */
export function keysOf(value: Json, work: Work): string[] {
  const keys = Object.keys(value);
  work.spend(1 + keys.length);
  return keys;
}

/** Characters of a reference or a pattern that an error message quotes. */
const SHOWN = 80;

/** The beginning of a text for an error message. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value)?.slice(0, SHOWN) ?? '');
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}
