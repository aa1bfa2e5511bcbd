import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { redactUrl } from '../schema/faults.ts';
import { field, integer } from '../schema/fields.ts';
import type { Store } from '../store/store.ts';
import { defineAdminCommand } from './admin-command.ts';
import { defined, requireChange } from './budget-options.ts';
import type { CatalogContext } from './catalog-context.ts';
import {
  catalogRecords,
  providerShape,
  providerTable,
  reasonsOf,
  recordNamed,
} from './catalog-records.ts';
import { entryName, upstreamModel } from './fields.ts';
import { type TestRecord, test, testLines, testRecord, testShape } from './provider-test.ts';

const changes = async (store: Store, context: CatalogContext) => {
  const { CatalogChanges, checkedProvider } = await import('./catalog-changes.ts');
  return { changes: new CatalogChanges(store, context), checkedProvider };
};

const secret = (description: string, pattern: RegExp, expects: string) =>
  field(v.pipe(v.string(), v.maxLength(4096), v.regex(pattern)), description, {
    secret: 'always',
    expects,
  });

const KEY = /^[\x21-\x7e]+$/;

const name = entryName('name of the provider, of your choice');

const settings = {
  url: v.optional(
    field(
      v.pipe(v.string(), v.maxLength(2048)),
      "base URL of its interface; that of the kind's own service by default",
      {
        secret: 'url',
        expects: 'an http or https URL without credentials, query and fragment',
      },
    ),
  ),
  key: v.optional(
    secret(
      'API key; - reads it from standard input, env:NAME from the environment; none removes it',
      KEY,
      'printable ASCII characters without spaces',
    ),
  ),
  proxy: v.optional(
    secret('HTTP proxy for its requests, or none', KEY, 'an http or https URL, or none'),
  ),
  apiVersion: v.optional(
    field(v.pipe(v.string(), v.maxLength(64)), 'version of the interface of Azure'),
  ),
  concurrency: v.optional(field(integer(1, 10_000), 'media tasks that run at it at once')),
};

type Settings = v.InferOutput<v.ObjectSchema<typeof settings, undefined>>;

/** The settings and secrets after a change; `none` removes a secret. */
function contentOf(
  { url, apiVersion, concurrency, key, proxy }: Settings,
  {
    settings: before,
    secrets,
  }: {
    readonly settings: Readonly<Record<string, unknown>>;
    readonly secrets: Readonly<Record<string, unknown>>;
  },
) {
  const hidden = Object.entries({ ...secrets, ...defined({ apiKey: key, proxy }) });
  return {
    settings: { ...before, ...defined({ baseUrl: url, apiVersion, concurrency }) },
    secrets: Object.fromEntries(hidden.filter(([, value]) => value !== 'none')),
  };
}

/** What the audit log has of the options: never a key. */
const detailsOf = ({ url, apiVersion, concurrency, key, proxy }: Settings) => ({
  ...(url !== undefined && { url: redactUrl(url) }),
  ...{ apiVersion, concurrency },
  ...(key !== undefined && { key: key === 'none' ? 'removed' : 'set' }),
  ...(proxy !== undefined && { proxy: proxy === 'none' ? 'removed' : 'set' }),
});

const BASE_URLS: Readonly<Record<string, string>> = { anthropic: 'https://api.anthropic.com/v1' };

