import { valueOr } from '../../../flow.ts';
import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { type StepBudget, UnsupportedSchema } from './step-budget.ts';

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const;
export type Type = (typeof TYPES)[number];

/** An own property: clients send names such as `__proto__`. */
export function own(value: Json, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The types that a schema names; undefined if it has no `type`. */
export function typesOf({ type }: Json): Type[] | undefined {
  if (type === undefined) return undefined;
  const named: unknown[] = Array.isArray(type) ? type : [type];
  return TYPES.filter((known) => named.includes(known));
}

export function isOfType(value: unknown, type: Type): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

/** The types that a schema names, or else the one to which its keywords apply. */
export function likelyTypesOf(schema: Json): Type[] {
  const has = (...names: string[]) => names.some((name) => schema[name] !== undefined);
  const named = typesOf(schema);
  if (named) return named;
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return ['object'];
  if (has('items', 'prefixItems', 'minItems', 'contains')) return ['array'];
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
  return [has(...bounds) ? 'number' : 'string'];
}

/** The values that `const` or `enum` list; undefined if the schema has neither. */
export function enumeratedValues(schema: Json): readonly unknown[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

/** The schemas of the first items of an array, one each, and of all later items. */
export function itemSchemasOf(schema: Json): { first: readonly unknown[]; rest: unknown } {
  const { prefixItems, items } = schema;
  if (Array.isArray(prefixItems)) return { first: prefixItems, rest: items ?? true };
  // Before draft 2020-12 the keywords were `items` and `additionalItems`.
  if (Array.isArray(items)) return { first: items, rest: schema['additionalItems'] ?? true };
  return { first: [], rest: items ?? true };
}

/**
 * The schema that a `$ref` such as `#/$defs/name` points to.
 *
 * @throws UnsupportedSchema if the reference has no target in the schema
 */
export function resolveReference(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
    throw new UnsupportedSchema(`the reference ${quoted(reference)} points outside the schema`);
  }
  let target = root;
  for (const token of reference.split('/').slice(1)) {
    const decoded = valueOr(() => decodeURIComponent(token), token);
    const key = decoded.replaceAll('~1', '/').replaceAll('~0', '~');
    target = typeof target === 'object' && target !== null ? own(target as Json, key) : undefined;
    if (target === undefined) {
      throw new UnsupportedSchema(`the reference ${quoted(reference)} has no target`);
    }
  }
  return target;
}

/** Characters of a reference or a pattern that an error message quotes. */
const QUOTED = 80;

/** Quotes the beginning of a value in an error message. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value)?.slice(0, QUOTED) ?? '');
  return JSON.stringify(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text);
}

/** @throws UnsupportedSchema for keywords by which a generated value may be invalid */
export function refuseConditions(schema: Json): void {
  const conditions = ['not', 'if', 'dependentRequired'];
  const found = conditions.find((keyword) => schema[keyword] !== undefined);
  if (found === undefined) return;
  throw new UnsupportedSchema(`the sandbox does not support ${found}: add an enum or a default`);
}

/** Of two lower bounds the larger is the stricter one, of two upper bounds the smaller. */
const BOUNDS = [
  ...['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'].map(
    (keyword) => [keyword, Math.max] as const,
  ),
  ...['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'].map(
    (keyword) => [keyword, Math.min] as const,
  ),
];

/**
 * Merges two schemas without `$ref`, `allOf`, `anyOf` and `oneOf` into one that allows what both allow. Of formats,
 * patterns and defaults those of the first are kept.
 */
export function mergeSchemas(a: Json, b: Json, budget: StepBudget): Json {
  const merged: Record<string, unknown> = { ...b, ...a };
  const [types, others] = [typesOf(a), typesOf(b)];
  if (types && others) {
    merged['type'] = TYPES.filter((type) => allows(types, type) && allows(others, type));
  }
  for (const [keyword, stricter] of BOUNDS) {
    const [one, other] = [numberOf(a[keyword]), numberOf(b[keyword])];
    if (one !== undefined && other !== undefined) merged[keyword] = stricter(one, other);
  }
  const [values, allowed] = [enumeratedValues(a), enumeratedValues(b)];
  if (values && allowed) {
    const texts = new Set(allowed.map((value) => budget.visitValue(value)));
    merged['enum'] = values.filter((value) => texts.has(budget.visitValue(value)));
    delete merged['const'];
  }
  if (a['required'] && b['required']) {
    merged['required'] = [...new Set([...listOf(a['required']), ...listOf(b['required'])])];
  }
  if (isObject(a['properties']) && isObject(b['properties'])) {
    const properties = new Map(Object.entries(a['properties']));
    for (const [name, other] of Object.entries(b['properties'])) {
      const one = properties.get(name);
      properties.set(name, one === undefined ? other : { allOf: [one, other] });
    }
    merged['properties'] = Object.fromEntries(properties);
  }
  for (const keyword of ['items', 'additionalProperties']) {
    const [one, other] = [a[keyword], b[keyword]];
    if (isObject(one) && isObject(other)) merged[keyword] = { allOf: [one, other] };
    else if (one === true && other !== undefined) merged[keyword] = other;
    else if (other === false) merged[keyword] = false;
  }
  return merged;
}

function allows(types: readonly Type[], type: Type): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}
