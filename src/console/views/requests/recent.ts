/** Parameters of the address and of the server's list. */
export const FILTERS = ['status', 'account', 'key', 'model', 'sign_ins'] as const;

type Filters = Readonly<Record<string, string>>;

const LIMIT = '100';

function queryOf(filters: Filters): URLSearchParams {
  return new URLSearchParams(
    FILTERS.flatMap((name) => (filters[name] ? [[name, filters[name]]] : [])),
  );
}

/** The place of filters within the console. */
export function placeOf(filters: Filters): string {
  const query = queryOf(filters);
  return query.size === 0 ? 'requests' : `requests?${query}`;
}

/** Path of the list on the server. */
export function pathOf(filters: Filters): string {
  const query = queryOf(filters);
  query.set('limit', LIMIT);
  // Each opening of the console in a browser would be among them.
  if (!query.has('sign_ins')) query.set('sign_ins', 'false');
  return `v1/admin/requests?${query}`;
}
