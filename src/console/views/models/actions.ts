import type { ModelRecord, ProviderRecord } from '../../../administration/catalog-records.ts';
import type { TestRecord } from '../../../administration/provider-test.ts';
import type { SnakeCased } from '../../../http/owner/commands.ts';
import type { Action } from '../accounts/action-dialog.tsx';
import { changeOf, endOf } from '../accounts/actions.ts';
import { type ActionField, named, rare } from '../accounts/declared-fields.ts';

export type Provider = SnakeCased<ProviderRecord>;
export type Model = SnakeCased<ModelRecord>;

/** What a provider answered to a test. */
export type Test = SnakeCased<TestRecord>;

const KEY = { name: 'key', label: 'API key', hint: 'Stored encrypted, and never shown again.' };

/** Settings that few providers need. */
const SETTINGS = [
  ...['proxy', 'api_version', 'region', 'profile'],
  ...['project', 'location', 'key_file', 'concurrency'],
];

export const addProvider: Action = {
  title: 'Add a provider',
  command: ['providers/add', {}],
  button: 'Add provider',
  isQuiet: true,
  fields: [
    { name: 'kind', value: 'openai', hint: 'Most servers have the interface of OpenAI.' },
    { name: 'name', hint: 'Your name for it: letters, digits and . _ : / @ + -' },
    KEY,
    {
      name: 'url',
      label: 'Base URL',
      hint: 'Empty for the service of OpenAI, Anthropic or Google itself.',
    },
    { name: 'test', label: 'Add it only if it answers a test', value: 'true', hint: '' },
    {
      ...{ name: 'model', label: 'Model for the test', isRare: true },
      hint: 'Needed where the provider has no list of models.',
    },
    ...rare(...SETTINGS),
  ],
};

const UNCHANGED = 'An empty field changes nothing.';

export function changeProvider({ name, base_url: url }: Provider): Action {
  const fields = [
    { ...KEY, hint: 'Replaces the key that is stored. “none” removes it.' },
    { name: 'url', label: 'Base URL', value: url ?? '' },
    ...rare(...SETTINGS),
  ];
  return changeOf(name, ['providers/set', { name }], fields, UNCHANGED);
}

const PRICES = ['input_price', 'output_price'];
const RARE_PRICES = ['cached_input_price', 'price'];
const ROUTING = ['weight', 'order', 'input_cost', 'output_cost', 'route_window'];
const LIMITS = ['context_window', 'max_output_tokens', 'efforts', 'description'];

/** @param providers names to choose from */
export function addModel(providers: readonly string[]): Action {
  return {
    title: 'Add a model',
    command: ['models/add', {}],
    button: 'Add model',
    text: 'Prices and limits are those of the catalog, where it has the model.',
    fields: [
      { name: 'provider', value: providers[0] ?? '', choices: providers, hint: '' },
      ...named('name', 'model', 'alias', ...PRICES),
      ...rare('type', 'priority', 'dialect', ...ROUTING, ...RARE_PRICES, ...LIMITS),
      ...rare('prices_of', 'credits_per_unit'),
    ],
  };
}

/** @param providers names to choose from */
export function changeModel(model: Model, providers: readonly string[]): Action {
  const { name, aliases, price } = model;
  const known: Readonly<Record<string, unknown>> = {
    ...model,
    alias: aliases.join(','),
    input_price: price['input'],
    output_price: price['output'],
    cached_input_price: price['cached_input'],
    price: price['per_image'] ?? price['per_video'] ?? price['per_request'],
  };
  const withValue = (field: ActionField) => ({ ...field, value: String(known[field.name] ?? '') });
  const fields = [
    ...named('alias', ...PRICES).map(withValue),
    { name: 'provider', label: 'Route by', choices: [['', 'no change'] as const, ...providers] },
    ...named('model', 'priority'),
    ...rare('dialect', 'without', ...ROUTING),
    ...rare(...RARE_PRICES, ...LIMITS).map(withValue),
  ];
  return changeOf(name, ['models/set', { name }], fields, UNCHANGED);
}

/** The removal of an entry of the store. */
export function removal(group: 'providers' | 'models', name: string): Action {
  const text =
    group === 'models'
      ? 'Requests for it are refused from now on.'
      : 'Its key is deleted. Models that have a route to it must be removed first.';
  const kind = group.slice(0, -1);
  return endOf(`Remove ${name}`, [`${group}/remove`, { name }], `Remove ${kind}`, text);
}

/** The price of a model in a few words: `1.25 in, 10 out`. */
export function priceText(price: Model['price'] | null): string {
  const names = { input: 'in', output: 'out', per_image: 'an image', per_video: 'a video' };
  const known = { ...names, per_request: 'a request' };
  const shown = Object.entries(known).flatMap(([name, text]) => {
    const amount = price?.[name];
    return typeof amount === 'number' ? [`${amount} ${text}`] : [];
  });
  return shown.join(', ');
}