const add = defineAdminCommand({
  group: 'providers',
  name: 'add',
  summary: 'Add a provider; its API key is stored encrypted',
  positionals: ['name'],
  options: v.strictObject({
    name,
    kind: v.optional(
      field(
        v.pipe(v.string(), v.maxLength(64)),
        'its interface; by default the one that its name is',
        {
          expects: 'openai, anthropic, gemini, azure, oriel or sandbox',
        },
      ),
    ),
    ...settings,
    test: v.optional(field(v.boolean(), 'add it only if it answers'), false),
    model: v.optional(upstreamModel('model for the test')),
  }),
  result: v.object({ ...providerShape.entries, test: v.nullable(testShape) }),
  createsStore: true,
  examples: ['providers add play --kind sandbox'],
  sample: { name: 'local', kind: 'openai', url: 'http://127.0.0.1:11434/v1' },
  run: async (store, { name: provider, kind = provider, test, model, ...options }, context) => {
    const { changes: all, checkedProvider } = await changes(store, context);
    const base = { kind, ...(BASE_URLS[kind] && { baseUrl: BASE_URLS[kind] }) };
    const content = contentOf(options, { settings: base, secrets: {} });
    const checked = checkedProvider(content.settings, content.secrets, context);
    let tested: TestRecord | null = null;
    if (test) {
      const { network, testProvider } = context;
      const report = await testProvider({
        provider: checked.provider,
        model: model ?? null,
        network,
      });
      tested = await testRecord(provider, checked.provider, report);
      if (!tested.isWorking) {
        throw new Failure('invalid_request', `not added: ${testLines(tested).join('; ')}`, {
          code: 'provider_test_failed',
        });
      }
    }
    await all.add('provider', provider, checked);
    return { ...(await recordNamed(store, context, 'providers', provider)), test: tested };
  },
  audit: ({ name: provider, kind = provider, test, ...options }) => ({
    object: provider,
    details: { kind, ...detailsOf(options) },
  }),
  show: ({ test, ...provider }) => ({
    messages: [
      ...(test ? testLines(test) : []),
      `provider ${provider.name} added; offer a model of it with oriel models add NAME --provider ${provider.name}`,
    ],
  }),
});

const list = defineAdminCommand({
  group: 'providers',
  name: 'list',
  summary: 'List providers of the configuration file and of the store',
  positionals: [],
  options: v.strictObject({}),
  result: v.object({ providers: v.array(providerShape) }),
  examples: ['providers list'],
  run: async (store, _, context) => {
    const { providers } = await catalogRecords(store, context);
    return { providers };
  },
  show: ({ providers }) => ({ tables: [providerTable(providers)], messages: reasonsOf(providers) }),
});

const set = defineAdminCommand({
  group: 'providers',
  name: 'set',
  summary: 'Change the key, the address or other settings of a provider of the store',
  positionals: ['name'],
  options: v.strictObject({ name, ...settings }),
  result: providerShape,
  examples: ['providers set play --concurrency 4'],
  sample: { name: 'local', concurrency: 4 },
  run: async (store, { name: provider, ...options }, context) => {
    requireChange({ name: provider, ...options }, ['name']);
    const { changes: all, checkedProvider } = await changes(store, context);
    const next = (
      before: Readonly<Record<string, unknown>>,
      secrets: Readonly<Record<string, unknown>> | null,
    ) => {
      if (secrets === null && options.key === undefined) throw keyNeeded(provider);
      const content = contentOf(options, { settings: before, secrets: secrets ?? {} });
      return checkedProvider(content.settings, content.secrets, context);
    };
    await all.set(
      'provider',
      provider,
      next,
      options.key !== undefined || options.proxy !== undefined,
    );
    return recordNamed(store, context, 'providers', provider);
  },
  audit: ({ name: provider, ...options }) => ({ object: provider, details: detailsOf(options) }),
  show: (changed) => ({ messages: [`provider ${changed.name} is changed`] }),
});

function keyNeeded(provider: string): Failure {
  const message = `the API key of ${JSON.stringify(provider)} cannot be decrypted; enter it again with oriel providers set ${provider} --key`;
  return new Failure('service_error', message, { code: 'secrets_unreadable' });
}

/** Its examples come after those of models, which have routes to the provider. */
export const removeProvider = defineAdminCommand({
  group: 'providers',
  name: 'remove',
  summary: 'Remove a provider that no model has a route to',
  positionals: ['name'],
  options: v.strictObject({ name }),
  result: v.object({ name: v.string() }),
  examples: ['providers remove play'],
  sample: { name: 'local' },
  run: async (store, { name: provider }, context) => {
    await (await changes(store, context)).changes.remove('provider', provider);
    return { name: provider };
  },
  audit: ({ name: provider }) => ({ object: provider }),
  show: ({ name: removed }) => ({ messages: [`provider ${removed} is removed`] }),
});

export const PROVIDER_COMMANDS = [add, list, test, set];
