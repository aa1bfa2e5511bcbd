import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { canonicalText, keysOf, numberOf, own } from './json-values.ts';
import {
  enumeratedValues,
  itemSchemasOf,
  needsValidation,
  rankOf,
  resolveReference,
  type Type,
  typesInOrder,
} from './keywords.ts';
import { mergeSchemas } from './merge-schemas.ts';
import type { PromptValues } from './prompt-values.ts';
import { generateNumber, generateText } from './scalars.ts';
import { firstSupported, StepBudget, UnsupportedSchema } from './step-budget.ts';
import { isValid } from './validator.ts';

/**
 * Depths down to which optional properties and items are generated. A schema whose value grows too
 * large with one is generated with the next.
 */
const OPTIONAL_DEPTHS = [5, 3, 2, 1, 0] as const;

/** Depth of a value, and references and subschemas in a row, at the most. */
const MAX_DEPTH = 40;

/** Steps that one value takes, and one subschema, without their keywords. */
const VALUE_STEPS = 30;
const SUBSCHEMA_STEPS = 10;

/** Subschemas that are merged into one: each takes room on the stack. */
const MAX_MERGED = 300;

/** Share of the remaining steps for one of the optional depths: the next ones need some, too. */
const DEPTH_SHARE = 0.4;

/** Alternatives of which the best is tried first. */
const MAX_ALTERNATIVES = 64;

/** Position of a value in the generated document. */
interface ValueContext {
  /** Name of the property that holds the value, or the array that holds it; null outside of objects. */
  readonly name: string | null;
  readonly depth: number;
  /** Number of the value among values that should differ, such as unique items. */
  readonly variant: number;
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
  let failure: unknown;
  for (const optionalDepth of OPTIONAL_DEPTHS) {
    try {
      const generated = budget.share(optionalDepth === 0 ? 1 : DEPTH_SHARE, (share) => {
        const options = { promptValues, optionalDepth, budget: share };
        const generator = new ValueGenerator(schema, options);
        const value = generator.generate(schema, { name: null, depth: 0, variant: 0 });
        return isValid(value, schema, schema, share) ? { value } : null;
      });
      if (generated) return generated.value;
      failure = new UnsupportedSchema('no value was found that satisfies it');
    } catch (error) {
      if (!(error instanceof UnsupportedSchema)) throw error;
      failure = error;
    }
  }
  throw failure;
}

interface ValueGeneratorOptions {
  readonly promptValues: PromptValues;
  readonly optionalDepth: number;
  readonly budget: StepBudget;
}

class ValueGenerator {
  readonly #root: unknown;
  readonly #promptValues: PromptValues;
  readonly #optionalDepth: number;
  readonly #budget: StepBudget;

  constructor(root: unknown, { promptValues, optionalDepth, budget }: ValueGeneratorOptions) {
    this.#root = root;
    this.#promptValues = promptValues;
    this.#optionalDepth = optionalDepth;
    this.#budget = budget;
  }

  generate(schema: unknown, context: ValueContext): unknown {
    this.#budget.spend(VALUE_STEPS);
    if (context.depth > MAX_DEPTH) throw new UnsupportedSchema('its values would have no end');
    return firstSupported(
      this.#rankedAlternatives(schema, context),
      (alternative) => {
        const generated = this.#fromAlternative(alternative, context);
        if (isObject(schema) && needsValidation(schema) && !this.#isValid(generated, schema)) {
          throw new UnsupportedSchema('no value satisfies it');
        }
        return generated;
      },
      'no value satisfies it',
    );
  }

  #isValid(value: unknown, schema: Json): boolean {
    return isValid(value, schema, this.#root, this.#budget);
  }

