import * as v from 'valibot';
import { describeField, quoteValue } from './fields.ts';
import { expected } from './invalid.ts';
import { isListInstead, type Path, schemaAt, valueAt, walk } from './walk.ts';

/** A validation error of one part of a value. */
export interface Fault {
  readonly path: Path;
  readonly message: string;
}

/** Formats a received value for a message; describes it where it may be secret. */
export type FormatValue = (value: unknown, path: Path) => string;

/** Quotes a single value; names only the type of lists and objects, whose contents may be long or secret. */
export const formatValue: FormatValue = (value) => {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  // An address may hold credentials, a query with a key among them.
  return quoteValue(typeof value === 'string' ? redactIfUrl(value) : value);
};

/** Formats a path: `models.some-model.routes[0].provider`, `models["gpt 4"]`. */
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
 * Validates a value of any depth and collects its faults, unknown properties included. Reports one
 * fault for each path.
 */
export function checkAll<Output>(
  schema: v.GenericSchema<unknown, Output>,
  value: unknown,
  format: FormatValue = formatValue,
): { readonly output: Output } | { readonly faults: readonly Fault[] } {
  const faults = new Map<string, Fault>();
  const add = (path: Path, message: string) => {
    const key = keyOf(path);
    if (!faults.has(key)) faults.set(key, { path, message });
  };
  const lists = new Set<string>();
  for (const { path, alternatives, schema: own, value: part } of [
    { path: [], alternatives: null, schema, value },
    ...walk(schema, value),
  ]) {
    if (alternatives !== null) {
      add(path, unknownName(String(path.at(-1)), Object.keys(alternatives)));
    }
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
    const found = schemaAt(schema, value, path);
    if (issue.type === 'raw_check') add(path, issue.message);
    else if (found === undefined) add(path, `expected ${issue.expected}`);
    else if (last?.origin === 'key' && found.key) {
      add(path, `expected ${describeField('', found.key).expects} as its name`);
    } else {
      const { expects } = describeField('', found.schema);
      add(path, mismatch(expects, valueAt(value, path), path, format));
    }
  }
  return { faults: [...faults.values()] };
}

/** The message for a value of the wrong type or range. */
export function mismatch(
  expects: string,
  received: unknown,
  path: Path,
  format: FormatValue,
): string {
  const structured = expects === 'an object' || expects === 'a list';
  const what = structured && typeof received === 'string' ? 'a text' : format(received, path);
  if (!Array.isArray(received) || !expects.startsWith('a list of')) return expected(expects, what);
  return expected(
    expects,
    received.length === 0 ? 'an empty list' : `a list of ${received.length}`,
  );
}

/** The message for an undeclared name, with the most similar declared one if there is one. */
export function unknownName(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  if (near !== undefined) return `unknown; did you mean ${near}?`;
  return `unknown; expected one of ${known.join(', ')}`;
}

/** The declared name within the allowed edit distance that is nearest; undefined if there is none. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const maxDistance = name.length < 3 ? 0 : name.length < 6 ? 1 : 2;
  const [best] = known
    .map((candidate) => ({ candidate, steps: distance(plain(name), plain(candidate)) }))
    .filter(({ steps }) => steps <= maxDistance)
    .sort((a, b) => a.steps - b.steps);
  return best?.candidate;
}

/** Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours. */
function distance(from: string, to: string): number {
  // The matrix grows with the length, and no declared name is this long.
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

/** Text that looks like a URL: it has an authority, credentials or a query with a value. */
const URL_LIKE = /\/\/|^[^:]*:[^@]*@|^[^?]*\?[^=]*=/;

/** Redacts text that looks like a URL; returns any other text unchanged. */
export const redactIfUrl = (text: string): string => (URL_LIKE.test(text) ? redactUrl(text) : text);

/**
 * Redacts the parts of a URL that can hold a secret: credentials before `@`, the query and the fragment.
 * The text may be malformed: `host/v1#secret`.
 */
export function redactUrl(text: string): string {
  const credentials = text.lastIndexOf('@') + 1;
  // An unescaped password may hold `@`, so the credentials end at the last one.
  const scheme = credentials === 0 ? '' : /^(?:[^/@]*\/\/)?/.exec(text)![0];
  const rest = text.slice(credentials);
  const redacted = rest.replace(/([?#]).*$/s, '$1***');
  return credentials === 0 ? redacted : `${scheme}***@${redacted}`;
}
