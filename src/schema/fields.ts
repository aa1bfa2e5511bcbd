import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { getOrInsert } from '../maps.ts';
import { expected, named } from './invalid.ts';

/** An object schema with its properties, from which flags, form fields and help derive. */
export type ObjectSchema<Output = unknown> = v.GenericSchema<Record<string, unknown>, Output> & {
  readonly entries: v.ObjectEntries;
};

/** One property of a schema, for a flag, a form field or a help line. */
export interface Field {
  readonly name: string;
  readonly kind: 'integer' | 'number' | 'boolean' | 'string';
  readonly choices: readonly string[];
  readonly default: unknown;
  readonly description: string;
  /** What the flag `--no-…` does. */
  readonly off: string | undefined;
  /** One-letter flag of the command line; undefined if it has none. */
  readonly short: string | undefined;
  /** Whether the text is the path of a file or a folder, which shells complete. */
  readonly path: boolean;
  /** Whether messages do not quote it. */
  readonly secret: boolean;
  /** Whether it is a list of texts, so that its flag may be repeated. */
  readonly repeatable: boolean;
  /** Phrase for help and error messages: "an integer from 1 to 100". */
  readonly expects: string;
}

interface FieldMetadata {
  /** Phrase that replaces the one derived from the type. */
  readonly expects?: string;
  readonly short?: string;
  readonly path?: boolean;
  /**
   * Redacted in output; with `interpolated` only if the value came from the environment, with `url` else
   * its credentials.
   */
  readonly secret?: 'always' | 'interpolated' | 'url';
  /** Whether the daemon reads it only at start, not on SIGHUP. */
  readonly restart?: boolean;
  /** What the flag `--no-…` of a switch that is on by default does. */
  readonly off?: string;
  /** Value shown in config/default.yaml for a setting without a default. */
  readonly example?: string | number | Readonly<Record<string, string>>;
}

/** A schema with its description and metadata. */
export function field<const Schema extends v.GenericSchema>(
  schema: Schema,
  description: string,
  metadata: FieldMetadata = {},
) {
  return v.pipe(schema, v.description(description), v.metadata({ ...metadata }));
}

type Described<Schema extends v.GenericSchema> = ReturnType<typeof field<Schema>>;

/** A property that may be left out, without a default. */
export function optional<const Schema extends v.GenericSchema>(
  ...declared: Parameters<typeof field<Schema>>
): v.OptionalSchema<Described<Schema>, undefined> {
  return v.optional(field(...declared));
}

/** A property that may be left out or null, without a default. */
export function nullish<const Schema extends v.GenericSchema>(
  ...declared: Parameters<typeof field<Schema>>
): v.NullishSchema<Described<Schema>, undefined> {
  return v.nullish(field(...declared));
}

/** A property with a default. */
export function withDefault<
  const Schema extends v.GenericSchema,
  const Default extends v.Default<Described<Schema>, undefined>,
>(
  schema: Schema,
  preset: Default,
  ...about: [description: string, metadata?: FieldMetadata]
): v.OptionalSchema<Described<Schema>, Default> {
  return v.optional(field(schema, ...about), preset);
}

/** An object with defaults for all its properties, which may be left out or null. */
export function section<const Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.nullish(field(schema, description), {});
}

/** A text of one character at least. */
export const boundedText = (maxLength: number) =>
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(maxLength));

/** A whole number, bounds included. */
export const integer = (minimum: number, maximum: number = Number.MAX_SAFE_INTEGER) =>
  v.pipe(v.number(), v.safeInteger(), v.minValue(minimum), v.maxValue(maximum));

/** A finite number, bounds included. */
export const number = (minimum: number, maximum: number = Number.MAX_VALUE) =>
  v.pipe(v.number(), v.finite(), v.minValue(minimum), v.maxValue(maximum));

