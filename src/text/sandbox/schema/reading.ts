import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { Unmakeable } from './unmakeable.ts';

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
export function typesOf({ type }: Json): Type[] | undefined {
  if (type === undefined) return undefined;
  const named = Array.isArray(type) ? (type as unknown[]) : [type];
  return TYPES.filter((known) => named.includes(known));
}

/** The length of a text as JSON Schema counts it: in characters, however many units they take. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * What `#/$defs/name` refers to.
 *
 * @throws Unmakeable
 */
export function resolve(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
    throw new Unmakeable(`the reference ${JSON.stringify(reference)} leads out of the schema`);
  }
  let found = root;
  for (const step of reference.split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = typeof found === 'object' && found !== null ? own(found as Json, key) : undefined;
    if (found === undefined) {
      throw new Unmakeable(`the reference ${JSON.stringify(reference)} leads nowhere`);
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

/** Whether two values of JSON are the same, the order of properties aside. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}
