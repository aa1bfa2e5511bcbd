import * as v from 'valibot';

/** A whole number in a query, where everything is text. */
const count = (minimum: number, maximum: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,15}$/, `expected an integer from ${minimum} to ${maximum}`),
    v.transform(Number),
    v.minValue(minimum, `expected an integer from ${minimum} to ${maximum}`),
    v.maxValue(maximum, `expected an integer from ${minimum} to ${maximum}`),
  );

/** Elements of one page of a list. */
export const pageLimit = v.optional(count(1, 100), '20');

export const pageQuery = v.strictObject({
  limit: pageLimit,
  after: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,15}$/, 'expected the id of the last element before the page')),
  ),
});

/** A day of the calendar, UTC. */
export const day = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}-\d{2}$/, 'expected a day like 2026-01-31'),
  v.check((text) => {
    const time = Date.parse(text);
    return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
  }, 'expected a day of the calendar'),
);

/**
 * One page of a list, of which one element more than fits was fetched to know whether more follow.
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

/** Times leave Oriel as whole seconds since 1970. */
export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
