import * as v from 'valibot';
import { field, optional, withDefault } from '../../schema/fields.ts';
import { isObject, objectsOf } from '../../schema/untrusted.ts';
import { type GoogleIdentity, googleTokens } from '../../upstream/google-tokens.ts';
import type { Authorize, UpstreamResponse } from '../../upstream/response.ts';
import { identifier, text } from '../fields/text.ts';
import type { Json, ProviderKind, RequestPath } from './provider-kind.ts';
import { remote } from './remote-provider.ts';

const GLOBAL_URL = 'https://aiplatform.googleapis.com';

type Settings = Readonly<Record<'baseUrl' | 'project' | 'location', string>>;

/** A request to Vertex, by its REST reference: the path names the publisher of the model, and what is asked of it. */
function url(settings: Settings, { path, model, stream }: RequestPath): string {
  const { baseUrl, project, location } = settings;
  const isRegional = baseUrl === GLOBAL_URL && location !== 'global';
  const server = isRegional ? `https://${location}-aiplatform.googleapis.com` : baseUrl;
  if (path === '/models') return `${server}/v1beta1/publishers/google/models`;
  const parent = `${server}/v1/projects/${project}/locations/${location}`;
  if (path === '/chat/completions') return `${parent}/endpoints/openapi${path}`;
  if (path.startsWith('/messages')) {
    const name = path === '/messages' ? encodeURIComponent(model) : 'count-tokens';
    const method = stream ? 'streamRawPredict' : 'rawPredict';
    return `${parent}/publishers/anthropic/models/${name.replace('%40', '@')}:${method}`;
  }
  // Tuned models are endpoints of the project.
  return parent + (path.startsWith('/models/') ? `/publishers/google${path}` : path);
}

/** Models that give their calls no identifiers, and whose requests may hold none. */
const WITHOUT_IDS = /^gemini-[12]/;

/** The body of a request: Vertex requires some fields that the services with the same formats do not, and refuses others. */
function body(given: Json, { path, model }: RequestPath): Json {
  if (path.startsWith('/messages')) {
    const { model: _, ...rest } = given;
    const named = path === '/messages' ? rest : given;
    return { anthropic_version: 'vertex-2023-10-16', ...named };
  }
  if (path === '/chat/completions') return given;
  const { generateContentRequest: whole } = given;
  if (isObject(whole)) {
    // The fields that countTokens takes.
    const { contents, systemInstruction, tools, generationConfig } = whole;
    return body({ contents, systemInstruction, tools, generationConfig }, { path, model });
  }
  const { contents: turns, ...rest } = given;
  const contents = objectsOf(turns).map(({ parts, ...content }) => ({
    role: 'user',
    ...content,
    parts: WITHOUT_IDS.test(model) ? objectsOf(parts).map(withoutId) : parts,
  }));
  return { contents, ...rest };
}

function withoutId(part: Json): Json {
  const named = ['functionCall', 'functionResponse'].find((name) => isObject(part[name]));
  if (named === undefined) return part;
  const { id: _, ...rest } = part[named] as Json;
  return { ...part, [named]: rest };
}

const TOKENS = new WeakMap<object, ReturnType<typeof googleTokens>>();

function authorize(provider: GoogleIdentity & Settings): Authorize {
  const tokens = TOKENS.get(provider) ?? googleTokens(provider);
  TOKENS.set(provider, tokens);
  return async (_url, _request, upstream) => {
    const current = await tokens.take(upstream);
    const { token } = current;
    const read = (response: UpstreamResponse) => {
      if (response.status < 400) return response;
      if (response.status === 401) tokens.forget(current);
      const bytes = response.bytes.bind(response);
      const withoutToken = async (limit: number) =>
        Buffer.from(String(await bytes(limit)).replaceAll(token, '…'));
      return Object.assign(response, { bytes: withoutToken });
    };
    return { headers: { authorization: `Bearer ${token}` }, read };
  };
}

const { apiKey: _, apiKeys: __, ...keyless } = remote;

/** Gemini, Claude and open models in Google's cloud. */
export const vertex = {
  name: 'vertex',
  genAiName: 'gcp.vertex_ai',
  settings: v.strictObject({
    kind: field(
      v.literal('vertex'),
      "Gemini, Claude and others in Google's cloud. Models named claude-… have the format messages.",
    ),
    ...keyless,
    baseUrl: v.optional(remote.baseUrl, GLOBAL_URL),
    project: field(identifier(), 'Identifier of the project.'),
    location: withDefault(identifier(), 'global', 'A region, such as europe-west1.'),
    keyFile: optional(
      text(),
      "File with a service account's key. Unset: the machine's, by Google's metadata server.",
    ),
  }),
  modelTypes: ['text'],
  dialects: ['gemini', 'messages', 'chat'],
  defaultDialect: 'gemini',
  dialectOf: (model: string) => (/^claude/i.test(model) ? 'messages' : 'gemini'),
  credentials: () => ({}),
  authorize,
  url,
  body,
} as const satisfies ProviderKind;
