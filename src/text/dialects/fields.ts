import * as v from 'valibot';
import { field as described } from '../../schema/fields.ts';
import type { Feature } from '../../store/features.ts';
import type { RequestSetting } from '../canonical/canonical.ts';
import {
  type Field,
  type FieldClass,
  type Fields,
  fieldTable,
  kinds,
  type NeutralValues,
  type ObjectSchema,
  type Shape,
} from './field-table.ts';
import { all, type Check, feature } from './inspection.ts';
import type { NeverOmitted } from './unsupported-field.ts';

interface FieldOptions {
  /** What it accepts beside null. */
  readonly value?: v.GenericSchema | Shape;
  /** What it accepts, where it must be given. */
  readonly required?: v.GenericSchema | Shape;
  /** The fields of its value, which is an object. */
  readonly fields?: Fields;
  readonly setting?: RequestSetting;
  readonly decides?: readonly RequestSetting[];
  readonly neutral?: NeutralValues;
  readonly check?: Check;
  /** Its value is a list of these objects; their check inspects them where no other check of the list does. */
  readonly items?: Check | Shape;
  /** The feature that its values need, unless they are neutral. */
  readonly feature?: Feature;
  readonly kept?: NeverOmitted;
}

type Unshaped<Given> =
  Given extends Shape<infer Schema> ? Schema : Given extends v.GenericSchema ? Given : never;

type SchemaOf<Options> = Options extends { readonly required: infer Given }
  ? Unshaped<Given>
  : Options extends { readonly value: infer Given }
    ? v.NullishSchema<Unshaped<Given>, undefined>
    : Options extends { readonly items: Shape<infer Schema> }
      ? v.NullishSchema<v.ArraySchema<Schema, undefined>, undefined>
      : Options extends { readonly fields: infer Own extends Fields }
        ? v.NullishSchema<ObjectSchema<Own>, undefined>
        : null;

function isShape(given: object | undefined): given is Shape {
  return given !== undefined && 'check' in given;
}

/** What a field accepts; null for anything. */
function schemaOf(about: string, { required, value, items }: FieldOptions) {
  if (required) return described(isShape(required) ? required.schema : required, about);
  if (value) return v.nullish(described(isShape(value) ? value.schema : value, about));
  return isShape(items) ? v.nullish(described(v.array(items.schema), about)) : null;
}

/** A function that declares fields of one class. */
function fieldsOfClass(
  fieldClass: FieldClass,
  { isTranslated = false, hasEquivalents = false } = {},
) {
  return <const Options extends FieldOptions>(
    about: string,
    options?: Options,
  ): Field<SchemaOf<Options>> => {
    const { fields, ...rest }: FieldOptions = options ?? {};
    const given: FieldOptions = fields ? { ...rest, value: fieldTable(fields) } : rest;
    const { items, neutral = null, setting = null, decides = [], feature: name, kept } = given;
    const shape = [items, given.required, given.value].find(isShape);
    const listed = (typeof items === 'function' ? items : shape?.check) ?? given.check;
    const check = given.check ?? listed ?? null;
    const gate = name === undefined ? null : unlessNeutral(neutral, feature(name));
    return {
      class: fieldClass,
      about,
      isTranslated,
      hasEquivalents,
      schema: schemaOf(about, given) as SchemaOf<Options>,
      setting,
      decidesSettings: decides,
      neutral,
      isList: items !== undefined,
      kinds: (listed && kinds.get(listed)) ?? [],
      check: gate && check ? all(gate, check) : (gate ?? check),
      ...(kept && { kept }),
    };
  };
}

function unlessNeutral(neutral: NeutralValues | null, check: Check): Check {
  return (value, found, owner) => {
    if (!neutral?.test(value, owner)) check(value, found, owner);
  };
}

/** A field with a meaning that the canonical request holds. */
export const meaning = fieldsOfClass('meaning', { isTranslated: true });

/** A field with a meaning that only upstreams of the same format get: no other format has a word for it. */
export const native = fieldsOfClass('meaning');

/** A field with a meaning that only upstreams of the same format get, although others have it too. */
export const untranslated = fieldsOfClass('meaning', { hasEquivalents: true });

/** A hint about sampling or length that the canonical request holds. */
export const hint = fieldsOfClass('hint', { isTranslated: true });

/** A hint about sampling that only upstreams of the same format get. */
export const nativeHint = fieldsOfClass('hint');

/** A field that changes nothing of an answer: a label, an identifier, telemetry, a hint about caches. */
export const advice = fieldsOfClass('advice');

/** Every value: the field asks for nothing. */
export const ANY: NeutralValues = { words: 'any', test: () => true };

/** A property of an answer that clients send back: it asks for nothing. */
export const echo = native('Part of an earlier answer, sent back.', { neutral: ANY });

/** Several fields with one entry. */
export function named<Entry extends Field, Name extends string>(entry: Entry, ...names: Name[]) {
  return Object.fromEntries(names.map((name) => [name, entry])) as Readonly<Record<Name, Entry>>;
}

/** Fields that a decoder reads, whatever their values are. */
export const read = <Name extends string>(...names: Name[]) => named(meaning('Content.'), ...names);

/** Fields that a decoder reads, with what they accept. */
export function content<const Entries extends v.ObjectEntries>(entries: Entries) {
  const about = meaning('Content.');
  return Object.fromEntries(
    Object.entries(entries).map(([name, schema]) => [name, { ...about, schema }]),
  ) as { readonly [Name in keyof Entries]: Field<Entries[Name]> };
}

/** Neutral values, listed. Null is neutral everywhere. */
export function values(...neutral: readonly (string | number | boolean)[]): NeutralValues {
  return { words: neutral.join(', '), test: (value) => neutral.includes(value as string) };
}

/** Lists and objects without content. */
export const empty: NeutralValues = {
  words: 'empty',
  test: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 0,
};
