import * as v from 'valibot';
import { Failure } from './failure.ts';

/** An object schema whose properties can be looked at: flags, form fields and help derive from them. */
export type ObjectSchema<Output = unknown> = v.GenericSchema<Record<string, unknown>, Output> & {
  readonly entries: v.ObjectEntries;
};

/** What a flag, a form field or a help line needs to know of one property. */
export interface Field {
  readonly name: string;
  readonly kind: 'integer' | 'number' | 'boolean' | 'string';
  readonly choices: readonly string[];
  readonly default: unknown;
  readonly description: string;
  /** A one-letter flag, where the command line gives it one. */
  readonly short: string | undefined;
  /** Whether the text is the path of a file or a folder, which a shell completes. */
  readonly path: boolean;
  /** Whether it may be given several times: a list of texts. */
  readonly repeatable: boolean;
  /** One phrase, used by help and by every error alike: "an integer from 1 to 100". */
  readonly expects: string;
}

interface Notes {
  /** Replaces the phrase that the type alone would give. */
  readonly expects?: string;
  readonly short?: string;
  readonly path?: boolean;
  /** Never shown to anybody; `interpolated` only where it came from the environment. */
  readonly secret?: 'always' | 'interpolated';
  /** Read once, when the daemon starts. */
  readonly restart?: boolean;
}

/** A schema with what people need to be told about it. */
export function field<const Schema extends v.GenericSchema>(
  schema: Schema,
  description: string,
  notes: Notes = {},
) {
  return v.pipe(schema, v.description(description), v.metadata({ ...notes }));
}

/** A whole number, bounds included. */
export const integer = (minimum: number, maximum: number = Number.MAX_SAFE_INTEGER) =>
  v.pipe(v.number(), v.safeInteger(), v.minValue(minimum), v.maxValue(maximum));

/** A finite number, bounds included. */
export const number = (minimum: number, maximum: number = Number.MAX_VALUE) =>
  v.pipe(v.number(), v.finite(), v.minValue(minimum), v.maxValue(maximum));

/** A day of the calendar, as text like 2026-01-31: `Date` takes the 30th of February for a day of March. */
export const day = () =>
  v.pipe(
    v.string(),
    v.isoDate(),
    v.check((text) => new Date(text).toJSON()?.startsWith(text) === true),
    v.metadata({ expects: 'a date such as 2026-01-31' }),
  );

/**
 * A rule over several properties of an object, for use in a pipe after it.
 *
 * @param check gives the property at fault and what is wrong with it, or null
 */
export function rule<Value extends Record<string, unknown>>(
  check: (value: Value) => readonly [name: string, message: string] | null,
) {
  return v.rawCheck<Value>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const fault = check(dataset.value);
    if (!fault) return;
    const [key, message] = fault;
    const input = dataset.value;
    const item = { type: 'object', origin: 'value', input, key, value: input[key] } as const;
    addIssue({ message, path: [item] });
  });
}

/** The parts of a schema's pipe, outermost last, its optional wrapping taken off. */
function partsOf(schema: unknown): readonly Record<string, unknown>[] {
  const { type, wrapped, pipe } = schema as { type: string; wrapped?: unknown; pipe?: unknown[] };
  if (type === 'optional' || type === 'nullish') return partsOf(wrapped);
  if (!pipe) return [schema as Record<string, unknown>];
  return pipe.flatMap((part) =>
    part === schema ? [] : isPiped(part) ? partsOf(part) : [part as never],
  );
}

function isPiped(part: unknown): boolean {
  return Array.isArray((part as { pipe?: unknown }).pipe);
}

function describe(name: string, schema: v.GenericSchema): Field {
  const parts = partsOf(schema);
  const requirement = (type: string) =>
    parts.find((part) => part['type'] === type)?.['requirement'];
  const root = parts[0] as { readonly type: string; readonly options?: readonly string[] };
  const choices = root.type === 'picklist' ? (root.options ?? []) : [];
  const whole = parts.some((part) => part['type'] === 'safe_integer');
  const kind =
    root.type === 'number'
      ? whole
        ? 'integer'
        : 'number'
      : root.type === 'boolean'
        ? 'boolean'
        : 'string';
  const notes = notesOf(schema);
  const description = parts.find((part) => part['type'] === 'description')?.['description'];
  const range = [requirement('min_value'), requirement('max_value')] as [number, number];
  return {
    name,
    kind,
    choices,
    default: (schema as { default?: unknown }).default,
    description: String(description ?? ''),
    short: notes.short,
    path: notes.path ?? false,
    repeatable: root.type === 'array',
    expects: notes.expects ?? STRUCTURES[root.type] ?? expectation(kind, choices, range),
  };
}

/** How what is no single value is called. */
const STRUCTURES: Readonly<Record<string, string>> = {
  strict_object: 'an object',
  object: 'an object',
  loose_object: 'an object',
  variant: 'an object',
  record: 'an object',
  array: 'a list',
};

/** What a schema says of itself beside its type. */
export function notesOf(schema: v.GenericSchema): Notes {
  const noted = partsOf(schema).filter((part) => part['type'] === 'metadata');
  return Object.assign({}, ...noted.map((part) => part['metadata'])) as Notes;
}

/** One property of any schema, as help and errors speak of it. */
export function fieldFor(name: string, schema: v.GenericSchema): Field {
  return describe(name, schema);
}

function expectation(
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

const described = new WeakMap<object, readonly Field[]>();

/** The properties of a flat object schema, in their declared order. */
export function fieldsOf(schema: ObjectSchema): readonly Field[] {
  let fields = described.get(schema);
  if (!fields) {
    fields = Object.entries(schema.entries).map(([name, entry]) =>
      describe(name, entry as v.GenericSchema),
    );
    described.set(schema, fields);
  }
  return fields;
}

/** What came, as one short quotation that is safe to show. */
export function received(value: unknown): string {
  if (value === undefined) return 'nothing';
  // JSON has no word for numbers that are infinite or none.
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/**
 * Checks a value against a flat object schema and fills in its defaults.
 *
 * @param label how the caller's user knows a field: `(name) => '--' + name` on the command line
 * @throws Failure invalid_request, `param` naming the first field at fault
 */
export function parseFields<Output>(
  schema: ObjectSchema<Output>,
  value: Readonly<Record<string, unknown>>,
  label: (name: string) => string = (name) => name,
): Output {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const name = String(issue.path?.[0]?.key ?? '');
  const fields = fieldsOf(schema);
  const known = fields.find((candidate) => candidate.name === name);
  const fault = (message: string) =>
    new Failure('invalid_request', `${label(name)}: ${message}`, { param: name });
  if (!known) {
    throw fault(`unknown; expected one of ${fields.map((one) => label(one.name)).join(', ')}`);
  }
  if (issue.type === 'raw_check') throw fault(issue.message);
  throw fault(`expected ${known.expects}, received ${received(value[name])}`);
}

/**
 * Turns the text of a flag or a form field into the value its schema wants. Text that does not
 * read as that kind is handed on as it is, so that the schema's own error names it.
 */
export function fromText({ kind }: Field, text: string): unknown {
  const trimmed = text.trim();
  if (kind === 'integer') return /^[+-]?\d{1,15}$/.test(trimmed) ? Number(trimmed) : text;
  if (kind === 'number') {
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : text;
  }
  if (kind === 'boolean') {
    if (/^(true|1|yes|on)$/i.test(trimmed)) return true;
    return /^(false|0|no|off)$/i.test(trimmed) ? false : text;
  }
  return text;
}
