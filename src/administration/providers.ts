import * as v from 'valibot';
import { KIND_NAMES } from '../config/providers/provider-kind.ts';
import { codedFailure } from '../failure.ts';
import { redactUrl } from '../schema/faults.ts';
import { field, integer, optional, withDefault } from '../schema/fields.ts';
import { invalid } from '../schema/invalid.ts';
import type { ConfigEntry } from '../store/config-entry.ts';
import { defineAdminCommand } from './admin-command.ts';
import { defined, requireChange } from './budget-options.ts';
import {
  catalogChanges,
  catalogRecords,
  providerShape,
  providerTable,
  reasonsOf,
  recordNamed,
  removeCommand,
} from './catalog-records.ts';
import { entryName, upstreamModel } from './fields.ts';
import { type TestRecord, test, testLines, testRecord, testShape } from './provider-test.ts';

const secret = (description: string, pattern: RegExp, expects: string) =>
  field(v.pipe(v.string(), v.maxLength(4096), v.regex(pattern)), description, {
    secret: 'always',
    expects,
  });

type Json = Readonly<Record<string, unknown>>;

const KEY = /^[\x21-\x7e]+$/;

const name = entryName('name for the provider');

const setting = (description: string) => field(v.pipe(v.string(), v.maxLength(1024)), description);

const settings = {
  url: optional(
    v.pipe(v.string(), v.maxLength(2048)),
    "base URL; by default that of the kind's own service",
    {
      secret: 'url',
      expects: 'an http or https URL without credentials, query and fragment',
    },
  ),
  key: v.optional(
    secret('API key; none removes it', KEY, 'printable ASCII characters without spaces'),
  ),
  proxy: v.optional(
    secret('HTTP proxy for its requests, or none', KEY, 'an http or https URL, or none'),
  ),
  apiVersion: v.optional(setting('version of the interface of Azure')),
  region: v.optional(setting('region of Bedrock, such as eu-central-1')),
  profile: v.optional(setting("profile of the server's AWS files for Bedrock")),
  project: v.optional(setting('project of Vertex')),
  location: v.optional(setting('location of Vertex, such as europe-west1')),
  keyFile: v.optional(setting("the server's file with a service account's key for Vertex")),
  concurrency: optional(integer(1, 10_000), 'media tasks that it runs at once'),
};

type Settings = v.InferOutput<v.ObjectSchema<typeof settings, undefined>>;

/** The settings and secrets after a change; `none` removes a secret. */
function contentOf(
  { url, key, proxy, ...others }: Settings,
  { settings: before, secrets }: Readonly<Record<'settings' | 'secrets', Json>>,
) {
  const hidden = Object.entries({ ...secrets, ...defined({ apiKey: key, proxy }) });
  return {
    settings: { ...before, ...defined({ baseUrl: url, ...others }) },
    secrets: Object.fromEntries(hidden.filter(([, value]) => value !== 'none')),
  };
}

/** What the audit log has of the options: never a key. */
const detailsOf = ({ url, key, proxy, ...others }: Settings) => ({
  ...(url !== undefined && { url: redactUrl(url) }),
  ...others,
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
    kind: optional(v.picklist(KIND_NAMES), 'kind of its interface; by default its name'),
    ...settings,
    test: withDefault(v.boolean(), false, 'add it only if it answers'),
    model: v.optional(upstreamModel('model for the test')),
  }),
  result: v.object({ ...providerShape.entries, test: v.nullable(testShape) }),
  createsStore: true,
  examples: ['providers add play --kind sandbox'],
  sample: { name: 'local', kind: 'openai', url: 'http://127.0.0.1:11434/v1' },
  run: async (store, { name: provider, kind = provider, test, model, ...options }, context) => {
    if (!(KIND_NAMES as readonly string[]).includes(kind)) {
      const names = KIND_NAMES.join(', ');
      const message = `expected one of ${names}, received nothing, and "${provider}" is the name of none`;
      throw invalid('kind', message);
    }
    const changes = await catalogChanges(store, context);
    const base = { kind, ...(BASE_URLS[kind] && { baseUrl: BASE_URLS[kind] }) };
    const content = contentOf(options, { settings: base, secrets: {} });
    const checked = changes.checked(content.settings, content.secrets);
    // Before the test, which counts for the health of the provider with this name.
    const entry = await changes.newEntry('provider', provider, checked.settings);
    let tested: TestRecord | null = null;
    if (test) {
      tested = await testRecord(context, {
        ...{ name: provider, provider: checked.provider, model: model ?? null },
      });
      if (!tested.isWorking) {
        throw codedFailure('provider_test_failed', `not added: ${testLines(tested).join('; ')}`);
      }
    }
    await changes.add(entry, checked.secrets);
    return { ...(await recordNamed(store, context, 'providers', provider)), test: tested };
  },
  audit: ({ name: provider, kind = provider, test, ...options }) => ({
    object: provider,
    details: { kind, ...detailsOf(options) },
  }),
  show: ({ test, ...provider }) => ({
    messages: [
      ...(test ? testLines(test) : []),
      `provider ${provider.name} added; offer its models with oriel models add NAME --provider ${provider.name}`,
    ],
  }),
});

const list = defineAdminCommand({
  group: 'providers',
  name: 'list',
  summary: 'List providers of the configuration file and of the store',
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
    const changes = await catalogChanges(store, context);
    const { key: apiKey, proxy } = options;
    const isSecret = (value: string | undefined) => value !== undefined && value !== 'none';
    const next = ({ settings: before, secrets: sealed }: ConfigEntry, secrets: Json | null) => {
      const names = sealed?.names ?? ['apiKey'];
      const lost = [
        ...(apiKey === undefined && names.includes('apiKey') ? ['--key'] : []),
        ...(proxy === undefined && names.includes('proxy') ? ['--proxy'] : []),
      ].join(' and ');
      if (secrets === null && lost !== '') {
        const message = `the secrets of ${JSON.stringify(provider)} cannot be decrypted; enter them again with ${lost} of oriel providers set`;
        throw codedFailure('secrets_unreadable', message);
      }
      const content = contentOf(options, { settings: before, secrets: secrets ?? {} });
      return changes.checked(content.settings, content.secrets);
    };
    await changes.set('provider', provider, next, isSecret(apiKey) || isSecret(proxy));
    return recordNamed(store, context, 'providers', provider);
  },
  audit: ({ name: provider, ...options }) => ({ object: provider, details: detailsOf(options) }),
  show: (changed) => ({
    messages: [`provider ${changed.name} is changed`, ...reasonsOf([changed])],
  }),
});

/** Its examples come after those of models, which have routes to the provider. */
export const removeProvider = removeCommand('provider', {
  summary: 'Remove a provider that no model has a route to',
  example: 'providers remove play',
  sample: 'local',
});

export const PROVIDER_COMMANDS = [add, list, test, set];
