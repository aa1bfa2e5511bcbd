import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import {
  canonical,
  isSame,
  keysOf,
  lengthOf,
  numberOf,
  own,
  resolve,
  type Type,
  typesOf,
} from './reading.ts';
import { Unmakeable } from './unmakeable.ts';
import type { Work } from './work.ts';

/** Steps that a look at one schema takes by itself. */
const LOOK = 5;

/**
 * Whether a value is what a schema allows. Patterns and formats are not looked at: a pattern from
 * outside may take for ever.
 *
 * @param root what references start from
 * @throws Unmakeable where that cannot be told within reason
 */
export function satisfies(value: unknown, schema: unknown, root: unknown, work: Work): boolean {
  return new Check(root, work).passes(value, schema);
}

class Check {
  readonly #root: unknown;
  readonly #work: Work;
  #depth = 0;

  constructor(root: unknown, work: Work) {
    this.#root = root;
    this.#work = work;
  }

  passes(value: unknown, schema: unknown): boolean {
    this.#work.spend(LOOK);
    this.#depth += 1;
    if (this.#depth > 500) {
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
    if (schema['$ref'] !== undefined && !passes(resolve(this.#root, schema['$ref'], this.#work)))
      return false;
    if (!listOf(schema['allOf']).every(passes)) return false;
    const { anyOf, oneOf, not } = schema;
    if (Array.isArray(anyOf) && !anyOf.some(passes)) return false;
    if (Array.isArray(oneOf) && oneOf.filter(passes).length !== 1) return false;
    if (not !== undefined && passes(not)) return false;
    if (schema['if'] === undefined) return true;
    return passes(schema['if']) ? passes(schema['then'] ?? true) : passes(schema['else'] ?? true);
  }

  #plain(value: unknown, schema: Json): boolean {
    const types = typesOf(schema, this.#work);
    if (types && !types.some((type) => isOfType(value, type))) return false;
    if (schema['const'] !== undefined && !isSame(value, schema['const'], this.#work)) return false;
    const choices = schema['enum'];
    if (Array.isArray(choices) && !choices.some((choice) => isSame(value, choice, this.#work)))
      return false;
    if (typeof value === 'number') return isNumberFit(value, schema);
    if (typeof value === 'string') {
      return isWithin(lengthOf(value, this.#work), schema['minLength'], schema['maxLength']);
    }
    if (Array.isArray(value)) return this.#list(value, schema);
    return isObject(value) ? this.#object(value, schema) : true;
  }

  #list(value: readonly unknown[], schema: Json): boolean {
    if (!isWithin(value.length, schema['minItems'], schema['maxItems'])) return false;
    const { contains } = schema;
    if (contains !== undefined && !value.some((item) => this.passes(item, contains))) return false;
    if (schema['uniqueItems'] === true && this.#hasTwins(value)) return false;
    const { first, rest } = itemsOf(schema);
    return value.every((item, index) =>
      this.passes(item, index < first.length ? first[index] : rest),
    );
  }

  #object(value: Json, schema: Json): boolean {
    const keys = keysOf(value, this.#work);
    if (!isWithin(keys.length, schema['minProperties'], schema['maxProperties'])) return false;
    if (!this.#hasAll(value, schema['required'])) return false;
    const dependent = isObject(schema['dependentRequired']) ? schema['dependentRequired'] : {};
    if (!keys.every((key) => this.#hasAll(value, own(dependent, key)))) return false;
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    // Which of the others a pattern names cannot be told without running it.
    const others = schema['patternProperties'] ? true : (schema['additionalProperties'] ?? true);
    return keys.every((key) =>
      this.passes(value[key], Object.hasOwn(properties, key) ? properties[key] : others),
    );
  }

  #hasAll(value: Json, required: unknown): boolean {
    const names = listOf(required);
    this.#work.spend(names.length);
    return names.every((key) => typeof key !== 'string' || Object.hasOwn(value, key));
  }

  #hasTwins(list: readonly unknown[]): boolean {
    return new Set(list.map((item) => canonical(item, this.#work))).size < list.length;
  }
}

/** The schemas of a list's first items, one each, and of the others. */
export function itemsOf(schema: Json): { first: readonly unknown[]; rest: unknown } {
  const { prefixItems, items } = schema;
  if (Array.isArray(prefixItems)) return { first: prefixItems, rest: items ?? true };
  // As it was written before 2020.
  if (Array.isArray(items)) return { first: items, rest: schema['additionalItems'] ?? true };
  return { first: [], rest: items ?? true };
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
