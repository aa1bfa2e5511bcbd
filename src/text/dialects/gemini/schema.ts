import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { untranslatable } from '../request-errors.ts';

/** Keywords of JSON Schema that Gemini documents for `responseJsonSchema` and `parametersJsonSchema`. */
const SUPPORTED = new Set([
  '$anchor',
  '$defs',
  '$id',
  '$ref',
  'additionalProperties',
  'anyOf',
  'description',
  'enum',
  'format',
  'items',
  'maxItems',
  'maximum',
  'minItems',
  'minimum',
  'oneOf',
  'prefixItems',
  'properties',
  'propertyOrdering',
  'required',
  'title',
  'type',
]);

/** Keywords that restrict no value. */
const ANNOTATIONS = new Set([
  '$comment',
  '$schema',
  'contentEncoding',
  'contentMediaType',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

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
  for (const [keyword, value] of Object.entries(restated(schema))) {
    const at = place === '' ? keyword : `${place}.${keyword}`;
    if (ANNOTATIONS.has(keyword) || value === undefined) continue;
    if (!SUPPORTED.has(keyword)) {
      // A default and examples restrict nothing, but the model may use them.
      if (options.isEnforced && keyword !== 'default' && !keyword.startsWith('example')) {
        const why = `this upstream does not enforce ${at} of the schema: leave it out, or set strict to false`;
        throw untranslatable(options.param, 'gemini', why);
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
  if (notes.length === 0) return wire;
  const note = `(${notes.join(', ')})`;
  // Beside a reference Gemini accepts no other keyword.
  if ('$ref' in wire) return { anyOf: [wire], description: note };
  const { description } = wire;
  return {
    ...wire,
    description: typeof description === 'string' ? `${description} ${note}` : note,
  };
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
  const { const: constant, definitions, exclusiveMinimum, exclusiveMaximum, ...rest } = schema;
  const own: Record<string, unknown> = rest;
  const [single, ...others] = Array.isArray(own['allOf']) ? own['allOf'] : [];
  // Several generators wrap a reference in an allOf of one, to describe it.
  if (isObject(single) && others.length === 0) {
    const { allOf: _, ...outer } = own;
    const isDisjoint = Object.keys(single).every((keyword) => !(keyword in outer));
    if (isDisjoint && !('$ref' in single))
      return restated({ ...schema, ...single, allOf: undefined });
    if ('$ref' in single) own['anyOf'] ??= own['allOf'];
    if (own['anyOf'] === own['allOf']) delete own['allOf'];
  }
  if (typeof constant === 'string' || typeof constant === 'number') {
    if (own['enum'] === undefined) own['enum'] = [constant];
  } else if (constant !== undefined) {
    own['const'] = constant;
  }
  if (isObject(definitions)) own['$defs'] = { ...definitions, ...(own['$defs'] as Json) };
  const isInteger = own['type'] === 'integer';
  for (const [keyword, bound, step] of [
    ['minimum', exclusiveMinimum, 1],
    ['maximum', exclusiveMaximum, -1],
  ] as const) {
    const exclusive = keyword === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum';
    if (bound === undefined) continue;
    if (isInteger && Number.isSafeInteger(bound) && own[keyword] === undefined) {
      own[keyword] = (bound as number) + step;
    } else {
      own[exclusive] = bound;
    }
  }
  return own;
}
