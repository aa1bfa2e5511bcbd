import * as v from 'valibot';
import { isObject } from './untrusted.ts';

/** The way to a place in a value, from its root. */
export type Path = readonly (string | number)[];

/** One place in a value, with the schema that stands for it. */
export interface Place {
  readonly path: Path;
  readonly value: unknown;
  /** Undefined where the schema has no such property. */
  readonly schema: v.GenericSchema | undefined;
  /** Where it has none: what it has there. */
  readonly known: readonly string[] | null;
}

type Entries = Readonly<Record<string, v.GenericSchema>>;

/** What may be below a schema; null where it is a single value. */
type Inside =
  | { readonly entries: Entries }
  | { readonly key: v.GenericSchema; readonly each: v.GenericSchema }
  | { readonly each: v.GenericSchema }
  | null;

interface Parts {
  readonly type: string;
  readonly entries?: Entries;
  readonly key?: v.GenericSchema;
  readonly value?: v.GenericSchema;
  readonly item?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
}

/** A schema that has a choice of objects, told apart by the literal of one property. */
interface Variant {
  readonly key: string;
  readonly options: readonly { readonly entries: Entries }[];
}

function variantOf(schema: v.GenericSchema): Variant | null {
  const { type, wrapped } = schema as unknown as Parts;
  if (wrapped) return variantOf(wrapped);
  return type === 'variant' ? (schema as unknown as Variant) : null;
}

function literalOf({ key }: Variant, { entries }: { readonly entries: Entries }): string {
  return String((entries[key] as unknown as { readonly literal: unknown }).literal);
}

/**
 * Looks into a schema. Of a variant it takes the option that the value's own discriminator names;
 * where that names none, nothing more can be said than what all options have in common: nothing.
 */
export function insideOf(schema: v.GenericSchema, value: unknown): Inside {
  const parts = schema as unknown as Parts;
  if (parts.wrapped) return insideOf(parts.wrapped, value);
  if (parts.entries) return { entries: parts.entries };
  if (parts.type === 'record') return { key: parts.key!, each: parts.value! };
  if (parts.type === 'array') return { each: parts.item! };
  const variant = variantOf(schema);
  if (variant === null || !isObject(value)) return null;
  const named = value[variant.key];
  const option = variant.options.find((option) => literalOf(variant, option) === named);
  return option ? { entries: option.entries } : null;
}

/** Whether a list stands where an object should, which Valibot takes for one with numbers as names. */
export function isListInstead(schema: v.GenericSchema, value: unknown): boolean {
  const inside = Array.isArray(value) ? insideOf(schema, value) : null;
  return inside !== null && !isList(inside);
}

function isList(inside: NonNullable<Inside>): boolean {
  return 'each' in inside && !('key' in inside);
}

/** Every place in a value, the root left out, each before what is below it. */
export function* places(
  schema: v.GenericSchema,
  value: unknown,
  path: Path = [],
): Generator<Place, void> {
  const inside = insideOf(schema, value);
  if (inside === null || typeof value !== 'object' || value === null) return;
  if (isList(inside) !== Array.isArray(value)) return;
  const keys: readonly (string | number)[] = Array.isArray(value)
    ? [...value.keys()]
    : Object.keys(value);
  for (const key of keys) {
    const child = (value as Record<string | number, unknown>)[key];
    const below = [...path, key];
    const standing =
      'each' in inside
        ? inside.each
        : Object.hasOwn(inside.entries, key)
          ? inside.entries[key]
          : undefined;
    const known =
      standing === undefined && 'entries' in inside ? Object.keys(inside.entries) : null;
    yield { path: below, value: child, schema: standing, known };
    if (standing) yield* places(standing, child, below);
  }
}

/** Every property that a schema declares by name, each before what is below it. */
export function declared(
  schema: v.GenericSchema,
  path: Path = [],
): readonly { readonly path: Path; readonly schema: v.GenericSchema }[] {
  const inside = insideOf(schema, undefined);
  if (inside === null || 'each' in inside) return [];
  return Object.entries(inside.entries).flatMap(([name, entry]) => [
    { path: [...path, name], schema: entry },
    ...declared(entry, [...path, name]),
  ]);
}

/** What stands at a path of a value; `key` is the schema of its name, where names are free. */
export function schemaAt(
  schema: v.GenericSchema,
  value: unknown,
  path: Path,
): { readonly schema: v.GenericSchema; readonly key?: v.GenericSchema } | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return { schema };
  const inside = insideOf(schema, value);
  const variant = variantOf(schema);
  if (variant?.key === first && inside === null) {
    return { schema: v.picklist(variant.options.map((option) => literalOf(variant, option))) };
  }
  if (inside === null) return undefined;
  const named = 'entries' in inside && Object.hasOwn(inside.entries, first);
  const next = 'each' in inside ? inside.each : named ? inside.entries[first] : undefined;
  if (next === undefined) return undefined;
  if (rest.length === 0) return { schema: next, ...('key' in inside && { key: inside.key }) };
  return schemaAt(next, valueAt(value, [first]), rest);
}

export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string | number, unknown>)[key];
  }
  return found;
}
