import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import type { Hints } from '../hints.ts';
import { itemsOf, satisfies } from './check.ts';
import { choicesOf, conjunction } from './conjunction.ts';
import {
  canonical,
  isSame,
  keysOf,
  numberOf,
  own,
  resolve,
  type Type,
  typesOf,
} from './reading.ts';
import { makeNumber, makeText } from './scalars.ts';
import { Unmakeable } from './unmakeable.ts';
import { Work } from './work.ts';

/**
 * Levels down to which everything is filled in that may be; below, only what must be. Where a schema
 * grows too fast for one, the next is tried.
 */
const LEVELS = [5, 3, 2, 1, 0] as const;

/** No value nests deeper, and no reference leads on to others oftener. */
const DEEPEST = 40;

/** Steps that one part of a value takes, and one schema among choices, beside what is in them. */
const PART = 30;
const MEMBER = 10;

/** Schemas that are combined at once: each takes room on the stack. */
const COMBINED = 300;

/** Of the steps that are left, what one level may take: the levels after it need some, too. */
const LEVEL_SHARE = 0.4;

/** Choices that are looked at before the best is tried. */
const CHOICES = 64;

interface Place {
  /** The property that the value is for, or whose list it is in. */
  readonly name: string | null;
  readonly depth: number;
  readonly variant: number;
}

/**
 * A value that a JSON Schema allows, the same every time.
 *
 * @param hints what values may be taken from
 * @param work what may be done for it
 * @throws Unmakeable where there is none, or where the sandbox does not find it
 */
export function makeValue(schema: unknown, hints: Hints, work = new Work()): unknown {
  let failure: unknown;
  for (const level of LEVELS) {
    try {
      const value = work.share(level === 0 ? 1 : LEVEL_SHARE, (share) => {
        const made = new Maker(schema, { hints, level, work: share }).make(schema, TOP);
        return satisfies(made, schema, schema, share) ? { made } : null;
      });
      if (value) return value.made;
      failure = new Unmakeable('no value was found that fits');
    } catch (error) {
      if (!(error instanceof Unmakeable)) throw error;
      failure = error;
    }
  }
  throw failure;
}

const TOP: Place = { name: null, depth: 0, variant: 0 };

interface MakerOptions {
  readonly hints: Hints;
  readonly level: number;
  readonly work: Work;
}

class Maker {
  readonly #root: unknown;
  readonly #hints: Hints;
  readonly #level: number;
  readonly #work: Work;

  constructor(root: unknown, { hints, level, work }: MakerOptions) {
    this.#root = root;
    this.#hints = hints;
    this.#level = level;
    this.#work = work;
  }

  make(schema: unknown, place: Place): unknown {
    this.#work.spend(PART);
    if (place.depth > DEEPEST) throw new Unmakeable('its values would have no end');
    let failure: unknown;
    for (const flat of this.#inOrder(schema, place)) {
      try {
        const value = this.#one(flat, place);
        if (
          !isObject(schema) ||
          !needsCheck(schema) ||
          satisfies(value, schema, this.#root, this.#work)
        ) {
          return value;
        }
      } catch (error) {
        if (!(error instanceof Unmakeable) || error.final) throw error;
        failure = error;
      }
    }
    throw failure ?? new Unmakeable('no value fits');
  }

  get #means() {
    return { hints: this.#hints, work: this.#work };
  }

  #isDeep({ depth }: Place): boolean {
    return depth >= this.#level;
  }

