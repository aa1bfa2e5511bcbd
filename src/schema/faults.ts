import * as v from 'valibot';
import { fieldFor, received } from '../schema.ts';
import { type Path, places, schemaAt, valueAt } from './places.ts';

/** One thing that is wrong with a value, and where. */
export interface Fault {
  readonly path: Path;
  readonly message: string;
}

/** Says what came at a place; for values that must not be shown, something about them instead. */
export type Show = (value: unknown, path: Path) => string;

/** What came, quoted where it is one value; what is in lists and objects may be long or secret. */
export const showValue: Show = (value) => {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  // Whoever writes credentials into an address did not mean to see them again.
  return received(typeof value === 'string' ? value.replace(/\/\/[^/\s]*@/, '//***@') : value);
};

/** A path as people write it: `models.some-model.routes[0].provider`, `models["gpt 4"]`. */
export function formatPath(path: Path): string {
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`;
      if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `[${JSON.stringify(key)}]`;
      return index === 0 ? key : `.${key}`;
    })
    .join('');
}

/**
 * Checks a value of any depth and finds everything that is wrong with it, unknown properties
 * included; of one place, the first fault only.
 */
export function checkAll<Output>(
  schema: v.GenericSchema<unknown, Output>,
  value: unknown,
  show: Show = showValue,
): { readonly output: Output } | { readonly faults: readonly Fault[] } {
  const faults = new Map<string, Fault>();
  const add = (path: Path, message: string) => {
    const key = JSON.stringify(path);
    if (!faults.has(key)) faults.set(key, { path, message });
  };
  for (const { path, known } of places(schema, value)) {
    if (known !== null) add(path, unknown(String(path.at(-1)), known));
  }
  const parsed = v.safeParse(schema, value);
  if (parsed.success && faults.size === 0) return { output: parsed.output };
  for (const issue of parsed.issues ?? []) {
    const path = (issue.path ?? []).map(({ key }) => key as string | number);
    const last = issue.path?.at(-1);
    const place = schemaAt(schema, value, path);
    if (issue.type === 'raw_check') add(path, issue.message);
    else if (place === undefined) add(path, `expected ${issue.expected}`);
    else if (last?.origin === 'key' && place.key) {
      add(path, `expected ${fieldFor('', place.key).expects} as its name`);
    } else {
      const { expects } = fieldFor('', place.schema);
      const came = valueAt(value, path);
      const structured = expects === 'an object' || expects === 'a list';
      const what = structured && typeof came === 'string' ? 'a text' : show(came, path);
      add(path, `expected ${expects}, received ${what}`);
    }
  }
  return { faults: [...faults.values()] };
}

function unknown(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  if (near !== undefined) return `unknown; did you mean ${near}?`;
  return `unknown; expected one of ${known.join(', ')}`;
}

/** The name that somebody may have meant, if one is close enough to be likely. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const reach = Math.ceil(name.length / 3);
  const [best] = known
    .map((candidate) => ({ candidate, steps: distance(plain(name), plain(candidate)) }))
    .filter(({ steps }) => steps <= reach)
    .sort((a, b) => a.steps - b.steps);
  return best?.candidate;
}

/** Letters to insert, remove or replace on the way from one word to another (Levenshtein). */
function distance(from: string, to: string): number {
  // Names that people mistype are short; a long one is not a slip.
  if (from.length > 64) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 0; column < to.length; column += 1) {
      const replaced = row[column]! + (letter === to[column] ? 0 : 1);
      next.push(Math.min(replaced, row[column + 1]! + 1, next[column]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
