import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import type { ConfigKind } from '../store/config-entry.ts';
import type { Store } from '../store/store.ts';
import { defineAdminCommand } from './admin-command.ts';
import type { CatalogContext } from './catalog-context.ts';
import { entryName, modelEntryName } from './fields.ts';
import { tableOf } from './tables.ts';

const STATUSES = ['in force', 'shadowed', 'unavailable'] as const;

/** Where an entry comes from, and whether it is in force. */
const origin = {
  source: field(v.picklist(['file', 'store']), 'a file is changed there, not here'),
  place: field(v.nullable(v.string()), 'file and line; null for the store'),
  status: v.picklist(STATUSES),
  reason: field(v.nullable(v.string()), 'why it is not in force'),
};

/** A provider without its secrets. */
export const providerShape = v.object({
  name: v.string(),
  kind: v.string(),
  baseUrl: field(v.nullable(v.string()), 'null where it has none, or a secret one'),
  hint: field(v.nullable(v.string()), 'end of the API key; null for a file'),
  models: field(v.array(v.string()), 'models with a route to it'),
  ...origin,
});
export type ProviderRecord = v.InferOutput<typeof providerShape>;

const routeShape = v.object({
  provider: v.string(),
  model: field(v.string(), "the provider's name of the model"),
  priority: v.number(),
  weight: v.nullable(v.number()),
  dialect: v.nullable(v.string()),
});

export const modelRecordShape = v.object({
  name: v.string(),
  type: v.string(),
  aliases: v.array(v.string()),
  routes: v.array(routeShape),
  price: field(v.record(v.string(), v.unknown()), 'credits'),
  contextWindow: v.nullable(v.number()),
  maxOutputTokens: v.nullable(v.number()),
  ...origin,
});
export type ModelRecord = v.InferOutput<typeof modelRecordShape>;

type Origin = Pick<ProviderRecord, keyof typeof origin>;

/** Providers and models of the file and then those of the store, in their orders. */
export async function catalogRecords(
  store: Store,
  { file, secretKeyFile }: CatalogContext,
): Promise<{ readonly providers: ProviderRecord[]; readonly models: ModelRecord[] }> {
  const [{ keyOfEntry, mergeStored, placeInFile }, { listOf, objectOf, textOf }] =
    await Promise.all([
      import('../config/stored/merge-stored.ts'),
      import('../schema/untrusted.ts'),
    ]);
  const entries = await store.listConfigEntries();
  const { faults, replacesSandbox } = mergeStored(file, entries, secretKeyFile);

  const { value, isSandbox, document } = file.settings;
  const isReplaced = isSandbox && replacesSandbox;
  const all = (kind: ConfigKind) => [
    ...Object.entries(isReplaced ? {} : objectOf(value[`${kind}s`])).map(([name, settings]) => {
      const place = placeInFile(file, kind, name) ?? 'the sandbox';
      const from: Origin = { source: 'file', place, status: 'in force', reason: null };
      return { name, settings: objectOf(settings), hint: null, from };
    }),
    ...entries.flatMap((entry) => {
      if (entry.kind !== kind) return [];
      const { status = 'in force', reason = null } = faults.get(keyOfEntry(entry)) ?? {};
      const from: Origin = { source: 'store', place: null, status, reason };
      return [{ ...entry, settings: objectOf(entry.settings), from }];
    }),
  ];

  const numberOrNull = (one: unknown) => (typeof one === 'number' ? one : null);
  const models = all('model').map(({ name, settings, from }): ModelRecord => {
    const routes = listOf(settings['routes']).map(objectOf);
    return {
      name,
      type: textOf(settings['type']),
      aliases: listOf(settings['aliases']).map(String),
      routes: routes.map((route) => ({
        provider: textOf(route['provider']),
        model: textOf(route['model']),
        priority: numberOrNull(route['priority']) ?? 1,
        weight: numberOrNull(route['weight']),
        dialect: textOf(route['dialect']) || null,
      })),
      price: { ...objectOf(settings['price']) },
      contextWindow: numberOrNull(settings['contextWindow']),
      maxOutputTokens: numberOrNull(settings['maxOutputTokens']),
      ...from,
    };
  });
  const providers = all('provider').map(({ name, settings, hint, from }) => {
    // A URL of an environment variable may be secret.
    const isSecret =
      from.source === 'file' && document.variables(['providers', name, 'baseUrl']).length > 0;
    const uses = ({ routes, status }: ModelRecord) =>
      status !== 'shadowed' && routes.some(({ provider }) => provider === name);
    return {
      name,
      kind: textOf(settings['kind']),
      baseUrl: isSecret ? null : textOf(settings['baseUrl']) || null,
      hint,
      models: models.filter(uses).map((model) => model.name),
      ...from,
    };
  });
  return { providers, models };
}

