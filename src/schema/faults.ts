import * as v from 'valibot';
import { fieldFor, received } from '../schema.ts';
import { isListInstead, type Path, places, schemaAt, valueAt } from './places.ts';
import { withoutUrlSecrets } from './url-secrets.ts';

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
  // An address may hold credentials, a query with a key among them.
  return received(typeof value === 'string' ? withoutUrlSecrets(value) : value);
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

const keyOf = (path: Path) => JSON.stringify(path);

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
    const key = keyOf(path);
    if (!faults.has(key)) faults.set(key, { path, message });
  };
  const lists = new Set<string>();
  for (const { path, known, schema: own, value: part } of [
    { path: [], known: null, schema, value },
    ...places(schema, value),
  ]) {
    if (known !== null) add(path, unknown(String(path.at(-1)), known));
    if (!own || !isListInstead(own, part)) continue;
    lists.add(keyOf(path));
    add(path, 'expected an object, received a list');
  }
  const parsed = v.safeParse(schema, value);
  if (parsed.success && faults.size === 0) return { output: parsed.output };
  for (const issue of parsed.issues ?? []) {
    const path = (issue.path ?? []).map(({ key }) => key as string | number);
    if ([...path, ''].some((_, length) => lists.has(keyOf(path.slice(0, length))))) continue;
    const last = issue.path?.at(-1);
    const place = schemaAt(schema, value, path);
    if (issue.type === 'raw_check') add(path, issue.message);
    else if (place === undefined) add(path, `expected ${issue.expected}`);
    else if (last?.origin === 'key' && place.key) {
      add(path, `expected ${fieldFor('', place.key).expects} as its name`);
    } else {
      const { expects } = fieldFor('', place.schema);
      add(path, mismatch(expects, valueAt(value, path), path, show));
    }
  }
  return { faults: [...faults.values()] };
}

/** That a value is not what was expected, the same words for every place. */
export function mismatch(expects: string, came: unknown, path: Path, show: Show): string {
  const structured = expects === 'an object' || expects === 'a list';
  const what = structured && typeof came === 'string' ? 'a text' : show(came, path);
  return `expected ${expects}, received ${what}`;
}

/** That a name is none of those that are known. */
export function unknown(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  if (near !== undefined) return `unknown; did you mean ${near}?`;
  return `unknown; expected one of ${known.join(', ')}`;
}

/** The name that somebody may have meant, if one is close enough to be likely. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const reach = name.length < 3 ? 0 : name.length < 6 ? 1 : 2;
  const [best] = known
    .map((candidate) => ({ candidate, steps: distance(plain(name), plain(candidate)) }))
    .filter(({ steps }) => steps <= reach)
    .sort((a, b) => a.steps - b.steps);
  return best?.candidate;
}

/** Letters to insert, remove, replace or swap on the way from one word to another. */
function distance(from: string, to: string): number {
  // Names that people mistype are short; a long one is not a slip.
  if (from.length > 64) return Number.POSITIVE_INFINITY;
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let row = 1; row <= from.length; row += 1) {
    const above = rows[row - 1]!;
    const steps = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped =
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1];
      steps[column] = Math.min(
        above[column - 1]! + (same ? 0 : 1),
        above[column]! + 1,
        steps[column - 1]! + 1,
        swapped ? rows[row - 2]![column - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(steps);
  }
  return rows[from.length]![to.length]!;
}