/** A calendar day such as 2026-01-31. The check is needed because `Date` reads 2026-02-30 as a day of March. */
export const day = () =>
  v.pipe(
    v.string(),
    v.isoDate(),
    v.check((text) => new Date(text).toJSON()?.startsWith(text) === true),
    v.metadata({ expects: 'a date such as 2026-01-31' }),
  );

/** A property with the message about it. */
export type Fault = readonly [name: string, message: string];

/**
 * A validation over several properties of an object, for use in a pipe after it.
 *
 * @param check returns the invalid property and the message, or null
 */
export function rule<Value extends Record<string, unknown>>(
  check: (value: Value) => Fault | readonly Fault[] | null,
) {
  return v.rawCheck<Value>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const found = check(dataset.value) ?? [];
    const faults = (typeof found[0] === 'string' ? [found] : found) as readonly Fault[];
    const input = dataset.value;
    for (const [key, message] of faults) {
      const item = { type: 'object', origin: 'value', input, key, value: input[key] } as const;
      addIssue({ message, path: [item] });
    }
  });
}

/** The parts of a schema's pipe, outermost last, without its optional wrapper. */
function partsOf(schema: unknown): readonly Record<string, unknown>[] {
  const { type, wrapped, pipe } = schema as { type: string; wrapped?: unknown; pipe?: unknown[] };
  if (type === 'optional' || type === 'nullish') return partsOf(wrapped);
  if (!pipe) return [schema as Record<string, unknown>];
  return pipe.flatMap((part) =>
    part === schema ? [] : isPiped(part) ? partsOf(part) : [part as never],
  );
}

const isPiped = (part: unknown): boolean => Array.isArray((part as { pipe?: unknown }).pipe);

/** Describes one property of any schema. */
export function describeField(name: string, schema: v.GenericSchema): Field {
  const parts = partsOf(schema);
  const requirement = (type: string) =>
    parts.find((part) => part['type'] === type)?.['requirement'];
  const root = parts[0] as { type: string; options?: readonly string[]; literal?: unknown };
  const only = typeof root.literal === 'string' ? [root.literal] : [];
  const choices = root.type === 'picklist' ? (root.options ?? []) : only;
  const whole = parts.some((part) => part['type'] === 'safe_integer');
  const kind =
    root.type === 'number'
      ? whole
        ? 'integer'
        : 'number'
      : root.type === 'boolean'
        ? 'boolean'
        : 'string';
  const metadata = metadataOf(schema);
  const description = parts.find((part) => part['type'] === 'description')?.['description'];
  const range = [requirement('min_value'), requirement('max_value')] as [number, number];
  return {
    name,
    kind,
    choices,
    default: (schema as { default?: unknown }).default,
    description: String(description ?? ''),
    off: metadata.off,
    short: metadata.short,
    path: metadata.path ?? false,
    secret: metadata.secret === 'always' || metadata.secret === 'url',
    repeatable: root.type === 'array',
    expects: metadata.expects ?? STRUCTURES[root.type] ?? phraseFor(kind, choices, range),
  };
}

/** Phrases for schemas of lists and objects, by their type. */
const STRUCTURES: Readonly<Record<string, string>> = {
  strict_object: 'an object',
  object: 'an object',
  loose_object: 'an object',
  variant: 'an object',
  record: 'an object',
  array: 'a list',
};

/** The metadata of a schema. */
export function metadataOf(schema: v.GenericSchema): FieldMetadata {
  const parts = partsOf(schema).filter((part) => part['type'] === 'metadata');
  return Object.assign({}, ...parts.map((part) => part['metadata'])) as FieldMetadata;
}

function phraseFor(
  kind: Field['kind'],
  choices: readonly string[],
  [minimum, maximum]: [number, number],
): string {
  if (choices.length > 0) return `one of ${choices.join(', ')}`;
  if (kind === 'boolean') return 'true or false';
  if (kind === 'string') return 'a text';
  const noun = kind === 'integer' ? 'an integer' : 'a number';
  return maximum < Number.MAX_SAFE_INTEGER
    ? `${noun} from ${minimum} to ${maximum}`
    : `${noun} of at least ${minimum}`;
}

