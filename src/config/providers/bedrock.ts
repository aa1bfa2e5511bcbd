import * as v from 'valibot';
import { field, optional, withDefault } from '../../schema/fields.ts';
import type { Authorize } from '../../upstream/response.ts';
import { httpUrl, text } from '../fields/text.ts';
import type { HeaderMap, Json, ProviderKind, RequestPath } from './provider-kind.ts';
import { remote } from './remote-provider.ts';

const DEFAULT_REGION = 'us-east-1';
const DEFAULT_URL = `https://bedrock-runtime.${DEFAULT_REGION}.amazonaws.com`;

const settings = v.strictObject({
  kind: field(
    v.literal('bedrock'),
    "Amazon's cloud. Models named anthropic or claude have the format messages, those of OpenAI " +
      'chat, and those of all other vendors converse. Without an API key, an identity of AWS signs requests.',
  ),
  ...remote,
  baseUrl: withDefault(
    httpUrl(),
    DEFAULT_URL,
    'URL of the service, without a version; by default that of the region.',
    { secret: 'interpolated' },
  ),
  region: optional(
    v.pipe(v.string(), v.regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/)),
    'Region that requests are signed for; by default that of the base URL.',
    { expects: 'a region such as eu-central-1', example: 'eu-central-1' },
  ),
  profile: optional(
    text(),
    "Profile of AWS's shared files, with keys or a role. Unset: the first identity of " +
      'variables, web identity, the default profile, the container and the instance.',
  ),
});

type BedrockSettings = v.InferOutput<typeof settings>;

/** The region in a host: those of services, of FIPS, of private links and of China. */
const REGION_IN_HOST = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d)\./;

/** The vendor in a model's name, also in that of a profile for several regions. */
const VENDOR = /(?:^|\/)(?:(?:global|us-gov|[a-z]{2,4})\.)?([a-z0-9]{3,})\.[^/]+$/;

function dialectOf(model: string): string {
  if (/anthropic|claude/i.test(model)) return 'messages';
  const vendor = VENDOR.exec(model)?.[1] ?? 'openai';
  return vendor === 'openai' ? 'chat' : 'converse';
}

/** A request to Bedrock, by its REST reference: by Claude's own interface, by Converse or by OpenAI's. */
function url(provider: BedrockSettings, { path, model, stream }: RequestPath): string {
  const { baseUrl, region = DEFAULT_REGION } = provider;
  const server = baseUrl === DEFAULT_URL ? baseUrl.replace(DEFAULT_REGION, region) : baseUrl;
  // The list of models is an interface of another host.
  if (path === '/models')
    return `${server.replace('bedrock-runtime', 'bedrock')}/foundation-models`;
  if (path.startsWith('/model/')) return server + path;
  if (path !== '/messages') return `${server}/openai/v1${path}`;
  const action = stream ? 'invoke-with-response-stream' : 'invoke';
  return `${server}/model/${encodeURIComponent(model)}/${action}`;
}

/** Betas that Bedrock knows, without their dates: it refuses requests with any other. */
const BETAS =
  /^(?:computer-use|token-efficient-tools|interleaved-thinking|output-128k|dev-full-thinking|context-1m|context-management|effort|tool-search-tool|tool-examples|fine-grained-tool-streaming|compact)-\d{4}-\d\d-\d\d$/;

const BETA = 'anthropic-beta';

/** The body of a request for Claude, which names neither the model nor the stream, and names version and betas. */
function body(given: Json, { path }: RequestPath, headers: HeaderMap, provider: BedrockSettings) {
  if (path !== '/messages') return given;
  const { model: _, stream: __, ...own } = given;
  const [asked, configured] = [headers, provider.headers].map((one) =>
    one?.[BETA]?.split(/\s*,\s*/),
  );
  const isSent = (name: string) => BETAS.test(name) || configured?.includes(name);
  const betas = [...new Set(asked)].filter(isSent);
  delete headers[BETA];
  delete headers['anthropic-version'];
  const named = betas.length > 0 && { anthropic_beta: betas };
  return { anthropic_version: 'bedrock-2023-05-31', ...named, ...own };
}

function authorize(provider: BedrockSettings): Authorize {
  const { apiKey, profile, proxy, baseUrl } = provider;
  const [, named = DEFAULT_REGION] = REGION_IN_HOST.exec(new URL(baseUrl).hostname) ?? [];
  const region = provider.region ?? named;
  const identity = apiKey === undefined ? { profile, region, proxy } : null;
  return async (...request) => {
    // Commands that ask no provider do not load it.
    const { authorizeAws } = await import('../../upstream/aws/authorize.ts');
    return authorizeAws(identity, ...request);
  };
}

/** Claude, Nova, Llama and other models in Amazon's cloud. */
export const bedrock = {
  name: 'bedrock',
  genAiName: 'aws.bedrock',
  settings,
  modelTypes: ['text'],
  dialects: ['messages', 'converse', 'chat'],
  defaultDialect: 'messages',
  dialectOf,
  credentials: (apiKey: string) => ({ authorization: `Bearer ${apiKey}` }),
  url,
  body,
  authorize,
  countsTokens: false,
} as const satisfies ProviderKind;
