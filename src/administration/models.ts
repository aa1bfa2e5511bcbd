import * as v from 'valibot';
import { MODEL_TYPES, PRICED_PROVIDERS } from '../config/providers/provider-kind.ts';
import { field, number } from '../schema/fields.ts';
import { listOf, objectOf } from '../schema/untrusted.ts';
import { defineAdminCommand } from './admin-command.ts';
import { requireChange } from './budget-options.ts';
import {
  catalogChanges,
  catalogRecords,
  modelRecordShape,
  modelTable,
  reasonsOf,
  recordNamed,
  removeCommand,
} from './catalog-records.ts';
import { entryName, modelEntryName, upstreamModel } from './fields.ts';
import { detailsOf, modelSettings, routeOf, routesOf, settingsOf } from './model-options.ts';

const name = modelEntryName('name by which requests ask for it');

const add = defineAdminCommand({
  group: 'models',
  name: 'add',
  summary: 'Offer a model of a provider, with prices and limits of the catalog where it has them',
  positionals: ['name'],
  options: v.strictObject({
    name,
    provider: entryName('name of the provider'),
    model: v.optional(upstreamModel("the provider's name of the model; by default the same")),
    type: v.optional(
      field(v.picklist(MODEL_TYPES), 'what it makes; by default that of the catalog, or text'),
    ),
    ...modelSettings,
    pricesOf: v.optional(
      field(
        v.picklist(PRICED_PROVIDERS),
        'provider of the prices in the catalog; by default the one of the address',
      ),
    ),
    creditsPerUnit: v.optional(
      field(number(0.000001, 1_000_000), 'credits for a US dollar of the catalog'),
      1,
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
    const route = routeOf(provider, model, given);
    const routes = [{ ...(isResponses && { dialect: 'responses' }), ...route }];
    const content = settingsOf({ ...found, routes }, given);
    await changes.add('model', id, { settings: content });
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
            `no price is known for it, so that it is free; set one with oriel models set ${id} --input-price … --output-price …`,
          ]),
    ],
  }),
});

const list = defineAdminCommand({
  group: 'models',
  name: 'list',
  summary: 'List models of the configuration file and of the store, with their routes and prices',
  positionals: [],
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