const sourceOf = ({ place, status }: Pick<ProviderRecord, 'place' | 'status'>) =>
  status === 'in force' ? (place ?? 'store') : `store, ${status}`;

const many = (names: readonly string[]) => names.join(', ') || '-';

export const providerTable = tableOf<ProviderRecord>({
  NAME: [({ name }) => name, { minWidth: 8 }],
  KIND: [({ kind }) => kind, { dropOrder: 3 }],
  URL: [({ baseUrl }) => baseUrl ?? '-', { minWidth: 12, dropOrder: 1 }],
  KEY: [({ hint }) => hint ?? '-', { dropOrder: 2 }],
  SOURCE: [sourceOf, {}],
  MODELS: [({ models }) => many(models), { minWidth: 8, dropOrder: 0 }],
});

const priceText = (price: ModelRecord['price']) =>
  many(
    Object.entries({ input: null, output: null, ...price }).flatMap(([name, one]) =>
      one && !Array.isArray(one) ? `${name} ${one}` : [],
    ),
  );

export const modelTable = tableOf<ModelRecord>({
  NAME: [({ name }) => name, { minWidth: 8 }],
  TYPE: [({ type }) => type, { dropOrder: 3 }],
  ALIASES: [({ aliases }) => many(aliases), { minWidth: 8, dropOrder: 1 }],
  ROUTES: [
    ({ routes }) =>
      many(
        routes
          .toSorted((one, other) => other.priority - one.priority)
          .map(({ provider, model }) => `${provider}: ${model}`),
      ),
    { minWidth: 12, dropOrder: 4 },
  ],
  PRICE: [({ price }) => priceText(price), { minWidth: 8, dropOrder: 0, cut: 'end' }],
  SOURCE: [sourceOf, {}],
});

/** The reasons of what is not in force, for standard error. */
export function reasonsOf(records: readonly (ProviderRecord | ModelRecord)[]): readonly string[] {
  return records.flatMap(({ name, reason }) => (reason === null ? [] : `${name}: ${reason}`));
}

/** The record of an entry after a change. */
export async function recordNamed<Kind extends 'providers' | 'models'>(
  store: Store,
  context: CatalogContext,
  kind: Kind,
  name: string,
) {
  const records = (await catalogRecords(store, context))[kind] as (Kind extends 'providers'
    ? ProviderRecord
    : ModelRecord)[];
  return records.findLast((one) => one.name === name)!;
}

/** The changes of providers and models, whose modules other commands do not load. */
export async function catalogChanges(store: Store, context: CatalogContext) {
  const { CatalogChanges } = await import('./catalog-changes.ts');
  return new CatalogChanges(store, context);
}

export function removeCommand(
  kind: ConfigKind,
  { summary, example, sample }: Readonly<Record<'summary' | 'example' | 'sample', string>>,
) {
  const name = (kind === 'model' ? modelEntryName : entryName)(`name of the ${kind}`);
  return defineAdminCommand({
    ...{ group: `${kind}s` as const, name: 'remove', summary, positionals: ['name'] },
    options: v.strictObject({ name }),
    result: v.object({ name: v.string() }),
    examples: [example],
    sample: { name: sample },
    run: async (store, options, context) => {
      await (await catalogChanges(store, context)).remove(kind, options.name);
      return options;
    },
    audit: (options) => ({ object: options.name }),
    show: (removed) => ({ messages: [`${kind} ${removed.name} is removed`] }),
  });
}
