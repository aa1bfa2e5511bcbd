import { isObject } from '../../../schema/untrusted.ts';
import { words } from '../../../words.ts';
import type { Json } from '../../canonical/canonical.ts';
import { untranslatable } from '../request-errors.ts';

/** Keywords of JSON Schema that Gemini documents for `responseJsonSchema` and `parametersJsonSchema`. */
const SUPPORTED = new Set(
  words(`$anchor $defs $id $ref additionalProperties anyOf description enum format items maxItems
    maximum minItems minimum oneOf prefixItems properties propertyOrdering required title type`),
);

/** Keywords that restrict no value. */
const ANNOTATIONS = new Set(
  words('$comment $schema contentEncoding contentMediaType deprecated readOnly writeOnly'),
);

/** Keywords whose value has schemas by name, lists of schemas, and one schema. */
const MAPS = new Set(['$defs', 'properties']);
const LISTS = new Set(['anyOf', 'oneOf', 'prefixItems']);
const SINGLE = new Set(['additionalProperties', 'items']);

const OLD_DEFINITIONS = '#/definitions/';

interface Options {
  /** The path in the client's request of the field that has the schema. */
  readonly param: string;
  /** Whether the client relies on every keyword: others are then refused in place of described. */
  readonly isEnforced: boolean;
}

/**
 * A JSON Schema in the keywords that Gemini reads. Others become the equal of it where there is one
 * (`const`, `definitions`, `exclusiveMinimum` of integers), and else a sentence of the description, which
 * the model reads.
 *
 * @throws Failure invalid_request for a keyword that the client relies on and Gemini does not enforce
 */
export function schemaOnWire(schema: Json, options: Options, place = ''): Json {
  const wire: Record<string, unknown> = {};
  const notes: string[] = [];
  const given = restated(schema);
  for (const [keyword, value] of Object.entries(given)) {
    const at = place === '' ? keyword : `${place}.${keyword}`;
    if (ANNOTATIONS.has(keyword) || value === undefined) continue;
    if (!isRead(keyword, value, given)) {
      // A default and examples restrict nothing, but the model may use them.
      if (options.isEnforced && keyword !== 'default' && !keyword.startsWith('example')) {
        const why = `this upstream does not enforce ${at} of the schema: leave it out, or set strict to false`;
        throw untranslatable(options.param, 'gemini', why, 'schema');
      }
      notes.push(`${keyword}: ${JSON.stringify(value)}`);
    } else if (keyword === '$ref' && typeof value === 'string') {
      wire[keyword] = value.startsWith(OLD_DEFINITIONS)
        ? `#/$defs/${value.slice(OLD_DEFINITIONS.length)}`
        : value;
    } else {
      wire[keyword] = valueOnWire(keyword, value, options, at);
    }
  }
  return apartFromReference(notes.length === 0 ? wire : withNotes(wire, notes));
}

function withNotes(schema: Json, notes: readonly string[]): Json {
  const { description } = schema;
  const note = `(${notes.join(', ')})`;
  return {
    ...schema,
    description: typeof description === 'string' ? `${description} ${note}` : note,
  };
}

/** Gemini accepts no other keyword beside a reference. */
function apartFromReference(schema: Json): Json {
  const { $ref, ...rest } = schema;
  const isAlone = Object.keys(rest).every((keyword) => keyword.startsWith('$'));
  return $ref === undefined || isAlone ? schema : { anyOf: [{ $ref }], ...rest };
}

function isRead(keyword: string, value: unknown, schema: Json): boolean {
  if (keyword === 'enum') return isEnum(value);
  // An anyOf is how a reference gets keywords beside it.
  if (keyword === 'anyOf') return !('$ref' in schema);
  return SUPPORTED.has(keyword);
}

/** Gemini takes enums of texts and numbers. */
function isEnum(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every((one) => ['string', 'number'].includes(typeof one) || one === null);
}

function valueOnWire(keyword: string, value: unknown, options: Options, place: string): unknown {
  const encode = (one: unknown, at: string): unknown =>
    isObject(one) ? schemaOnWire(one, options, at) : one;
  if (MAPS.has(keyword) && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, encode(one, `${place}.${name}`)]),
    );
  }
  if (LISTS.has(keyword) && Array.isArray(value)) {
    return value.map((one, index) => encode(one, `${place}[${index}]`));
  }
  return SINGLE.has(keyword) ? encode(value, place) : value;
}

/** The same schema, with keywords that Gemini has in place of equal ones that it has not. */
function restated(schema: Json): Json {
  const own: Record<string, unknown> = { ...unwrapped(schema) };
  const { const: constant, definitions } = own;
  if (own['enum'] === undefined && isEnum([constant])) {
    own['enum'] = [constant];
    delete own['const'];
  }
  if (isObject(definitions)) {
    own['$defs'] = { ...definitions, ...(own['$defs'] as Json | undefined) };
    delete own['definitions'];
  }
  if (own['type'] !== 'integer') return own;
  for (const [exclusive, inclusive, step] of BOUNDS) {
    const bound = own[exclusive];
    if (own[inclusive] !== undefined || !Number.isSafeInteger(bound)) continue;
    own[inclusive] = (bound as number) + step;
    delete own[exclusive];
  }
  return own;
}

const BOUNDS = [
  ['exclusiveMinimum', 'minimum', 1],
  ['exclusiveMaximum', 'maximum', -1],
] as const;

/** A schema without an `allOf` of one, in which generators wrap a reference to describe it. */
function unwrapped(schema: Json): Json {
  const { allOf, ...outer } = schema;
  if (!Array.isArray(allOf) || allOf.length !== 1 || !isObject(allOf[0])) return schema;
  const isDisjoint = Object.keys(allOf[0]).every((keyword) => !(keyword in outer));
  return isDisjoint ? unwrapped({ ...outer, ...allOf[0] }) : schema;
}
