import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { canonicalText, isEqual, keysOf, numberOf, own } from './json-values.ts';
import { enumeratedValues, type Type, typesOf } from './keywords.ts';
import type { StepBudget } from './step-budget.ts';

/** Steps that copying one property takes. */
const COPY_STEPS = 2;

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
 * Merges two schemas that have no `$ref`, `allOf`, `anyOf` or `oneOf` at their top into one that
 * allows what both allow. Returns null if no value satisfies both.
 */
export function mergeSchemas(a: Json, b: Json, budget: StepBudget): Json | null {
  budget.spend(COPY_STEPS * (keysOf(a, budget).length + keysOf(b, budget).length));
  const merged: Record<string, unknown> = { ...a, ...b };
  const types = commonTypes(typesOf(a, budget), typesOf(b, budget));
  if (types) {
    if (types.length === 0) return null;
    merged['type'] = types;
  }
  const values = commonValues(enumeratedValues(a), enumeratedValues(b), budget);
  delete merged['const'];
  if (values) {
    if (values.length === 0) return null;
    merged['enum'] = values;
  }
  for (const [keyword, stricter] of BOUNDS) {
    const [one, other] = [numberOf(a[keyword]), numberOf(b[keyword])];
    if (one !== undefined && other !== undefined) merged[keyword] = stricter(one, other);
  }
  const required = [...listOf(a['required']), ...listOf(b['required'])];
  budget.spend(COPY_STEPS * required.length);
  if (required.length > 0) merged['required'] = [...new Set(required)];
  if (isObject(a['properties']) || isObject(b['properties'])) {
    merged['properties'] = mergedProperties(a, b, budget);
  }
  for (const keyword of ['additionalProperties', 'items', 'contains', 'propertyNames']) {
    if (Array.isArray(merged[keyword])) continue;
    const both = allOf(a[keyword], b[keyword], budget);
    if (both !== undefined) merged[keyword] = both;
  }
  return merged;
}

/** The schema that requires two schemas, either of which may be absent. */
function allOf(a: unknown, b: unknown, budget: StepBudget): unknown {
  if (a === undefined || a === true) return b;
  if (b === undefined || b === true || isEqual(a, b, budget)) return a;
  return a === false || b === false ? false : { allOf: [a, b] };
}

function commonTypes(a: Type[] | undefined, b: Type[] | undefined): Type[] | undefined {
  if (!a || !b) return a ?? b;
  const allowedBy = (types: Type[], others: Type[]) =>
    types.filter(
      (type) => others.includes(type) || (type === 'integer' && others.includes('number')),
    );
  return [...new Set([...allowedBy(a, b), ...allowedBy(b, a)])];
}

function commonValues(
  a: readonly unknown[] | undefined,
  b: readonly unknown[] | undefined,
  budget: StepBudget,
): readonly unknown[] | undefined {
  if (!a || !b) return a ?? b;
  const others = new Set(b.map((other) => canonicalText(other, budget)));
  return a.filter((value) => others.has(canonicalText(value, budget)));
}

/** A property that only one schema names must also satisfy the other's `additionalProperties`. */
function mergedProperties(a: Json, b: Json, budget: StepBudget): Json {
  const [ours, theirs] = [a, b].map(({ properties }) =>
    isObject(properties) ? properties : {},
  ) as [Json, Json];
  const names = new Set([...keysOf(ours, budget), ...keysOf(theirs, budget)]);
  budget.spend(COPY_STEPS * names.size);
  const schemaOf = (named: Json, schema: Json, name: string) =>
    Object.hasOwn(named, name) ? own(named, name) : schema['additionalProperties'];
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      allOf(schemaOf(ours, a, name), schemaOf(theirs, b, name), budget) ?? true,
    ]),
  );
}
