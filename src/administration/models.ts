import * as v from 'valibot';
import {
  MODEL_TYPES,
  type ModelType,
  PRICED_PROVIDERS,
} from '../config/providers/provider-kind.ts';
import { Failure } from '../failure.ts';
import { boundedText, integer, number, optional, withDefault } from '../schema/fields.ts';
import { listOf, objectOf } from '../schema/untrusted.ts';
import { toCredits } from '../store/credits.ts';
import { defineAdminCommand } from './admin-command.ts';
import { defined, requireChange } from './budget-options.ts';
import {
  catalogChanges,
  catalogRecords,
  modelRecordShape,
  modelTable,
  reasonsOf,
  recordNamed,
  removeCommand,
} from './catalog-records.ts';
import {
  aliasesOrNone,
  credits,
  entryName,
  modelEntryName,
  reasoningOrNone,
  upstreamModel,
} from './fields.ts';

type Json = Readonly<Record<string, unknown>>;

const price = (unit: string) => v.optional(credits(`credits per ${unit}`, '0'));

const text = (maxLength: number, description: string, expects?: string) =>
  optional(boundedText(maxLength), description, {
    expects: expects ?? `a text of at most ${maxLength} characters`,
  });

export const modelSettings = {
  alias: v.optional(aliasesOrNone('other names of the model')),
  priority: optional(
    number(0, 1_000_000),
    'routes of higher priority are tried first; 1 by default',
  ),
  weight: optional(
    number(0, 1_000_000),
    "the route's share of requests among those of its priority",
  ),
  order: optional(v.picklist(['latency', 'cost']), 'which route of a priority is tried first'),
  inputCost: optional(
    number(0),
    'what the provider charges for a million tokens of input, for order cost',
  ),
  outputCost: optional(number(0), 'what it charges for a million tokens of output'),
  routeWindow: optional(
    integer(1),
    'tokens that the route can read, if fewer than those of the model',
  ),
  dialect: text(
    64,
    'wire format of requests to the provider',
    'chat, responses, messages or gemini',
  ),
  inputPrice: price('million tokens of input'),
  cachedInputPrice: price('million tokens of input from a cache'),
  outputPrice: price('million tokens of output'),
  price: price('image, video, search or request, for models of other types'),
  contextWindow: optional(integer(1), 'tokens that it can read'),
  maxOutputTokens: optional(integer(1), 'largest number of tokens in a response'),
  efforts: v.optional(reasoningOrNone('reasoning efforts that requests may ask for')),
  description: text(2000, 'description in the catalog'),
};

export type ModelSettings = v.InferOutput<v.ObjectSchema<typeof modelSettings, undefined>>;

/** Names of the price of one request, by the type of the model. */
const UNIT_PRICES: Partial<Record<ModelType, string>> = {
  image: 'perImage',
  rerank: 'perSearch',
  video: 'perVideo',
};

/** Prices after a change. Tiers of the catalog go with its prices. */
function priceOf(type: ModelType, before: Json, given: ModelSettings): Json {
  const tokens = [
    ['input', given.inputPrice],
    ['cachedInput', given.cachedInputPrice],
    ['output', given.outputPrice],
    [UNIT_PRICES[type] ?? 'perRequest', given.price],
  ] as const;
  const set = tokens.flatMap(([unit, micro]) =>
    micro === undefined ? [] : [[unit, toCredits(micro)] as const],
  );
  const { tiers, ...others } = before;
  return {
    ...others,
    ...(tiers !== undefined && set.length === 0 && { tiers }),
    ...Object.fromEntries(set),
  };
}

/** Settings of a model after a change, without its routes. */
function settingsOf({ aliases, reasoning: known, ...before }: Json, given: ModelSettings): Json {
  const { efforts = known, alias, contextWindow, maxOutputTokens, description, order } = given;
  const named = alias === undefined ? aliases : (alias ?? undefined);
  const price = priceOf(before['type'] as ModelType, objectOf(before['price']), given);
  return {
    ...before,
    ...defined({ contextWindow, maxOutputTokens, description, order, aliases: named }),
    ...defined({ reasoning: efforts ?? undefined }),
    price,
  };
}

/** Settings of a route that a change gives. */
function routeSettings(given: ModelSettings, before: Json = {}): Json {
  const { priority, weight, dialect, routeWindow, inputCost, outputCost } = given;
  const cost = defined({ input: inputCost, output: outputCost });
  const hasCost = Object.keys(cost).length > 0;
  return {
    ...defined({ priority, weight, dialect, contextWindow: routeWindow }),
    ...(hasCost && { cost: { ...objectOf(before['cost']), ...cost } }),
  };
}

/** The options as they are in the audit log: credits as decimals. */
function detailsOf(given: ModelSettings): Json {
  const details = Object.entries(given).map(([name, value]) => {
    const isPrice = typeof value === 'number' && /price$/i.test(name);
    return [name, isPrice ? toCredits(value) : value === null ? 'none' : value];
  });
  return Object.fromEntries(details);
}

/** The route of a provider that is changed or added, and the provider whose routes are removed. */
type RouteChange = ModelSettings & {
  readonly [Name in 'provider' | 'model' | 'without']?: string | undefined;
};

