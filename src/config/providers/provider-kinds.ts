import * as v from 'valibot';
import { getOrInsert } from '../../maps.ts';
import { field } from '../../schema/fields.ts';
import type { DeepReadonly } from '../../schema/json.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { MODEL_TYPES, type ProviderKind, type RequestPath } from './provider-kind.ts';
import { concurrency, remote } from './remote-provider.ts';
import { vertex } from './vertex.ts';

const bearerToken = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

/** OpenAI, and other servers with its interface. */
const openai = {
  name: 'openai',
  settings: v.strictObject({
    kind: field(
      v.literal('openai'),
      "Chat completions or responses, by the route's dialect; images, videos, speech, " +
        'transcriptions and moderations too. Many other servers speak the same interface.',
    ),
    ...remote,
    baseUrl: v.optional(remote.baseUrl, 'https://api.openai.com/v1'),
  }),
  modelTypes: MODEL_TYPES,
  dialects: ['chat', 'responses'],
  defaultDialect: 'chat',
  batches: true,
  credentials: bearerToken,
  versionedBaseUrl: true,
  mediaApi: 'openai',
} as const satisfies ProviderKind;

const anthropic = {
  name: 'anthropic',
  settings: v.strictObject({ kind: field(v.literal('anthropic'), 'Messages.'), ...remote }),
  modelTypes: ['text'],
  dialects: ['messages'],
  defaultDialect: 'messages',
  batches: true,
  credentials: (apiKey: string) => ({ 'x-api-key': apiKey }),
  versionedBaseUrl: true,
} as const satisfies ProviderKind;

/** Google's Gemini API. */
const gemini = {
  name: 'gemini',
  genAiName: 'gcp.gemini',
  settings: v.strictObject({
    kind: field(v.literal('gemini'), "Google's generateContent and batchEmbedContents."),
    ...remote,
    baseUrl: v.optional(remote.baseUrl, 'https://generativelanguage.googleapis.com/v1beta'),
  }),
  modelTypes: ['text', 'embedding'],
  dialects: ['gemini'],
  defaultDialect: 'gemini',
  embeddings: 'gemini',
  credentials: (apiKey: string) => ({ 'x-goog-api-key': apiKey }),
  versionedBaseUrl: true,
} as const satisfies ProviderKind;

/** Another gateway with the interface of Oriel. */
const oriel = {
  name: 'oriel',
  settings: v.strictObject({
    kind: field(v.literal('oriel'), 'Another Oriel daemon.'),
    ...remote,
  }),
  modelTypes: MODEL_TYPES,
  credentials: bearerToken,
  versionedBaseUrl: true,
  mediaApi: 'oriel',
} as const satisfies ProviderKind;

/** The embedded models, which fail only if a prompt requests it. */
const sandbox = {
  name: 'sandbox',
  settings: v.strictObject({
    kind: field(v.literal('sandbox'), 'The embedded sandbox.'),
    concurrency,
  }),
  modelTypes: MODEL_TYPES,
  credentials: () => ({}),
  isRetried: false,
  mediaApi: 'sandbox',
} as const satisfies ProviderKind;

/** Every kind of provider. Settings, checks, routing and the headers of requests derive from this list. */
const PROVIDER_KINDS = [openai, anthropic, gemini, azure, bedrock, vertex, oriel, sandbox] as const;

type SettingsOf<Kinds extends readonly { readonly settings: unknown }[]> = {
  [Index in keyof Kinds]: Kinds[Index]['settings'];
};

/** The settings of one provider, discriminated by `kind`. */
export const providerSchema = v.variant(
  'kind',
  PROVIDER_KINDS.map(({ settings }) => settings) as unknown as SettingsOf<typeof PROVIDER_KINDS>,
);

