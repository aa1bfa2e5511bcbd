import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import {
  enumeratedValues,
  isOfType,
  itemSchemasOf,
  likelyTypesOf,
  mergeSchemas,
  numberOf,
  own,
  refuseConditions,
  resolveReference,
  type Type,
  typesOf,
} from './keywords.ts';
import type { PromptValues } from './prompt-values.ts';
import { generateNumber, generateText, isNumberValid, lengthOf } from './scalars.ts';
import { firstSupported, StepBudget, UnsupportedSchema } from './step-budget.ts';

/** Depth down to which optional properties and items are generated, as long as the budget is not low. */
const OPTIONAL_DEPTH = 5;

/** Steps that one value takes, without its keywords. */
const VALUE_STEPS = 30;

/** Depth of a value, and references and subschemas in a row, at the most. */
const MAX_DEPTH = 40;

/** Position of a value in the generated document. */
interface ValueContext {
  /** Name of the property that holds the value, or the array that holds it; null outside of objects. */
  readonly name: string | null;
  readonly depth: number;
  /** Number of the value among values that should differ, such as unique items. */
  readonly variant: number;
}

const ROOT: ValueContext = { name: null, depth: 0, variant: 0 };

/** A schema without `$ref` and `allOf`, and the lists of its alternatives: `anyOf` and `oneOf`. */
interface PlainSchema {
  readonly base: Json;
  readonly groups: readonly (readonly unknown[])[];
}

/**
 * Generates a value that a JSON Schema allows, the same at every call.
 *
 * @throws UnsupportedSchema if no value satisfies the schema, or the sandbox does not find it
 */
export function generateValue(
  schema: unknown,
  promptValues: PromptValues,
  budget = new StepBudget(),
): unknown {
  return new ValueGenerator(schema, promptValues, budget).generate(schema, ROOT);
}

class ValueGenerator {
  readonly #root: unknown;
  readonly #promptValues: PromptValues;
  readonly #budget: StepBudget;

  constructor(root: unknown, promptValues: PromptValues, budget: StepBudget) {
    this.#root = root;
    this.#promptValues = promptValues;
    this.#budget = budget;
  }

  generate(schema: unknown, context: ValueContext): unknown {
    this.#budget.spend(VALUE_STEPS);
    if (context.depth > MAX_DEPTH) throw new UnsupportedSchema('its values would have no end');
    return this.#fromPlain(this.#plain(schema), context);
  }

