import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';

/** Limits that are texts in Google's schemas, as integers of 64 bits are in its JSON. */
const COUNTS = [
  'maxItems',
  'minItems',
  'maxLength',
  'minLength',
  'maxProperties',
  'minProperties',
] as const;

/** JSON Schema for a schema of `parameters` or `responseSchema`, which is of a subset of OpenAPI 3.0. */
export function fromOpenApi(schema: Json): Json {
  const own: Record<string, unknown> = { ...schema };
  delete own['nullable'];
  // How the model orders what it writes; no keyword of JSON Schema does.
  delete own['propertyOrdering'];
  if (typeof own['type'] === 'string') own['type'] = own['type'].toLowerCase();
  if (own['type'] === 'type_unspecified') delete own['type'];
  if (own['format'] === 'enum') delete own['format'];
  for (const name of COUNTS) if (typeof own[name] === 'string') own[name] = Number(own[name]);
  if ('example' in own) {
    own['examples'] = [own['example']];
    delete own['example'];
  }
  if (isObject(own['items'])) own['items'] = fromOpenApi(own['items']);
  if (isObject(own['properties'])) {
    own['properties'] = Object.fromEntries(
      Object.entries(own['properties']).map(([name, one]) => [name, converted(one)]),
    );
  }
  if (Array.isArray(own['anyOf'])) own['anyOf'] = own['anyOf'].map(converted);
  return schema['nullable'] === true ? nullable(own) : own;
}

const converted = (schema: unknown): unknown => (isObject(schema) ? fromOpenApi(schema) : schema);

function nullable(schema: Json): Json {
  const { type, enum: values } = schema;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) && { enum: [...values, null] }),
  };
}
