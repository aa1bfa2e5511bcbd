import { listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { isEqual, numberOf, own } from './json-values.ts';
import type { StepBudget } from './step-budget.ts';
import { UnsupportedSchema } from './step-budget.ts';

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'] as const;
export type Type = (typeof TYPES)[number];

/** The types that a schema names; undefined if it has no `type`. */
export function typesOf({ type }: Json, budget: StepBudget): Type[] | undefined {
  if (type === undefined) return undefined;
  const named = Array.isArray(type) ? (type as unknown[]) : [type];
  budget.spend(named.length);
  return TYPES.filter((known) => named.includes(known));
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
export function resolveReference(root: unknown, reference: unknown, budget: StepBudget): unknown {
  if (typeof reference === 'string') budget.spend(reference.length);
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) {
    throw new UnsupportedSchema(`the reference ${quoted(reference)} points outside the schema`);
  }
  let target = root;
  for (const token of reference.split('/').slice(1)) {
    const key = percentDecoded(token).replaceAll('~1', '/').replaceAll('~0', '~');
    target = typeof target === 'object' && target !== null ? own(target as Json, key) : undefined;
    if (target === undefined) {
      throw new UnsupportedSchema(`the reference ${quoted(reference)} has no target`);
    }
  }
  return target;
}

function percentDecoded(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

/** Characters of a reference or a pattern that an error message quotes. */
const QUOTED = 80;

/** Quotes the beginning of a value in an error message. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value)?.slice(0, QUOTED) ?? '');
  return JSON.stringify(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text);
}

/** The types of a schema: null last, or first where only required properties are generated. */
export function typesInOrder(schema: Json, isRequiredOnly: boolean, budget: StepBudget): Type[] {
  const types = typesOf(schema, budget) ?? [impliedType(schema)];
  const rank = (type: Type) => (type === 'null' ? (isRequiredOnly ? -1 : 1) : 0);
  return [...types].sort((a, b) => rank(a) - rank(b));
}

/** The type to which the keywords of a schema without a `type` apply. */
function impliedType(schema: Json): Type {
  const has = (...names: string[]) => names.some((name) => schema[name] !== undefined);
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return 'object';
  if (has('items', 'prefixItems', 'minItems', 'contains')) return 'array';
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) {
    return 'number';
  }
  return 'string';
}

/** The rank of an alternative: null last; where only required properties are generated, by size. */
export function rankOf(schema: Json, isRequiredOnly: boolean, budget: StepBudget): number {
  const types = typesOf(schema, budget) ?? [impliedType(schema)];
  const isNull =
    types.every((type) => type === 'null') || isEqual(enumeratedValues(schema), [null], budget);
  if (!isRequiredOnly) return isNull ? 1 : 0;
  if (isNull || types.includes('null')) return 0;
  if (types.some((type) => type !== 'object' && type !== 'array')) return 1;
  const isEmptyAllowed =
    listOf(schema['required']).length === 0 && (numberOf(schema['minItems']) ?? 0) <= 0;
  return isEmptyAllowed ? 2 : 3;
}

/** Whether a value that is valid for one alternative of a schema may be invalid for the schema. */
export function needsValidation(schema: Json): boolean {
  return ['oneOf', 'not', 'if', 'contains'].some((name) => schema[name] !== undefined);
}