/** The routes of a model after a change. */
function routesOf(before: readonly Json[], change: RouteChange): readonly Json[] {
  const { model, without } = change;
  const isChanged = change.provider ?? model ?? Object.values(routeSettings(change))[0];
  const kept = before.filter((route) => route['provider'] !== without);
  if (without !== undefined && (kept.length === before.length || kept.length === 0)) {
    const problem = kept.length === 0 ? 'the last route cannot be removed' : 'no route is of it';
    throw new Failure('invalid_request', `without: expected a provider of a route; ${problem}`);
  }
  const only = kept.length === 1 ? String(kept[0]!['provider']) : undefined;
  const { provider = only } = change;
  if (isChanged === undefined) return kept;
  if (provider === undefined) {
    throw new Failure('invalid_request', 'provider: expected the one whose route is to be changed');
  }
  const at = kept.findIndex((route) => route['provider'] === provider);
  const name = model ?? kept[at]?.['model'];
  if (name === undefined) {
    const message = "model: expected the provider's name of the model for the new route";
    throw new Failure('invalid_request', message);
  }
  const settings = routeSettings(change, kept[at]);
  const route = { ...kept[at], provider, model: String(name), ...settings };
  return at === -1 ? [...kept, route] : kept.with(at, route);
}

const name = modelEntryName('name that requests use');

const add = defineAdminCommand({
  group: 'models',
  name: 'add',
  summary: 'Offer a model of a provider, with prices and limits of the catalog where it has them',
  positionals: ['name'],
  options: v.strictObject({
    name,
    provider: entryName('name of the provider'),
    model: v.optional(upstreamModel("the provider's name of the model; by default the same")),
    type: optional(
      v.picklist(MODEL_TYPES),
      'type of the model; by default that of the catalog, or text',
    ),
    ...modelSettings,
    pricesOf: optional(
      v.picklist(PRICED_PROVIDERS),
      'provider of the prices in the catalog; by default the one of the address',
    ),
    creditsPerUnit: withDefault(
      number(0.000001, 1_000_000),
      1,
      'credits for a US dollar of the catalog',
    ),
  }),
  result: v.object({ ...modelRecordShape.entries, isPriced: v.boolean() }),
  createsStore: true,
  examples: ['models add tiny --provider play --model chat --alias small'],
  sample: {
    name: 'tiny',
    provider: 'local',
    model: 'llama3',
    inputPrice: '0.1',
    outputPrice: '0.4',
  },
  run: async (store, options, context) => {
    const {
      name: id,
      provider,
      model = id,
      type,
      pricesOf: of,
      creditsPerUnit,
      ...given
    } = options;
    const { catalogModel } = await import('../config/import/price-catalog.ts');
    const changes = await catalogChanges(store, context);
    const known = catalogModel(await changes.provider(provider), model, { of, creditsPerUnit });
    const isKnown = known !== null && (type ?? known.type) === known.type;
    const { isResponses = false, ...found } = isKnown ? known : { type: type ?? 'text', price: {} };
    const dialect = isResponses ? { dialect: 'responses' } : {};
    const routes = [{ provider, model, ...dialect, ...routeSettings(given) }];
    const content = settingsOf({ ...found, routes }, given);
    await changes.add(await changes.newEntry('model', id, content));
    const isPriced = Object.keys(objectOf(content['price'])).length > 0;
    return { ...(await recordNamed(store, context, 'models', id)), isPriced };
  },
  audit: ({ name: id, provider, model = id, type, pricesOf, creditsPerUnit, ...given }) => ({
    object: id,
    details: { provider, model, type, pricesOf, ...detailsOf(given) },
  }),
  show: ({ name: id, isPriced, routes }) => ({
    messages: [
      `model ${id} added, by ${routes.map(({ provider, model }) => `${provider}: ${model}`).join(', ')}`,
      ...(isPriced
        ? []
        : [
            `it has no known price, so it is free; set one with oriel models set ${id} --input-price … --output-price …`,
          ]),
    ],
  }),
});

const list = defineAdminCommand({
  group: 'models',
  name: 'list',
  summary: 'List models of the configuration file and of the store, with their routes and prices',
  options: v.strictObject({}),
  result: v.object({ models: v.array(modelRecordShape) }),
  examples: ['models list'],
  run: async (store, _, context) => {
    const { models } = await catalogRecords(store, context);
    return { models };
  },
  show: ({ models }) => ({ tables: [modelTable(models)], messages: reasonsOf(models) }),
});

const set = defineAdminCommand({
  group: 'models',
  name: 'set',
  summary: 'Change the routes, names, prices and limits of a model of the store',
  positionals: ['name'],
  options: v.strictObject({
    name,
    provider: v.optional(
      entryName('provider whose route is changed, or added if model is given too'),
    ),
    model: v.optional(upstreamModel("that provider's name of the model")),
    without: v.optional(entryName('provider whose routes are removed')),
    ...modelSettings,
  }),
  result: modelRecordShape,
  examples: ['models set tiny --input-price 0.1 --output-price 0.4'],
  sample: { name: 'tiny', maxOutputTokens: 4096 },
  run: async (store, options, context) => {
    requireChange(options, ['name']);
    const { name: id, provider, model, without, ...given } = options;
    const changes = await catalogChanges(store, context);
    await changes.set('model', id, ({ settings }) => {
      const before = listOf(settings['routes']).map(objectOf);
      const routes = routesOf(before, { provider, model, without, ...given });
      return { settings: { ...settingsOf(settings, given), routes } };
    });
    return recordNamed(store, context, 'models', id);
  },
  audit: ({ name: id, provider, model, without, ...given }) => ({
    object: id,
    details: { provider, model, without, ...detailsOf(given) },
  }),
  show: (changed) => ({ messages: [`model ${changed.name} is changed`, ...reasonsOf([changed])] }),
});

const remove = removeCommand('model', {
  summary: 'Remove a model; requests for it are refused from then on',
  example: 'models remove tiny',
  sample: 'tiny',
});

export const MODEL_COMMANDS = [add, list, set, remove];
