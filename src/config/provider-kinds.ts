import * as v from 'valibot';
import { field, integer } from '../schema/fields.ts';
import { httpUrl } from './text.ts';

/** Types of models, by what they make. */
export const MODEL_TYPES = ['text', 'image', 'video', 'audio', 'moderation'] as const;
type ModelType = (typeof MODEL_TYPES)[number];

/** A kind of provider: its settings and its abilities. */
interface ProviderKind {
  readonly name: string;
  readonly settings: v.GenericSchema;
  readonly modelTypes: readonly ModelType[];
  /** Dialects of its routes; null for all. */
  readonly dialects: readonly string[] | null;
  /** Dialect of a route that sets none; null for the client's dialect. */
  readonly defaultDialect: string | null;
  /** Request headers that hold the key. */
  credentials(apiKey: string): Readonly<Record<string, string>>;
  /** Whether failed requests are retried and failing routes are skipped for a while. */
  readonly isRetried: boolean;
  /** Implementation in `media/providers/` for its media; null if it has no media. */
  readonly mediaApi: 'openai' | 'oriel' | 'sandbox' | null;
}

const concurrency = v.optional(field(integer(1, 10_000), 'Media tasks that run on it at once.'), 8);

/** Settings of a provider on the network. */
const remote = {
  baseUrl: field(httpUrl(), 'Base URL of its interface, /v1 included.', {
    secret: 'interpolated',
  }),
  shared: v.optional(
    field(
      v.boolean(),
      'Whether its account serves several clients (the default), which may then not name what is stored ' +
        'there: files, conversations, responses of others. false if all keys here belong to its owner.',
    ),
  ),
  concurrency,
  apiKey: v.optional(
    field(
      v.pipe(v.string(), v.regex(/^[\x21-\x7e]*$/)),
      'Its key; leave it out if it requires none.',
      {
        secret: 'always',
        expects: 'printable ASCII characters without spaces',
      },
    ),
  ),
};

const bearerToken = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

/** OpenAI, and other servers with its interface. */
const openai = {
  name: 'openai',
  settings: v.strictObject({
    kind: field(
      v.literal('openai'),
      "Chat completions or responses, by the route's dialect; images, videos, speech and moderations too. " +
        'Many servers speak the same interface, also those of your own.',
    ),
    ...remote,
  }),
  modelTypes: MODEL_TYPES,
  dialects: ['chat', 'responses'],
  defaultDialect: 'chat',
  credentials: bearerToken,
  isRetried: true,
  mediaApi: 'openai',
} as const satisfies ProviderKind;

const anthropic = {
  name: 'anthropic',
  settings: v.strictObject({ kind: field(v.literal('anthropic'), 'Messages.'), ...remote }),
  modelTypes: ['text'],
  dialects: ['messages'],
  defaultDialect: 'messages',
  credentials: (apiKey: string) => ({ 'x-api-key': apiKey }),
  isRetried: true,
  mediaApi: null,
} as const satisfies ProviderKind;

/** Google's Gemini API. */
const gemini = {
  name: 'gemini',
  settings: v.strictObject({
    kind: field(v.literal('gemini'), "Google's generateContent."),
    ...remote,
    baseUrl: v.optional(remote.baseUrl, 'https://generativelanguage.googleapis.com/v1beta'),
  }),
  modelTypes: ['text'],
  dialects: ['gemini'],
  defaultDialect: 'gemini',
  credentials: (apiKey: string) => ({ 'x-goog-api-key': apiKey }),
  isRetried: true,
  mediaApi: null,
} as const satisfies ProviderKind;

/** Another gateway with the interface of Oriel. */
const oriel = {
  name: 'oriel',
  settings: v.strictObject({
    kind: field(v.literal('oriel'), "Another gateway of Oriel's own interface."),
    ...remote,
  }),
  modelTypes: MODEL_TYPES,
  dialects: null,
  defaultDialect: null,
  credentials: bearerToken,
  isRetried: true,
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
  dialects: null,
  defaultDialect: null,
  credentials: () => ({}),
  isRetried: false,
  mediaApi: 'sandbox',
} as const satisfies ProviderKind;

/** Every kind of provider. Settings, checks, routing and the headers of requests derive from this list. */
const PROVIDER_KINDS = [openai, anthropic, gemini, oriel, sandbox] as const;

type SettingsOf<Kinds extends readonly { readonly settings: unknown }[]> = {
  [Index in keyof Kinds]: Kinds[Index]['settings'];
};

/** The settings of one provider, discriminated by `kind`. */
export const providerSchema = v.variant(
  'kind',
  PROVIDER_KINDS.map(({ settings }) => settings) as unknown as SettingsOf<typeof PROVIDER_KINDS>,
);

export type Provider = Readonly<v.InferOutput<typeof providerSchema>>;
export type RemoteProvider = Extract<Provider, { readonly baseUrl: string }>;
export type MediaApi = NonNullable<(typeof PROVIDER_KINDS)[number]['mediaApi']>;

export function findProviderKind(name: unknown): ProviderKind | undefined {
  return PROVIDER_KINDS.find((kind) => kind.name === name);
}

export function kindOf({ kind }: Pick<Provider, 'kind'>): ProviderKind {
  return findProviderKind(kind)!;
}

/** Whether a provider is on the network. */
export function isRemote(provider: Provider): provider is RemoteProvider {
  return 'baseUrl' in provider;
}

/** The dialect of requests to a route: the route's, else that of the provider's kind, else the client's. */
export function dialectFor(
  { dialect }: { readonly dialect?: string | undefined },
  provider: Provider,
  client: string,
): string {
  // The sandbox supports every dialect.
  if (!isRemote(provider)) return client;
  return dialect ?? kindOf(provider).defaultDialect ?? client;
}