export type Provider = DeepReadonly<v.InferOutput<typeof providerSchema>>;
export type RemoteProvider = Extract<Provider, { readonly baseUrl: string }> & {
  /** Absent where the provider takes none, or tokens in its place. */
  readonly apiKey?: string | undefined;
  readonly apiKeys?: readonly string[] | undefined;
};
type WithMedia = Extract<(typeof PROVIDER_KINDS)[number], { readonly mediaApi: string }>;
export type MediaApi = WithMedia['mediaApi'];

export function findProviderKind(name: unknown): ProviderKind | undefined {
  return PROVIDER_KINDS.find((kind) => kind.name === name);
}

export const kindOf = ({ kind }: Pick<Provider, 'kind'>): ProviderKind => findProviderKind(kind)!;

/** The name of a provider's kind in OpenTelemetry. */
export function genAiNameOf(provider: Pick<Provider, 'kind'>): string {
  return kindOf(provider).genAiName ?? provider.kind;
}

/**
 * The name of a provider of the configuration in OpenTelemetry. Requests that were sent to no provider are
 * answered by Oriel itself.
 */
export function genAiNameIn(
  providers: Readonly<Record<string, Pick<Provider, 'kind'>>>,
  name: string | null,
): string {
  const provider = name === null ? undefined : providers[name];
  return provider === undefined ? 'oriel' : genAiNameOf(provider);
}

/** Whether a provider is on the network. */
export const isRemote = (provider: Provider): provider is RemoteProvider => 'baseUrl' in provider;

/** URL of a request to a provider. */
export function urlOf(provider: RemoteProvider, request: RequestPath): string {
  const { url } = kindOf(provider);
  const address = url === undefined ? provider.baseUrl + request.path : url(provider, request);
  if (provider.query === undefined) return address;
  const query = new URLSearchParams(provider.query).toString();
  return query === '' ? address : `${address}${address.includes('?') ? '&' : '?'}${query}`;
}

/** Headers of every request to a provider: its key, and those that its settings add. */
export function headersOf(provider: RemoteProvider): Readonly<Record<string, string>> {
  const { apiKey, headers } = provider;
  const credentials = apiKey === undefined ? {} : kindOf(provider).credentials(apiKey);
  return headers === undefined ? credentials : { ...credentials, ...headers };
}

/** The dialect of requests to a route: the route's, else that of the provider's kind, else the client's. */
export function dialectFor(
  { dialect, model }: { readonly dialect?: string | undefined; readonly model: string },
  provider: Provider,
  client: string,
): string {
  // The sandbox supports every dialect.
  if (!isRemote(provider)) return client;
  const { dialectOf, defaultDialect } = kindOf(provider);
  return dialect ?? dialectOf?.(model) ?? defaultDialect ?? client;
}

/** Keys of a provider in the order of the configuration, each once. */
export function keysOf(provider: Provider): readonly string[] {
  if (!isRemote(provider)) return [];
  const { apiKey, apiKeys = [] } = provider;
  return [...new Set(apiKey === undefined ? apiKeys : [apiKey, ...apiKeys])];
}

const SECRETS = new WeakMap<Provider, readonly string[]>();

/** What no client and no log may see of a provider: keys, values of headers and query, the proxy's credentials. */
export function secretsOf(provider: Provider): readonly string[] {
  return getOrInsert(SECRETS, provider, () =>
    isRemote(provider) ? [...keysOf(provider), ...otherSecrets(provider)] : [],
  );
}

/** Headers and parameters whose values are none: errors of providers quote some of them. */
const PUBLIC_NAMES = new Set([
  ...['accept', 'anthropic-beta', 'anthropic-version', 'api-version', 'http-referer'],
  ...['openai-beta', 'openai-organization', 'openai-project', 'user-agent', 'x-title'],
]);

function otherSecrets({ headers, query, proxy }: RemoteProvider): readonly string[] {
  const values = Object.entries({ ...headers, ...query }).flatMap(([name, value]) =>
    PUBLIC_NAMES.has(name) ? [] : [value],
  );
  return proxy === undefined ? values : [...values, decodeURIComponent(new URL(proxy).password)];
}
