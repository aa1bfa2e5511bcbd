import * as v from 'valibot';
import { isObject } from './untrusted.ts';

/** Selects the one schema to validate a value with; null if none applies. */
export type SelectSchema = (value: unknown) => v.GenericSchema | null;

export interface Choice {
  readonly select: SelectSchema;
  readonly expects: string;
}

type Options = readonly v.GenericSchema[];
type Known = Readonly<Record<string, v.GenericSchema>>;

/**
 * A union that validates a value with one selected option instead of all, and reports that option's
 * issues.
 *
 * @param expects what the message says was expected if no option applies
 */
export function choice<const Choices extends Options>(
  expects: string,
  options: Choices,
  select: SelectSchema,
): v.UnionSchema<Choices, undefined> {
  const union = v.union(options);
  const chosen: v.UnionSchema<Choices, undefined> & Choice = {
    ...union,
    select,
    expects,
    '~run'(dataset, config) {
      const schema = select(dataset.value) ?? union;
      return schema['~run'](dataset, config) as ReturnType<(typeof union)['~run']>;
    },
  };
  return chosen;
}

/** Selects by the text of one property. @param fallback the schema for any other value of it */
export function selectBy(property: string, known: Known, fallback: v.GenericSchema): SelectSchema {
  const schemas = new Map(Object.entries(known));
  return (value) => {
    const word = isObject(value) ? value[property] : undefined;
    return (typeof word === 'string' ? schemas.get(word) : undefined) ?? fallback;
  };
}

/** A union of objects, discriminated by the text of one property. */
export function choiceBy<const Schemas extends Known>(
  property: string,
  known: Schemas,
): v.UnionSchema<Schemas[keyof Schemas][], undefined> {
  const unknownVariant = openObject({ [property]: v.picklist(Object.keys(known)) });
  const options = [...new Set(Object.values(known))] as Schemas[keyof Schemas][];
  return choice('an object', options, selectBy(property, known, unknownVariant));
}

/** The same, with one more schema for objects whose property has any other text. */
export function openChoiceBy<const Schemas extends Known, const Other extends v.GenericSchema>(
  property: string,
  known: Schemas,
  other: Other,
): v.UnionSchema<(Schemas[keyof Schemas] | Other)[], undefined> {
  const options = [...new Set([...Object.values(known), other])];
  return choice(
    'an object',
    options as (Schemas[keyof Schemas] | Other)[],
    selectBy(property, known, other),
  );
}

/** A text or a list. */
export function textOrList<const List extends v.GenericSchema>(expects: string, list: List) {
  const text = v.string();
  return choice(expects, [text, list], (value) => {
    if (typeof value === 'string') return text;
    return Array.isArray(value) ? list : null;
  });
}

/** One of some words, or an object. */
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
 * An object that may have undeclared properties. Valibot's own `looseObject` accepts lists and copies
 * what it validates: this one rejects lists and returns a valid value itself.
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
        // The issue was made for null; the dataset keeps the list that was received.
        return { ...refused, value } as typeof refused;
      }
      if (!isObject(value)) return base['~run'](dataset, config);
      for (const { name, schema, optional } of named) {
        const part = value[name];
        if (part === undefined && optional) continue;
        // Validates again, because Valibot's own run adds the path to the issues.
        if (schema['~run']({ value: part }, config).issues) return base['~run'](dataset, config);
      }
      return { typed: true, value } as ReturnType<(typeof base)['~run']>;
    },
  };
  return open;
}
