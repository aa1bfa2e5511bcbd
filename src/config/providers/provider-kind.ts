import type * as v from 'valibot';
import type { Authorize } from '../../upstream/response.ts';

/** Types of models, by what they make. */
export const MODEL_TYPES = [
  'text',
  'embedding',
  'rerank',
  'image',
  'video',
  'audio',
  'transcription',
  'moderation',
] as const;
export type ModelType = (typeof MODEL_TYPES)[number];

/** Names of the kinds of providers. */
export const KIND_NAMES = [
  'openai',
  'anthropic',
  'gemini',
  'azure',
  'bedrock',
  'vertex',
  'oriel',
  'sandbox',
] as const;

/** Names of providers in the catalog of prices. */
export const PRICED_PROVIDERS = [
  'openai',
  'anthropic',
  'gemini',
  'xai',
  'deepseek',
  'moonshot',
] as const;

export type Json = Readonly<Record<string, unknown>>;

export type HeaderMap = Record<string, string>;

/** What kinds read of a provider's settings, beside settings of their own. */
type BaseUrl = { readonly baseUrl: string };

/** A request to a provider, as a dialect or a media implementation addresses it. */
export interface RequestPath {
  /** Path below the base URL of OpenAI's interface, or of the dialect: `/chat/completions`. */
  readonly path: string;
  /** The provider's name of the model. */
  readonly model: string;
  /** Whether the answer is streamed. */
  readonly stream?: boolean;
}

/** A kind of provider: its settings and its abilities. */
export interface ProviderKind {
  readonly name: (typeof KIND_NAMES)[number];
  /** The name of its providers in OpenTelemetry (`gen_ai.provider.name`), where that is not its own. */
  readonly genAiName?: string;
  readonly settings: v.GenericSchema;
  readonly modelTypes: readonly ModelType[];
  /** Dialects of its routes; absent for all. */
  readonly dialects?: readonly string[];
  /** Dialect of a route that sets none; absent for the client's dialect. */
  readonly defaultDialect?: string;
  /** The same where it depends on the model. */
  dialectOf?(model: string): string;
  /** Format of its requests for embeddings where that is not OpenAI's. */
  readonly embeddings?: 'gemini';
  /** Whether it runs batches: by files in OpenAI's format, inline in that of messages. */
  readonly batches?: true;
  /** Request headers that hold the key. */
  credentials(apiKey: string): Readonly<Record<string, string>>;
  /** URL of a request, its query included, where that is not the base URL and the path. */
  url?(provider: BaseUrl, request: RequestPath): string;
  /**
   * Body of a request, where it is not that of the dialect.
   *
   * @param headers of the request, which it may change
   */
  body?(body: Json, request: RequestPath, headers: HeaderMap, provider: BaseUrl): Json;
  /** What a request needs beyond the headers that all requests have: a token, or a signature. */
  authorize?(provider: BaseUrl): Authorize;
  /** False where requests of its formats cannot be counted. */
  readonly countsTokens?: false;
  /** Whether its base URLs name the version of the interface, as /v1 does. */
  readonly versionedBaseUrl?: true;
  /** False where failed requests are not retried, and failing routes are not skipped for a while. */
  readonly isRetried?: false;
  /** Implementation in `media/providers/` for its media; absent if it has no media. */
  readonly mediaApi?: string;
}
