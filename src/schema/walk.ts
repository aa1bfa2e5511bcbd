import * as v from 'valibot';
import { isObject } from './untrusted.ts';

/** Property names and list indexes from the root of a value to one of its parts. */
export type Path = readonly (string | number)[];

type Entries = Readonly<Record<string, v.GenericSchema>>;

/** One part of a value, with its schema. */
export interface VisitedPart {
  readonly path: Path;
  readonly value: unknown;
  /** Undefined for a property that the schema does not declare. */
  readonly schema: v.GenericSchema | undefined;
  /** Properties that the schema declares instead of an undeclared one; null for a declared one. */
  readonly alternatives: Entries | null;
}

/** Schemas of the parts of an object or a list; null for the schema of a single value. */
type Children =
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

/** A union of objects, discriminated by the literal of one property. */
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
 * The schemas of an object's or a list's parts. Of a variant, those of the option that the value's
 * discriminator names; null if it names none.
 */
export function childrenOf(schema: v.GenericSchema, value: unknown): Children {
  const parts = schema as unknown as Parts;
  if (parts.wrapped) return childrenOf(parts.wrapped, value);
  if (parts.entries) return { entries: parts.entries };
  if (parts.type === 'record') return { key: parts.key!, each: parts.value! };
  if (parts.type === 'array') return { each: parts.item! };
  const variant = variantOf(schema);
  if (variant === null || !isObject(value)) return null;
  const named = value[variant.key];
  const option = variant.options.find((option) => literalOf(variant, option) === named);
  return option ? { entries: option.entries } : null;
}

/** Whether a value is a list where the schema wants an object: Valibot accepts lists as objects. */
export function isListInstead(schema: v.GenericSchema, value: unknown): boolean {
  const children = Array.isArray(value) ? childrenOf(schema, value) : null;
  return children !== null && !isList(children);
}

function isList(children: NonNullable<Children>): boolean {
  return 'each' in children && !('key' in children);
}

/** Visits every part of a value except its root, parents before their children. */
export function* walk(
  schema: v.GenericSchema,
  value: unknown,
  path: Path = [],
): Generator<VisitedPart, void> {
  const children = childrenOf(schema, value);
  if (children === null || typeof value !== 'object' || value === null) return;
  if (isList(children) !== Array.isArray(value)) return;
  const keys: readonly (string | number)[] = Array.isArray(value)
    ? [...value.keys()]
    : Object.keys(value);
  for (const key of keys) {
    const child = (value as Record<string | number, unknown>)[key];
    const childPath = [...path, key];
    const childSchema =
      'each' in children
        ? children.each
        : Object.hasOwn(children.entries, key)
          ? children.entries[key]
          : undefined;
    const alternatives =
      childSchema === undefined && 'entries' in children ? children.entries : null;
    yield { path: childPath, value: child, schema: childSchema, alternatives };
    if (childSchema) yield* walk(childSchema, child, childPath);
  }
}

/** Every property that a schema declares by name, parents before their children. */
export function declaredProperties(
  schema: v.GenericSchema,
  path: Path = [],
): readonly { readonly path: Path; readonly schema: v.GenericSchema }[] {
  const children = childrenOf(schema, undefined);
  if (children === null || 'each' in children) return [];
  return Object.entries(children.entries).flatMap(([name, entry]) => [
    { path: [...path, name], schema: entry },
    ...declaredProperties(entry, [...path, name]),
  ]);
}

/** The schema of the part at a path; in a record also `key`, the schema of its name. */
export function schemaAt(
  schema: v.GenericSchema,
  value: unknown,
  path: Path,
): { readonly schema: v.GenericSchema; readonly key?: v.GenericSchema } | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return { schema };
  const children = childrenOf(schema, value);
  const variant = variantOf(schema);
  if (variant?.key === first && children === null) {
    return { schema: v.picklist(variant.options.map((option) => literalOf(variant, option))) };
  }
  if (children === null) return undefined;
  const named = 'entries' in children && Object.hasOwn(children.entries, first);
  const next = 'each' in children ? children.each : named ? children.entries[first] : undefined;
  if (next === undefined) return undefined;
  if (rest.length === 0) return { schema: next, ...('key' in children && { key: children.key }) };
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
