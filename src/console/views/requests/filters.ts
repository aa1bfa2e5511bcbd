import { type FormField, queryOf, type Values } from '../../components/form-field.ts';

const late = (name: string, label: string): FormField => ({
  ...{ name, label, kind: 'late', placeholder: 'All' },
});

/** Parameters of the address, and of the server's list. */
export const FILTERS: readonly FormField[] = [
  {
    name: 'status',
    label: 'Status',
    choices: [
      ['', 'All'],
      ['2xx', 'Succeeded'],
      ['4xx', 'Refused'],
      ['5xx', 'Failed'],
    ],
  },
  late('text', 'Search'),
  {
    name: 'since',
    label: 'Time',
    choices: [
      ['', 'All'],
      ['15m', 'Last 15 minutes'],
      ['24h', 'Last 24 hours'],
      ['7d', 'Last 7 days'],
    ],
  },
  late('account', 'Account'),
  late('key', 'Key id'),
  late('model', 'Model'),
  late('provider', 'Provider'),
  late('tag', 'Tag'),
  { name: 'sign_ins', label: 'With sign-ins', kind: 'switch', byDefault: false },
];

/** Path of the list on the server, or of its events. */
export function pathOf(filters: Values, events: '' | '/events' = ''): string {
  const query = queryOf(filters);
  if (events === '') query.set('limit', '100');
  else query.delete('since');
  // Each opening of the console in a browser would be among them.
  if (!query.has('sign_ins')) query.set('sign_ins', 'false');
  return `v1/admin/requests${events}?${query}`;
}
