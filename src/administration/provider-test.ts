import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import type { Store } from '../store/store.ts';
import { counted } from '../words.ts';
import { defineAdminCommand } from './admin-command.ts';
import { type CatalogContext, type ProviderTest, testFields } from './catalog-context.ts';
import { catalogChanges, catalogRecords } from './catalog-records.ts';
import { entryName, upstreamModel } from './fields.ts';

export const testShape = v.object({
  name: v.string(),
  isWorking: v.boolean(),
  offered: field(
    v.nullable(
      v.array(v.object({ name: v.string(), price: v.nullable(v.record(v.string(), v.unknown())) })),
    ),
    'models that it offers, with prices of the catalog; null where it has no list',
  ),
  ...testFields,
});
export type TestRecord = v.InferOutput<typeof testShape>;

/** Models of a report; some providers offer thousands. */
const MAX_OFFERED = 1000;

/** Tests a provider, and finds prices of what it offers. */
export async function testRecord(
  context: CatalogContext,
  test: Omit<ProviderTest, 'network'>,
): Promise<TestRecord> {
  const { name, provider } = test;
  const { offered, cause, ...report } = await context.testProvider({
    ...test,
    network: context.network,
  });
  const { catalogModel } = await import('../config/import/price-catalog.ts');
  const models = offered?.slice(0, MAX_OFFERED).map((one) => {
    return { name: one, price: catalogModel(provider, one, {})?.price ?? null };
  });
  return { name, isWorking: cause === null, offered: models ?? null, ...report };
}

export function testLines({
  name: provider,
  offered,
  listFault,
  model,
  answer,
  fault,
  advice,
}: TestRecord) {
  const list = offered
    ? `${provider} offers ${counted(offered.length, 'model')}`
    : `${provider} has no list of models: ${listFault}`;
  if (fault === null) return [list, `${model} answered: ${answer}`];
  return [
    ...(listFault === fault ? [] : [list]),
    `${provider}${model === null ? '' : `, asked for ${model},`} failed: ${fault}`,
    ...(advice === null ? [] : [advice]),
  ];
}

/** A model of the catalog with a route to a provider, to test it. */
async function modelOf(store: Store, context: CatalogContext, provider: string) {
  const { models } = await catalogRecords(store, context);
  const routes = models
    .filter(({ type, status }) => type === 'text' && status !== 'shadowed')
    .flatMap(({ routes: all }) => all);
  return routes.find((route) => route.provider === provider && !route.model.includes('*'));
}

export const test = defineAdminCommand({
  group: 'providers',
  name: 'test',
  summary: 'Ask a provider for its models and for one short answer',
  positionals: ['name'],
  options: v.strictObject({
    name: entryName('name of the provider'),
    model: v.optional(
      upstreamModel(
        "the provider's name of a model; by default one with a route to it, or one that it offers",
      ),
    ),
  }),
  result: testShape,
  examples: ['providers test play'],
  sample: { name: 'local' },
  run: async (store, { name: provider, model }, context) => {
    const found = await (await catalogChanges(store, context)).provider(provider);
    const route = model === undefined ? await modelOf(store, context, provider) : undefined;
    return testRecord(context, {
      ...{ name: provider, provider: found },
      model: model ?? route?.model ?? null,
      dialect: route?.dialect ?? undefined,
    });
  },
  audit: ({ name: provider, model }, result) => ({
    object: provider,
    details: { model: result?.model ?? model, working: result?.isWorking },
  }),
  show: (result) => ({ messages: testLines(result), exitCode: result.isWorking ? 0 : 1 }),
});
