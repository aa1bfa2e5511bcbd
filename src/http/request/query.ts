import * as v from 'valibot';
import {
  boundedText,
  fieldsOf,
  fromText,
  integer,
  type ObjectSchema,
  optional,
  parseFields,
  withDefault,
} from '../../schema/fields.ts';

/** Elements of one page of a list. */
export const pageLimit = withDefault(integer(1, 100), 20, 'elements of the page');

/**
 * Parses the query of a URL, whose values are texts.
 *
 * @throws Failure invalid_request that names the parameter
 */
export function parseQuery<Output>(
  schema: ObjectSchema<Output>,
  query: Readonly<Record<string, unknown>>,
): Output {
  const values = { ...query };
  for (const one of fieldsOf(schema)) {
    const value = values[one.name];
    if (typeof value === 'string') values[one.name] = fromText(one, value);
  }
  return parseFields(schema, values);
}

/** A parameter that filters a list by a name or an identifier. */
export const filter = (description: string) =>
  optional(boundedText(256), description, {
    expects: '1 to 256 characters',
  });

/** The shape of a deletion's answer. */
export const deletedShape = <const Name extends string>(object: Name) =>
  v.object({ id: v.string(), object: v.literal(object), deleted: v.literal(true) });

/** The shape of a list. */
export const listShape = <const Shape extends v.GenericSchema>(shape: Shape) =>
  v.object({ object: v.literal('list'), data: v.array(shape) });

/** The shape of `pageOf`. */
export const pageShape = <const Shape extends v.GenericSchema>(shape: Shape) =>
  v.object({ ...listShape(shape).entries, has_more: v.boolean() });

/**
 * One page of a list. The caller fetches one element more than fits, which shows whether more follow.
 */
export function pageOf<Item, Shown>(
  items: readonly Item[],
  limit: number,
  show: (item: Item) => Shown,
) {
  const data = items.slice(0, limit).map(show);
  return { object: 'list' as const, data, has_more: items.length > limit };
}

/** The shape of `idPageOf`. */
export const idPageShape = <const Shape extends v.GenericSchema>(shape: Shape) =>
  v.object({
    ...pageShape(shape).entries,
    first_id: v.nullable(v.string()),
    last_id: v.nullable(v.string()),
  });

/** One page of a list, with the identifiers by which the pages beside it are asked for. */
export function idPageOf<Shown extends { readonly id: string }>(
  data: readonly Shown[],
  hasMore: boolean,
) {
  const ids = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: 'list' as const, data: [...data], has_more: hasMore, ...ids };
}

/** Seconds since the epoch, as responses have times. */
export const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