  /** Resolves references and merges what a schema requires at once. @param hops references that led here */
  #plain(schema: unknown, hops = 0): PlainSchema {
    if (hops > MAX_DEPTH) throw new UnsupportedSchema('it refers only to itself');
    if (schema === false) throw new UnsupportedSchema('no value satisfies it');
    if (!isObject(schema)) return { base: {}, groups: [] };
    this.#budget.visit(schema);
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const parts = [...listOf(allOf)];
    if ($ref !== undefined) parts.unshift(resolveReference(this.#root, $ref));
    const groups: (readonly unknown[])[] = [anyOf, oneOf].filter(Array.isArray);
    let base: Json = rest;
    for (const part of parts) {
      const plain = this.#plain(part, hops + 1);
      this.#budget.visit(base);
      base = mergeSchemas(base, plain.base, this.#budget);
      groups.push(...plain.groups);
    }
    return { base, groups };
  }

  /** The value for the first alternative of each group with which the schema has one. */
  #fromPlain(
    { base, groups: [group, ...groups] }: PlainSchema,
    context: ValueContext,
    hops = 0,
  ): unknown {
    if (group === undefined) return this.#fromBase(base, context);
    const isMinimal = this.#isMinimal(context);
    const ranked = group
      .map((schema) => ({ schema, rank: this.#rankOf(schema, isMinimal) }))
      .sort((a, b) => a.rank - b.rank);
    return firstSupported(ranked, ({ schema }) => {
      const plain = this.#plain(schema, hops + 1);
      this.#budget.visit(base);
      const merged = mergeSchemas(base, plain.base, this.#budget);
      const left = { base: merged, groups: [...groups, ...plain.groups] };
      return this.#fromPlain(left, context, hops + 1);
    });
  }

  #isMinimal({ depth }: ValueContext): boolean {
    return depth >= OPTIONAL_DEPTH || this.#budget.isLow;
  }

  /** The rank of an alternative: null comes last, but first in a minimal value, which then ranks by size. */
  #rankOf(schema: unknown, isMinimal: boolean): number {
    const plain = isObject(schema) ? schema : {};
    this.#budget.visit(plain);
    const target =
      plain['$ref'] === undefined ? plain : resolveReference(this.#root, plain['$ref']);
    const own = isObject(target) ? target : {};
    const types = likelyTypesOf(own);
    const isNull = types.every((type) => type === 'null') || own['const'] === null;
    if (!isMinimal) return isNull ? 1 : 0;
    if (isNull || types.includes('null')) return 0;
    if (types.some((type) => type !== 'object' && type !== 'array')) return 1;
    return listOf(own['required']).length === 0 && (numberOf(own['minItems']) ?? 0) <= 0 ? 2 : 3;
  }

  #fromBase(schema: Json, context: ValueContext): unknown {
    this.#budget.visit(schema);
    const listed = this.#listedValue(schema, context);
    if (listed) {
      this.#budget.visitValue(listed.value);
      return listed.value;
    }
    refuseConditions(schema);
    const nullLast = this.#isMinimal(context) ? -1 : 1;
    const rank = (type: Type) => (type === 'null' ? nullLast : 0);
    const types = likelyTypesOf(schema).sort((a, b) => rank(a) - rank(b));
    return firstSupported(types, (type) => this.#ofType(type, schema, context));
  }

  /** A value from `const`, `enum`, `default` or `examples`; null if the schema has none of its type. */
  #listedValue(schema: Json, { variant }: ValueContext): { readonly value: unknown } | null {
    const types = typesOf(schema);
    const isAllowed = (value: unknown) => !types || types.some((type) => isOfType(value, type));
    const values = enumeratedValues(schema)?.filter(isAllowed);
    if (values) {
      if (values.length === 0) throw new UnsupportedSchema('none of its listed values is valid');
      const isMentioned = (value: unknown) =>
        typeof value === 'string' && this.#promptValues.mentions(value, this.#budget);
      const mentioned = variant === 0 ? values.find(isMentioned) : undefined;
      return { value: mentioned ?? values[variant % values.length] };
    }
    const examples = [schema['default'], ...listOf(schema['examples'])];
    const example = examples.find((one) => {
      return one !== undefined && one !== null && isAllowed(one) && hasValidSize(one, schema);
    });
    return variant === 0 && example !== undefined ? { value: example } : null;
  }

  #ofType(type: Type, schema: Json, context: ValueContext): unknown {
    const sources = { promptValues: this.#promptValues, budget: this.#budget };
    const scalarContext = { ...context, ...sources };
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return context.variant % 2 === 0;
      case 'integer':
      case 'number':
        return generateNumber(schema, scalarContext, type === 'integer');
      case 'string':
        return generateText(schema, scalarContext);
      case 'array':
        return this.#array(schema, context);
      case 'object':
        return this.#object(schema, context);
    }
  }

  #array(schema: Json, context: ValueContext): unknown[] {
    const { name, depth } = context;
    const least = Math.ceil(numberOf(schema['minItems']) ?? 0);
    const { first, rest } = itemSchemasOf(schema);
    const wanted = this.#isMinimal(context) ? least : Math.max(least, first.length, 1);
    const count = Math.min(wanted, numberOf(schema['maxItems']) ?? Infinity);
    const isUnique = schema['uniqueItems'] === true;
    const list: unknown[] = [];
    const known = new Set<string>();
    let { variant } = context;
    while (list.length < count) {
      const index = list.length;
      const plain = index < first.length ? first[index] : rest;
      const { contains } = schema;
      const item = index === 0 && contains !== undefined ? { allOf: [plain, contains] } : plain;
      try {
        const value = this.generate(item, { name, depth: depth + 1, variant });
        variant += 1;
        const text = isUnique ? JSON.stringify(value) : String(variant);
        this.#budget.spend(text.length / 8);
        if (!known.has(text)) list.push(value);
        else if (variant > context.variant + 4 * wanted + 300) {
          throw new UnsupportedSchema('its items cannot all differ');
        }
        known.add(text);
      } catch (error) {
        if (list.length >= least && error instanceof UnsupportedSchema && !error.final) break;
        throw error;
      }
    }
    return list;
  }

  #object(schema: Json, context: ValueContext): Json {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const others = schema['additionalProperties'] ?? true;
    const required = new Set(listOf(schema['required']).filter((key) => typeof key === 'string'));
    const least = numberOf(schema['minProperties']) ?? 0;
    const object = new Map<string, unknown>();
    const add = (name: string, property: unknown) => {
      this.#budget.spend(name.length / 16);
      object.set(name, this.generate(property, { ...context, name, depth: context.depth + 1 }));
    };
    // Properties keep the order of the schema, the optional ones as far as there is room for them.
    let room = (numberOf(schema['maxProperties']) ?? Infinity) - required.size;
    for (const name of Object.keys(properties)) {
      const isWanted = !this.#isMinimal(context) || object.size + required.size < least;
      if (required.has(name)) add(name, own(properties, name));
      else if (room > 0 && isWanted) {
        try {
          add(name, own(properties, name));
          room -= 1;
        } catch (error) {
          if (!(error instanceof UnsupportedSchema) || error.final) throw error;
        }
      }
    }
    for (const name of required) if (!object.has(name)) add(name, others);
    for (let number = 1; object.size < least; number += 1) {
      if (!object.has(`key${number}`)) add(`key${number}`, others);
    }
    return Object.fromEntries(object);
  }
}

/** Whether a value is within the bounds of a schema, and has what it requires: authors write defaults that are not. */
function hasValidSize(value: unknown, schema: Json): boolean {
  const isWithin = (size: number, least: string, most: string) =>
    size >= (numberOf(schema[least]) ?? 0) && size <= (numberOf(schema[most]) ?? Infinity);
  if (typeof value === 'number') return isNumberValid(value, schema);
  if (typeof value === 'string') return isWithin(lengthOf(value), 'minLength', 'maxLength');
  if (Array.isArray(value)) return isWithin(value.length, 'minItems', 'maxItems');
  if (!isObject(value)) return true;
  const required = listOf(schema['required']);
  return required.every((name) => typeof name !== 'string' || Object.hasOwn(value, name));
}