  /** The choices that a schema leaves, without references: small ones first where it is deep. */
  #inOrder(schema: unknown, place: Place): Json[] {
    const choices: Json[] = [];
    for (const choice of this.#choices(schema, 0, 0)) {
      choices.push(choice);
      if (choices.length >= CHOICES) break;
    }
    const deep = this.#isDeep(place);
    return choices
      .map((choice) => ({ choice, weight: weightOf(choice, deep, this.#work) }))
      .sort((a, b) => a.weight - b.weight)
      .map(({ choice }) => choice);
  }

  /**
   * @param hops references and groups that led here
   * @param depth generators that wait for this one
   */
  *#choices(schema: unknown, hops: number, depth: number): Generator<Json> {
    this.#work.spend(MEMBER);
    if (hops > DEEPEST) throw new Unmakeable('it refers to nothing but itself');
    if (!isObject(schema)) {
      if (schema !== false) yield {};
      return;
    }
    this.#work.spend(2 * keysOf(schema, this.#work).length);
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    this.#work.spend(listOf(allOf).length);
    const groups = listOf(allOf).map((part): readonly unknown[] => [part]);
    if ($ref !== undefined) groups.unshift([resolve(this.#root, $ref, this.#work)]);
    if (Array.isArray(anyOf)) groups.push(anyOf);
    if (Array.isArray(oneOf)) groups.push(oneOf);
    yield* this.#together(rest, groups, { hops, depth });
  }

  /** What a schema allows together with one of each group. */
  *#together(
    base: Json,
    groups: readonly (readonly unknown[])[],
    { hops, depth, first = 0 }: { hops: number; depth: number; first?: number },
  ): Generator<Json> {
    if (depth > COMBINED) throw new Unmakeable('it combines too many schemas', true);
    const group = groups[first];
    if (group === undefined) {
      yield base;
      return;
    }
    for (const member of group) {
      for (const choice of this.#choices(member, hops + 1, depth + 1)) {
        const merged = conjunction(base, choice, this.#work);
        if (merged) {
          yield* this.#together(merged, groups, { hops, depth: depth + 1, first: first + 1 });
        }
      }
    }
  }

  #one(schema: Json, place: Place): unknown {
    const given = this.#given(schema, place);
    if (given) return given.value;
    let failure: unknown;
    for (const type of typesInOrder(schema, this.#isDeep(place), this.#work)) {
      try {
        return this.#typed(type, schema, place);
      } catch (error) {
        if (!(error instanceof Unmakeable) || error.final) throw error;
        failure = error;
      }
    }
    throw failure ?? new Unmakeable('it names no type');
  }

  /** A value that the schema itself tells. */
  #given(schema: Json, { variant }: Place): { readonly value: unknown } | null {
    this.#work.spend(2 * keysOf(schema, this.#work).length);
    const rest = { ...schema, enum: undefined };
    const fits = (value: unknown) => satisfies(value, rest, this.#root, this.#work);
    const choices = choicesOf(schema)?.filter(fits);
    if (choices) {
      if (choices.length === 0) throw new Unmakeable('none of its values fits');
      const named = variant === 0 ? choices.find((one) => this.#isMentioned(one)) : undefined;
      if (named !== undefined) return { value: named };
      return { value: choices[variant % choices.length] };
    }
    const examples = [schema['default'], ...listOf(schema['examples'])];
    const example = examples.find((one) => one !== undefined && one !== null && fits(one));
    return variant === 0 && example !== undefined ? { value: example } : null;
  }

  /** Whether the prompt has a word of a choice. */
  #isMentioned(choice: unknown): boolean {
    return typeof choice === 'string' && this.#hints.mentions(choice, this.#work);
  }

  #typed(type: Type, schema: Json, place: Place): unknown {
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return place.variant % 2 === 0;
      case 'integer':
      case 'number':
        return makeNumber(schema, place, { ...this.#means, whole: type === 'integer' });
      case 'string':
        return makeText(schema, place, this.#means);
      case 'array':
        return this.#list(schema, place);
      case 'object':
        return this.#object(schema, place);
    }
  }

  #list(schema: Json, place: Place): unknown[] {
    const least = Math.ceil(numberOf(schema['minItems']) ?? 0);
    const most = numberOf(schema['maxItems']) ?? Number.POSITIVE_INFINITY;
    const { first, rest } = itemsOf(schema);
    const wanted = this.#isDeep(place) ? least : Math.max(least, first.length, 1);
    const unique = schema['uniqueItems'] === true;
    const list: unknown[] = [];
    const known = new Set<string>();
    let variant = place.variant;
    while (list.length < Math.min(wanted, most)) {
      const index = list.length;
      const contained = index === 0 ? schema['contains'] : undefined;
      const plain = index < first.length ? first[index] : rest;
      const item = contained === undefined ? plain : { allOf: [plain, contained] };
      try {
        const { name } = place;
        const value = this.make(item, { name, depth: place.depth + 1, variant });
        variant += 1;
        const before = known.size;
        if (unique) known.add(canonical(value, this.#work));
        if (!unique || known.size > before) list.push(value);
        else if (variant > place.variant + 4 * wanted + 300) {
          throw new Unmakeable('its items cannot all differ');
        }
      } catch (error) {
        if (list.length >= least && error instanceof Unmakeable && !error.final) break;
        throw error;
      }
    }
    return list;
  }

  #object(schema: Json, place: Place): Json {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const others = schema['additionalProperties'] ?? true;
    this.#work.spend(listOf(schema['required']).length);
    const required = new Set(listOf(schema['required']).filter((key) => typeof key === 'string'));
    const most = numberOf(schema['maxProperties']) ?? Number.POSITIVE_INFINITY;
    const least = numberOf(schema['minProperties']) ?? 0;
    const made = new Map<string, unknown>();
    const add = (name: string, one: unknown) =>
      made.set(name, this.make(one, { name, depth: place.depth + 1, variant: place.variant }));
    // Optional ones go first where they stand first, as long as there is room for the others.
    let room = most - required.size;
    for (const name of keysOf(properties, this.#work)) {
      if (required.has(name)) add(name, own(properties, name));
      else if (room > 0 && (!this.#isDeep(place) || made.size + required.size < least)) {
        try {
          add(name, own(properties, name));
          room -= 1;
        } catch (error) {
          if (!(error instanceof Unmakeable) || error.final) throw error;
        }
      }
    }
    for (const name of required) if (!made.has(name)) add(name, others);
    for (let number = 1; made.size < least; number += 1) {
      if (others === false) throw new Unmakeable('it may not have as many properties as it must');
      if (!made.has(`key${number}`)) add(`key${number}`, others);
    }
    return Object.fromEntries(made);
  }
}

/** Whether a value made for one choice of a schema may still not be what the schema allows. */
function needsCheck(schema: Json): boolean {
  return ['oneOf', 'not', 'if', 'contains'].some((name) => schema[name] !== undefined);
}

function typesInOrder(schema: Json, deep: boolean, work: Work): Type[] {
  const types = typesOf(schema, work) ?? [impliedType(schema)];
  const weight = (type: Type) => (type === 'null' ? (deep ? -1 : 1) : 0);
  return [...types].sort((a, b) => weight(a) - weight(b));
}

/** What a schema without a type is about. */
function impliedType(schema: Json): Type {
  const has = (...names: string[]) => names.some((name) => schema[name] !== undefined);
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return 'object';
  if (has('items', 'prefixItems', 'minItems', 'contains')) return 'array';
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) {
    return 'number';
  }
  return 'string';
}

/** How gladly a choice is made: null last, and where it is deep what ends soonest first. */
function weightOf(schema: Json, deep: boolean, work: Work): number {
  const types = typesOf(schema, work) ?? [impliedType(schema)];
  const isNull = types.every((type) => type === 'null') || isSame(choicesOf(schema), [null], work);
  if (!deep) return isNull ? 1 : 0;
  if (isNull || types.includes('null')) return 0;
  if (types.some((type) => type !== 'object' && type !== 'array')) return 1;
  const needy = listOf(schema['required']).length > 0 || (numberOf(schema['minItems']) ?? 0) > 0;
  return needy ? 3 : 2;
}
