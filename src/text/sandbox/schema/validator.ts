import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { canonicalText, isEqual, keysOf, lengthOf, numberOf, own } from './json-values.ts';
import { itemSchemasOf, resolveReference, type Type, typesOf } from './keywords.ts';
import type { StepBudget } from './step-budget.ts';
import { UnsupportedSchema } from './step-budget.ts';

/** Steps that validating against one schema takes, without its keywords. */
const SCHEMA_STEPS = 5;

/** Schemas within schemas: each takes room on the stack. */
const MAX_DEPTH = 500;

/**
 * Validates a value against a schema. Skips `pattern`, since matching a client's regular expression
 * can take exponential time, and `format`, which JSON Schema defines as an annotation.
 *
 * @param root the schema in which references are resolved
 * @throws UnsupportedSchema if the steps do not suffice, or a reference has no target
 */
export function isValid(
  value: unknown,
  schema: unknown,
  root: unknown,
  budget: StepBudget,
): boolean {
  return new Validator(root, budget).isValid(value, schema);
}

class Validator {
  readonly #root: unknown;
  readonly #budget: StepBudget;
  #depth = 0;

  constructor(root: unknown, budget: StepBudget) {
    this.#root = root;
    this.#budget = budget;
  }

  isValid(value: unknown, schema: unknown): boolean {
    this.#budget.spend(SCHEMA_STEPS);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) {
      throw new UnsupportedSchema('the schema is too large or refers to itself', true);
    }
    try {
      if (!isObject(schema)) return schema !== false;
      return this.#satisfiesSubschemas(value, schema) && this.#satisfiesKeywords(value, schema);
    } finally {
      this.#depth -= 1;
    }
  }

  #satisfiesSubschemas(value: unknown, schema: Json): boolean {
    const satisfies = (subschema: unknown) => this.isValid(value, subschema);
    const { $ref, anyOf, oneOf, not } = schema;
    if ($ref !== undefined && !satisfies(resolveReference(this.#root, $ref, this.#budget))) {
      return false;
    }
    if (!listOf(schema['allOf']).every(satisfies)) return false;
    if (Array.isArray(anyOf) && !anyOf.some(satisfies)) return false;
    if (Array.isArray(oneOf) && oneOf.filter(satisfies).length !== 1) return false;
    if (not !== undefined && satisfies(not)) return false;
    if (schema['if'] === undefined) return true;
    return satisfies(schema[satisfies(schema['if']) ? 'then' : 'else'] ?? true);
  }

  #satisfiesKeywords(value: unknown, schema: Json): boolean {
    const types = typesOf(schema, this.#budget);
    if (types && !types.some((type) => isOfType(value, type))) return false;
    const equals = (other: unknown) => isEqual(value, other, this.#budget);
    if (schema['const'] !== undefined && !equals(schema['const'])) return false;
    if (Array.isArray(schema['enum']) && !schema['enum'].some(equals)) return false;
    if (typeof value === 'number') return isNumberValid(value, schema);
    if (typeof value === 'string') {
      return isWithin(lengthOf(value, this.#budget), schema['minLength'], schema['maxLength']);
    }
    if (Array.isArray(value)) return this.#isArrayValid(value, schema);
    return isObject(value) ? this.#isObjectValid(value, schema) : true;
  }

  #isArrayValid(value: readonly unknown[], schema: Json): boolean {
    if (!isWithin(value.length, schema['minItems'], schema['maxItems'])) return false;
    const { contains } = schema;
    if (contains !== undefined && !value.some((item) => this.isValid(item, contains))) return false;
    if (schema['uniqueItems'] === true && this.#hasDuplicates(value)) return false;
    const { first, rest } = itemSchemasOf(schema);
    return value.every((item, index) =>
      this.isValid(item, index < first.length ? first[index] : rest),
    );
  }

  #isObjectValid(value: Json, schema: Json): boolean {
    const keys = keysOf(value, this.#budget);
    if (!isWithin(keys.length, schema['minProperties'], schema['maxProperties'])) return false;
    if (!this.#hasAll(value, schema['required'])) return false;
    const dependent = isObject(schema['dependentRequired']) ? schema['dependentRequired'] : {};
    if (!keys.every((key) => this.#hasAll(value, own(dependent, key)))) return false;
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    // Which keys `patternProperties` matches is unknown, since patterns are not run.
    const others = schema['patternProperties'] ? true : (schema['additionalProperties'] ?? true);
    return keys.every((key) =>
      this.isValid(value[key], Object.hasOwn(properties, key) ? properties[key] : others),
    );
  }

  #hasAll(value: Json, required: unknown): boolean {
    const names = listOf(required);
    this.#budget.spend(names.length);
    return names.every((key) => typeof key !== 'string' || Object.hasOwn(value, key));
  }

  #hasDuplicates(list: readonly unknown[]): boolean {
    return new Set(list.map((item) => canonicalText(item, this.#budget))).size < list.length;
  }
}

function isWithin(amount: number, least: unknown, most: unknown): boolean {
  return amount >= (numberOf(least) ?? 0) && amount <= (numberOf(most) ?? Number.POSITIVE_INFINITY);
}

function isOfType(value: unknown, type: Type): boolean {
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

/** Whether a number satisfies the bounds and the `multipleOf` of a schema. */
export function isNumberValid(value: number, schema: Json): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  // In draft 4 the exclusive bounds are booleans.
  const above = exclusiveMinimum === true ? minimum : exclusiveMinimum;
  const below = exclusiveMaximum === true ? maximum : exclusiveMaximum;
  const step = numberOf(schema['multipleOf']);
  return (
    value >= (numberOf(minimum) ?? -Infinity) &&
    value <= (numberOf(maximum) ?? Infinity) &&
    value > (numberOf(above) ?? -Infinity) &&
    value < (numberOf(below) ?? Infinity) &&
    (step === undefined || step <= 0 || Number.isInteger(value / step))
  );
}
