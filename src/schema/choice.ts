import * as v from 'valibot';
import { isObject } from './untrusted.ts';

/** Picks the schema that a value means to follow; null where it follows none of them. */
export type Pick = (value: unknown) => v.GenericSchema | null;

export interface Choosing {
  readonly choose: Pick;
  readonly expects: string;
}

type Options = readonly v.GenericSchema[];
type Known = Readonly<Record<string, v.GenericSchema>>;

/**
 * A union whose value tells which of its options it means, by its kind or by its `type`. One option
 * is checked instead of all, and what is wrong is told of that one.
 *
 * @param expects what to say where it follows none of them
 */
export function choice<const Choices extends Options>(
  expects: string,
  options: Choices,
  choose: Pick,
): v.UnionSchema<Choices, undefined> {
  const union = v.union(options);
  const chosen: v.UnionSchema<Choices, undefined> & Choosing = {
    ...union,
    choose,
    expects,
    '~run'(dataset, config) {
      const schema = choose(dataset.value) ?? union;
      return schema['~run'](dataset, config) as ReturnType<(typeof union)['~run']>;
    },
  };
  return chosen;
}

/** Picks by what one property says. @param resort for what says another word, or none */
export function pickBy(property: string, known: Known, resort: v.GenericSchema): Pick {
  const schemas = new Map(Object.entries(known));
  return (value) => {
    const word = isObject(value) ? value[property] : undefined;
    return (typeof word === 'string' ? schemas.get(word) : undefined) ?? resort;
  };
}

/** Objects that are told apart by what one property says. */
export function choiceBy<const Schemas extends Known>(
  property: string,
  known: Schemas,
): v.UnionSchema<Schemas[keyof Schemas][], undefined> {
  const stranger = openObject({ [property]: v.picklist(Object.keys(known)) });
  const options = [...new Set(Object.values(known))] as Schemas[keyof Schemas][];
  return choice('an object', options, pickBy(property, known, stranger));
}

/** Objects that are told apart by what one property says, and others that say something else. */
export function openChoiceBy<const Schemas extends Known, const Other extends v.GenericSchema>(
  property: string,
  known: Schemas,
  other: Other,
): v.UnionSchema<(Schemas[keyof Schemas] | Other)[], undefined> {
  const options = [...new Set([...Object.values(known), other])];
  return choice(
    'an object',
    options as (Schemas[keyof Schemas] | Other)[],
    pickBy(property, known, other),
  );
}

/** A text, or a list instead of it. */
export function textOrList<const List extends v.GenericSchema>(expects: string, list: List) {
  const text = v.string();
  return choice(expects, [text, list], (value) => {
    if (typeof value === 'string') return text;
    return Array.isArray(value) ? list : null;
  });
}

/** One of some words, or an object instead of them. */
export function wordOrObject<
  const Words extends readonly string[],
  const Schema extends v.GenericSchema,
>(words: Words, object: Schema) {
  const word = v.picklist(words);
  const expects = `one of ${words.join(', ')}, or an object with a type`;
  return choice(expects, [word, object], (value) => {
    if (isObject(value)) return object;
    return typeof value === 'string' ? word : null;
  });
}

/**
 * An object with properties beyond those that are named. Valibot alone takes lists for objects, too,
 * and copies what it has checked: here what is right is looked at only, and stays what it is.
 */
export function openObject<const Entries extends v.ObjectEntries>(entries: Entries) {
  const base = v.looseObject(entries);
  const named = Object.entries(entries).map(([name, schema]) => ({
    name,
    schema,
    optional: schema.type === 'nullish',
  }));
  const open: typeof base = {
    ...base,
    '~run'(dataset, config) {
      const { value } = dataset;
      if (Array.isArray(value)) {
        const refused = base['~run']({ value: null }, config);
        // The issue is told of the list that came.
        return { ...refused, value } as typeof refused;
      }
      if (!isObject(value)) return base['~run'](dataset, config);
      for (const { name, schema, optional } of named) {
        const part = value[name];
        if (part === undefined && optional) continue;
        // What is wrong with it, and where, Valibot says better.
        if (schema['~run']({ value: part }, config).issues) return base['~run'](dataset, config);
      }
      return { typed: true, value } as ReturnType<(typeof base)['~run']>;
    },
  };
  return open;
}
