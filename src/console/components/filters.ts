import type { FormField, Values } from './form-field.ts';

/** A path with its query, if there is any. */
export function withQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The values of fields that an address states; empty for one that it lacks. */
export function filtersOf(fields: readonly FormField[], query: URLSearchParams): Values {
  return Object.fromEntries(fields.map(({ name }) => [name, query.get(name) ?? '']));
}

/** The filters that have a value. */
export function queryOf(filters: Values): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ''));
}

/** The place of a list with its filters. */
export function placeOf(view: string, filters: Values): string {
  return withQuery(view, queryOf(filters));
}
