import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { isSame, lengthOf, numberOf, own, resolve, type Type, typesOf } from './reading.ts';
import { Unmakeable } from './unmakeable.ts';

/** Looks at a schema that one check may take. */
const LOOKS = 200_000;

/**
 * Whether a value is what a schema allows. Patterns and formats are not looked at: a pattern from
 * outside may take for ever.
 *
 * @param root what references start from
 * @throws Unmakeable where that cannot be told within reason
 */
export function satisfies(value: unknown, schema: unknown, root: unknown): boolean {
  return new Check(root).passes(value, schema);
}

class Check {
  readonly #root: unknown;
  #looks = 0;
  #depth = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  passes(value: unknown, schema: unknown): boolean {
    this.#looks += 1;
    this.#depth += 1;
    if (this.#looks > LOOKS || this.#depth > 500) {
      throw new Unmakeable('the schema is too large or refers to itself', true);
    }
    try {
      if (!isObject(schema)) return schema !== false;
      return this.#combined(value, schema) && this.#plain(value, schema);
    } finally {
      this.#depth -= 1;
    }
  }

  #combined(value: unknown, schema: Json): boolean {
    const passes = (one: unknown) => this.passes(value, one);
    if (schema['$ref'] !== undefined && !passes(resolve(this.#root, schema['$ref']))) return false;
    if (!listOf(schema['allOf']).every(passes)) return false;
    const { anyOf, oneOf, not } = schema;
    if (Array.isArray(anyOf) && !anyOf.some(passes)) return false;
    if (Array.isArray(oneOf) && oneOf.filter(passes).length !== 1) return false;
    if (not !== undefined && passes(not)) return false;
    if (schema['if'] === undefined) return true;
    return passes(schema['if']) ? passes(schema['then'] ?? true) : passes(schema['else'] ?? true);
  }

  #plain(value: unknown, schema: Json): boolean {
    const types = typesOf(schema);
    if (types && !types.some((type) => isOfType(value, type))) return false;
    if (schema['const'] !== undefined && !isSame(value, schema['const'])) return false;
    const choices = schema['enum'];
    if (Array.isArray(choices) && !choices.some((choice) => isSame(value, choice))) return false;
    if (typeof value === 'number') return isNumberFit(value, schema);
    if (typeof value === 'string') {
      return isWithin(lengthOf(value), schema['minLength'], schema['maxLength']);
    }
    if (Array.isArray(value)) return this.#list(value, schema);
    return isObject(value) ? this.#object(value, schema) : true;
  }

  #list(value: readonly unknown[], schema: Json): boolean {
    if (!isWithin(value.length, schema['minItems'], schema['maxItems'])) return false;
    const { contains } = schema;
    if (contains !== undefined && !value.some((item) => this.passes(item, contains))) return false;
    if (schema['uniqueItems'] === true && hasTwins(value)) return false;
    const { first, rest } = itemsOf(schema);
    return value.every((item, index) =>
      this.passes(item, index < first.length ? first[index] : rest),
    );
  }

  #object(value: Json, schema: Json): boolean {
    const keys = Object.keys(value);
    if (!isWithin(keys.length, schema['minProperties'], schema['maxProperties'])) return false;
    if (!hasAll(value, schema['required'])) return false;
    const dependent = isObject(schema['dependentRequired']) ? schema['dependentRequired'] : {};
    if (!keys.every((key) => hasAll(value, own(dependent, key)))) return false;
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    // Which of the others a pattern names cannot be told without running it.
    const others = schema['patternProperties'] ? true : (schema['additionalProperties'] ?? true);
    return keys.every((key) =>
      this.passes(value[key], Object.hasOwn(properties, key) ? properties[key] : others),
    );
  }
}

function hasAll(value: Json, required: unknown): boolean {
  return listOf(required).every((key) => typeof key !== 'string' || Object.hasOwn(value, key));
}

/** The schemas of a list's first items, one each, and of the others. */
export function itemsOf(schema: Json): { first: readonly unknown[]; rest: unknown } {
  const { prefixItems, items } = schema;
  if (Array.isArray(prefixItems)) return { first: prefixItems, rest: items ?? true };
  // As it was written before 2020.
  if (Array.isArray(items)) return { first: items, rest: schema['additionalItems'] ?? true };
  return { first: [], rest: items ?? true };
}

function hasTwins(list: readonly unknown[]): boolean {
  return list.some((item, index) => list.slice(0, index).some((other) => isSame(item, other)));
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

/** Whether a number is within the bounds of a schema, and a multiple of what it has to be. */
export function isNumberFit(value: number, schema: Json): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
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
