/** Parameters of the address, and of the server's list, with their labels. */
export const FILTERS = {
  status: 'Status',
  text: 'Search',
  since: 'Time',
  account: 'Account',
  key: 'Key id',
  model: 'Model',
  provider: 'Provider',
  tag: 'Tag',
  sign_ins: 'With sign-ins',
} as const;

export type FilterName = keyof typeof FILTERS;
export type Filters = Readonly<Record<FilterName, string>>;

export function filtersOf(query: URLSearchParams): Filters {
  const names = Object.keys(FILTERS) as FilterName[];
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])) as Filters;
}

function queryOf(filters: Filters): URLSearchParams {
  return new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ''));
}

/** The place of filters within the console. */
export function placeOf(filters: Filters): string {
  const query = queryOf(filters);
  return query.size === 0 ? 'requests' : `requests?${query}`;
}

/** Path of the list on the server, or of its events. */
export function pathOf(filters: Filters, events: '' | '/events' = ''): string {
  const query = queryOf(filters);
  if (events === '') query.set('limit', '100');
  else query.delete('since');
  // Each opening of the console in a browser would be among them.
  if (!query.has('sign_ins')) query.set('sign_ins', 'false');
  return `v1/admin/requests${events}?${query}`;
}
