import { type Admit, type MockUpstream, startMockUpstream } from '../mock-upstream.ts';

export const PATH =
  /^\/v1\/projects\/project-1\/locations\/europe-west1\/publishers\/(google|anthropic)\/models\/([a-z0-9.@-]+):(\w+)$/;

export const UNAUTHENTICATED = {
  status: 401,
  body: {
    error: { code: 401, message: 'Expected an OAuth 2 access token', status: 'UNAUTHENTICATED' },
  },
};

const refusal = (status: number, message: string) => ({
  status,
  body: { error: { code: status, message, status: 'INVALID_ARGUMENT' } },
});

const COUNTED = ['contents', 'systemInstruction', 'tools', 'generationConfig'];

/** Why Vertex refuses a request to Claude; undefined for a valid one. */
export function claudeFault(
  model: string,
  verb: string,
  body: Parameters<Admit>[1],
): string | undefined {
  if (body['anthropic_version'] !== 'vertex-2023-10-16') return 'anthropic_version is missing';
  const isCount = model === 'count-tokens';
  if ('model' in body !== isCount) return 'model: Extra inputs are not permitted';
  const isStream = body['stream'] === true;
  return verb === (isStream ? 'streamRawPredict' : 'rawPredict') ? undefined : 'another method';
}

/** Why Vertex refuses a request to Gemini that Google's other service accepts. */
function geminiFault(model: string, verb: string, body: Parameters<Admit>[1]): string | undefined {
  const contents = (body['contents'] ?? []) as { role?: string }[];
  if (!contents.every(({ role }) => role === 'user' || role === 'model')) {
    return 'Please use a valid role: user, model.';
  }
  const unknown = Object.keys(body).find((name) => !COUNTED.includes(name));
  if (verb === 'countTokens' && unknown) return `Unknown name "${unknown}": Cannot find field.`;
  const hasId = /"function(?:Call|Response)":\{[^{}]*"id":/.test(JSON.stringify(contents));
  return hasId && model.startsWith('gemini-2')
    ? 'Unknown name "id": Cannot find field.'
    : undefined;
}

/** Vertex by Google's REST reference. @param tokens those that it accepts */
export function startVertex(tokens: () => readonly string[]): Promise<MockUpstream> {
  return startMockUpstream(({ url = '', headers }, body) => {
    const token = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    if (!tokens().includes(token) || 'x-api-key' in headers || 'x-goog-api-key' in headers) {
      return UNAUTHENTICATED;
    }
    const [path = '', query] = url.split('?');
    const [, publisher, model = '', verb = ''] = PATH.exec(path) ?? [];
    if (publisher === undefined) return refusal(404, `no such address: ${path}`);
    const isClaude = publisher === 'anthropic';
    const fault = (isClaude ? claudeFault : geminiFault)(model, verb, body);
    if (fault !== undefined) return refusal(400, fault);
    const isStream = verb === 'streamGenerateContent';
    if (query !== (isStream ? 'alt=sse' : undefined)) return refusal(400, 'another query');
    return isClaude ? 'messages' : 'gemini';
  });
}