  #isRequiredOnly({ depth }: ValueContext): boolean {
    return depth >= this.#optionalDepth;
  }

  /** The alternatives of a schema: small ones first where only required properties are generated. */
  #rankedAlternatives(schema: unknown, context: ValueContext): Json[] {
    const alternatives: Json[] = [];
    for (const alternative of this.#alternatives(schema, 0, 0)) {
      alternatives.push(alternative);
      if (alternatives.length >= MAX_ALTERNATIVES) break;
    }
    const isRequiredOnly = this.#isRequiredOnly(context);
    return alternatives
      .map((alternative) => ({
        alternative,
        rank: rankOf(alternative, isRequiredOnly, this.#budget),
      }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ alternative }) => alternative);
  }

  /**
   * The alternatives of a schema: schemas without `$ref`, `allOf`, `anyOf` and `oneOf`, each of which
   * allows some of its values.
   *
   * @param hops references and subschemas that led here
   * @param depth generators that wait for this one
   */
  *#alternatives(schema: unknown, hops: number, depth: number): Generator<Json> {
    this.#budget.spend(SUBSCHEMA_STEPS);
    if (hops > MAX_DEPTH) throw new UnsupportedSchema('it refers only to itself');
    if (!isObject(schema)) {
      if (schema !== false) yield {};
      return;
    }
    this.#budget.spend(2 * keysOf(schema, this.#budget).length);
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    this.#budget.spend(listOf(allOf).length);
    const groups = listOf(allOf).map((part): readonly unknown[] => [part]);
    if ($ref !== undefined) groups.unshift([resolveReference(this.#root, $ref, this.#budget)]);
    if (Array.isArray(anyOf)) groups.push(anyOf);
    if (Array.isArray(oneOf)) groups.push(oneOf);
    yield* this.#combinations(rest, groups, { hops, depth });
  }

  /** The merges of a schema with one member of each group. */
  *#combinations(
    base: Json,
    groups: readonly (readonly unknown[])[],
    { hops, depth, first = 0 }: { hops: number; depth: number; first?: number },
  ): Generator<Json> {
    if (depth > MAX_MERGED) throw new UnsupportedSchema('it combines too many schemas', true);
    const group = groups[first];
    if (group === undefined) {
      yield base;
      return;
    }
    for (const member of group) {
      for (const alternative of this.#alternatives(member, hops + 1, depth + 1)) {
        const merged = mergeSchemas(base, alternative, this.#budget);
        if (merged) {
          yield* this.#combinations(merged, groups, { hops, depth: depth + 1, first: first + 1 });
        }
      }
    }
  }

  #fromAlternative(schema: Json, context: ValueContext): unknown {
    const listed = this.#listedValue(schema, context);
    if (listed) return listed.value;
    return firstSupported(
      typesInOrder(schema, this.#isRequiredOnly(context), this.#budget),
      (type) => this.#ofType(type, schema, context),
      'it names no type',
    );
  }

  /** A valid value from `const`, `enum`, `default` or `examples`; null if the schema has none. */
  #listedValue(schema: Json, { variant }: ValueContext): { readonly value: unknown } | null {
    this.#budget.spend(2 * keysOf(schema, this.#budget).length);
    const rest = { ...schema, enum: undefined };
    const isAllowed = (value: unknown) => this.#isValid(value, rest);
    const isMentioned = (value: unknown) =>
      typeof value === 'string' && this.#promptValues.mentions(value, this.#budget);
    const values = enumeratedValues(schema)?.filter(isAllowed);
    if (values) {
      if (values.length === 0) throw new UnsupportedSchema('none of its listed values is valid');
      const mentioned = variant === 0 ? values.find(isMentioned) : undefined;
      return { value: mentioned ?? values[variant % values.length] };
    }
    const examples = [schema['default'], ...listOf(schema['examples'])];
    const example = examples.find((one) => one !== undefined && one !== null && isAllowed(one));
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
    const least = Math.ceil(numberOf(schema['minItems']) ?? 0);
    const most = numberOf(schema['maxItems']) ?? Number.POSITIVE_INFINITY;
    const { first, rest } = itemSchemasOf(schema);
    const wanted = this.#isRequiredOnly(context) ? least : Math.max(least, first.length, 1);
    const isUnique = schema['uniqueItems'] === true;
    const list: unknown[] = [];
    const known = new Set<string>();
    let { variant } = context;
    while (list.length < Math.min(wanted, most)) {
      const index = list.length;
      const contained = index === 0 ? schema['contains'] : undefined;
      const plain = index < first.length ? first[index] : rest;
      const item = contained === undefined ? plain : { allOf: [plain, contained] };
      try {
        const { name, depth } = context;
        const value = this.generate(item, { name, depth: depth + 1, variant });
        variant += 1;
        const before = known.size;
        if (isUnique) known.add(canonicalText(value, this.#budget));
        if (!isUnique || known.size > before) list.push(value);
        else if (variant > context.variant + 4 * wanted + 300) {
          throw new UnsupportedSchema('its items cannot all differ');
        }
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
    this.#budget.spend(listOf(schema['required']).length);
    const required = new Set(listOf(schema['required']).filter((key) => typeof key === 'string'));
    const most = numberOf(schema['maxProperties']) ?? Number.POSITIVE_INFINITY;
    const least = numberOf(schema['minProperties']) ?? 0;
    const object = new Map<string, unknown>();
    const add = (name: string, property: unknown) =>
      object.set(name, this.generate(property, { ...context, name, depth: context.depth + 1 }));
    // Properties keep the order of the schema, the optional ones as far as there is room for them.
    let room = most - required.size;
    for (const name of keysOf(properties, this.#budget)) {
      if (required.has(name)) add(name, own(properties, name));
      else if (
        room > 0 &&
        (!this.#isRequiredOnly(context) || object.size + required.size < least)
      ) {
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
      if (others === false) {
        throw new UnsupportedSchema('it requires more properties than it allows');
      }
      if (!object.has(`key${number}`)) add(`key${number}`, others);
    }
    return Object.fromEntries(object);
  }
}
