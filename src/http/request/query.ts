import {
  fieldsOf,
  fromText,
  integer,
  type ObjectSchema,
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

/**
 * One page of a list. The caller fetches one element more than fits, which shows whether more follow.
 */
export function pageOf<Item, Shown>(
  items: readonly Item[],
  limit: number,
  show: (item: Item) => Shown,
): { object: 'list'; data: Shown[]; has_more: boolean } {
  return {
    object: 'list',
    data: items.slice(0, limit).map(show),
    has_more: items.length > limit,
  };
}

/** Seconds since the epoch, as responses have times. */
export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
