import * as z from 'zod';
import { Failure } from './failure.ts';

/** What a flag, a form field or a help line needs to know of one property of an object schema. */
export interface Field {
  readonly name: string;
  readonly kind: 'integer' | 'number' | 'boolean' | 'string';
  readonly choices: readonly string[];
  readonly default: unknown;
  readonly description: string;
  /** A one-letter flag, where the command line gives it one. */
  readonly short: string | undefined;
  /** One phrase, used by help and by every error alike: "an integer from 1 to 100". */
  readonly expects: string;
}

interface PropertySchema {
  type?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  default?: unknown;
  description?: string;
  expects?: string;
  short?: string;
}

function expectation(property: PropertySchema): string {
  if (property.expects !== undefined) return property.expects;
  if (property.enum) return `one of ${property.enum.join(', ')}`;
  if (property.type === 'boolean') return 'true or false';
  if (property.type === 'integer' || property.type === 'number') {
    const noun = property.type === 'integer' ? 'an integer' : 'a number';
    const { minimum, maximum, exclusiveMinimum } = property;
    // JSON Schema bounds every integer by the safe range; only bounds that we chose are worth saying.
    const lower = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : null;
    const upper = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : null;
    if (exclusiveMinimum !== undefined) {
      const above = `${noun} above ${exclusiveMinimum}`;
      return upper === null ? above : `${above} and at most ${upper}`;
    }
    if (lower !== null && upper !== null) return `${noun} from ${lower} to ${upper}`;
    return lower === null ? noun : `${noun} of at least ${lower}`;
  }
  return 'a text';
}

const described = new WeakMap<z.ZodObject, readonly Field[]>();

/** The properties of a flat object schema, in their declared order. */
export function fieldsOf(schema: z.ZodObject): readonly Field[] {
  const known = described.get(schema);
  if (known) return known;
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input' }) as {
    properties?: Record<string, PropertySchema>;
  };
  const fields = Object.entries(properties).map(([name, property]): Field => {
    const kind = property.type;
    return {
      name,
      kind: kind === 'integer' || kind === 'number' || kind === 'boolean' ? kind : 'string',
      choices: property.enum ?? [],
      default: property.default,
      description: property.description ?? '',
      short: property.short,
      expects: expectation(property),
    };
  });
  described.set(schema, fields);
  return fields;
}

/** What came, as one short quotation that is safe to show. */
function received(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  );
}

/**
 * Checks `value` against a flat object schema and fills in its defaults.
 *
 * @param label how the caller's user knows a field: `(name) => '--' + name` on the command line
 * @throws Failure invalid_request, `param` naming the first field at fault
 */
export function parseFields<Schema extends z.ZodObject>(
  schema: Schema,
  value: Readonly<Record<string, unknown>>,
  label: (name: string) => string = (name) => name,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  if (issue.code === 'unrecognized_keys') {
    const name = issue.keys[0]!;
    const names = fieldsOf(schema).map((field) => label(field.name));
    throw new Failure(
      'invalid_request',
      `${label(name)}: unknown; expected one of ${names.join(', ')}`,
      { param: name },
    );
  }
  const name = String(issue.path[0] ?? '');
  const field = fieldsOf(schema).find((candidate) => candidate.name === name);
  const message =
    issue.code === 'custom'
      ? issue.message
      : `expected ${field?.expects ?? 'another value'}, received ${received(valueAt(value, issue.path))}`;
  throw new Failure('invalid_request', name === '' ? message : `${label(name)}: ${message}`, {
    param: name,
  });
}

/**
 * Turns the text of a flag or a form field into the value its schema wants. Text that does not
 * read as that kind is handed on as it is, so that the schema's own error names it.
 */
export function fromText(field: Field, text: string): unknown {
  const trimmed = text.trim();
  if (field.kind === 'integer') return /^[+-]?\d{1,15}$/.test(trimmed) ? Number(trimmed) : text;
  if (field.kind === 'number') {
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : text;
  }
  if (field.kind === 'boolean') {
    if (/^(true|1|yes|on)$/i.test(trimmed)) return true;
    return /^(false|0|no|off)$/i.test(trimmed) ? false : text;
  }
  return text;
}