const fieldsBySchema = new WeakMap<object, readonly Field[]>();

/** The properties of a flat object schema, in their declared order. */
export function fieldsOf(schema: ObjectSchema): readonly Field[] {
  return getOrInsert(fieldsBySchema, schema, () =>
    Object.entries(schema.entries).map(([name, entry]) =>
      describeField(name, entry as v.GenericSchema),
    ),
  );
}

/** Characters of a quoted value. */
const MAX_QUOTED = 60;

/** Quotes a received value in at most 60 characters. */
export function quoteValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  // JSON writes infinite numbers and NaN as null.
  const text = typeof value === 'number' ? String(value) : beginningOf(value, MAX_QUOTED);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED - 3)}...` : text;
}

/** The JSON of a value, of which as much is written as is needed to fill a number of characters. */
function beginningOf(value: unknown, length: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, length));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const key in value) {
    if (text.length > length) return text;
    if (text.length > 1) text += ',';
    if (!isList) text += `${JSON.stringify(key.slice(0, length))}:`;
    text += beginningOf((value as Record<string, unknown>)[key], length - text.length);
  }
  return text + (isList ? ']' : '}');
}

/** Messages of rules that name other properties. */
const NAMES_OTHERS = /^(?:one of|is required, unless|cannot be used with|(?:\w+ )?only with) /;

/** Faults in one message: a form of many fields may be wrong in all of them. */
const MAX_FAULTS = 10;

/**
 * Validates a value against a flat object schema and fills in its defaults.
 *
 * @param label a field's name in messages: `(name) => '--' + name` on the command line
 * @throws Failure invalid_request, names all invalid fields; `param` is the first of them
 */
export function parseFields<Output>(
  schema: ObjectSchema<Output>,
  value: Readonly<Record<string, unknown>>,
  label: (name: string) => string = (name) => name,
): Output {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return parsed.output;
  const fields = fieldsOf(schema);
  const isUnknown = (key: string) => !fields.some((one) => one.name === key);
  const faults = new Map<string, string>();
  for (const issue of parsed.issues) {
    const name = String(issue.path?.[0]?.key ?? '');
    if (faults.has(name)) continue;
    const known = fields.find((candidate) => candidate.name === name);
    if (!known) {
      // The issue is of the first of them alone.
      const unknown = Object.keys(value).filter(isUnknown).slice(0, MAX_FAULTS).map(label);
      const names = fields.map((one) => label(one.name)).join(', ');
      faults.set(name, named(unknown.join(', '), `unknown; expected one of ${names}`));
      continue;
    }
    const received = value[name];
    const isHidden = known.secret && received !== undefined;
    const quoted = isHidden ? 'something else' : quoteValue(received);
    let fault = issue.message;
    if (issue.type !== 'raw_check') fault = expected(known.expects, quoted);
    else if (NAMES_OTHERS.test(fault))
      fault = fault.replace(/\w+/g, (word) => (isUnknown(word) ? word : label(word)));
    faults.set(name, fault.startsWith('one of ') ? fault : named(label(name), fault));
  }
  const [[param]] = [...faults] as [[string, string]];
  const shown = [...faults.values()].slice(0, MAX_FAULTS);
  throw new Failure('invalid_request', shown.join('; '), { param });
}

/**
 * Converts the text of a flag or a form field to the type of its schema. Returns text that is not of
 * that type unchanged, so that the schema's own error names it.
 */
export function fromText({ kind }: Field, text: string): unknown {
  const trimmed = text.trim();
  if (kind === 'integer') return /^[+-]?\d{1,16}$/.test(trimmed) ? Number(trimmed) : text;
  if (kind === 'number') {
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : text;
  }
  if (kind === 'boolean') {
    if (/^(true|1|yes|on)$/i.test(trimmed)) return true;
    return /^(false|0|no|off)$/i.test(trimmed) ? false : text;
  }
  return text;
}
