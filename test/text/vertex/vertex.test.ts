import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { type OpenServer, openServer } from '../../fixtures/open-server.ts';
import { ask, DONE } from '../ask.ts';
import { DATA_URL, PIXEL, type Settings, WEATHER } from '../conversation.ts';
import { administer, DIALECTS, gatewayConfig } from '../gateway-daemon.ts';
import { geminiTalk } from '../gemini/gemini-talk.ts';
import type { FormatName, MockUpstream } from '../mock-upstream.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';
import { TokenService, writeKeyFile } from './google-tokens.ts';
import { startVertex } from './vertex-upstream.ts';

const CALL: Script = {
  steps: [
    { reasoning: 'A city is named.', signature: 'c2lnbmF0dXJl' },
    { call: 'get_weather', id: 'call_1', arguments: '{"city":"Oslo"}' },
  ],
  usage: USAGE,
};

const FORMATS: readonly FormatName[] = [...DIALECTS, 'gemini'];
/** Models of Claude for one client: clouds.test.ts has them for all. */
const MODELS = { gemini: ['gemini', 'gemini-2'], claude: ['claude', 'machine-claude'] };

const folder = mkdtempSync(join(tmpdir(), 'oriel-vertex-'));
const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
const options =
  '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=google -addext subjectAltName=IP:127.0.0.1';
execFileSync('openssl', ['req', ...options.split(' '), '-keyout', key, '-out', certificate], {
  stdio: 'ignore',
});

const service = new TokenService();
let vertex: MockUpstream;
let servers: OpenServer[];
const env = { NODE_EXTRA_CA_CERTS: certificate, GCE_METADATA_HOST: '' };

beforeAll(async () => {
  vertex = await startVertex(() => service.issued);
  const tls = { key: readFileSync(key), cert: readFileSync(certificate) };
  servers = await Promise.all(
    [createTlsServer(tls, service.listener), createServer(service.listener)].map((one) =>
      openServer(one),
    ),
  );
  service.audience = `${servers[0]!.url.replace('http:', 'https:')}/token`;
  env.GCE_METADATA_HOST = servers[1]!.url.replace('http://', '');
});
afterAll(async () => {
  await Promise.all([vertex, ...servers].map((one) => one.close()));
  rmSync(folder, { recursive: true });
});

const daemon = sharedDaemon({
  env,
  get config() {
    const token_uri = service.audience;
    const provider = (changes?: object) => ({
      ...{ kind: 'vertex', project: 'project-1', location: 'europe-west1' },
      baseUrl: vertex.url.replace(/\/v1$/, ''),
      ...(changes && { keyFile: writeKeyFile(folder, { token_uri, ...changes }) }),
    });
    const model = (name: string, by = 'account') => ({
      type: 'text',
      routes: [{ provider: by, model: name }],
      reasoning: { supported_efforts: ['low'], default_effort: 'low', can_disable: true },
    });
    return gatewayConfig(vertex.url, {
      providers: {
        ...{ account: provider({}), machine: provider() },
        stranger: provider({ client_email: 'other@example' }),
      },
      models: {
        gemini: model('gemini-3-pro'),
        'gemini-2': model('gemini-2.5-pro'),
        claude: model('claude-sonnet-4-5@20250929'),
        'machine-claude': model('claude-opus-4-5@20251101', 'machine'),
        refused: model('gemini-3-pro', 'stranger'),
      },
    });
  },
});

describe.each(FORMATS)('a client of %s', (client) => {
  const start = (settings: Settings) =>
    client === 'gemini'
      ? geminiTalk({ url: daemon().url, key: OWNER_KEY }, settings)
      : talk(client, daemon(), settings);

  const models = [...MODELS.gemini, ...(client === 'messages' ? MODELS.claude : [])];
  it.each(models)('calls a tool and reads the result, streamed and whole: %s', async (model) => {
    for (const mode of ['whole', 'events'] as const) {
      vertex.play(CALL, DONE);
      const more = model === 'gemini-2' ? {} : { effort: 'low' };
      const settings = { model, tools: [WEATHER], system: 'Be brief.', ...more };
      const conversation = start(settings).user([{ text: 'Weather?' }, { image: DATA_URL }]);
      const called = await conversation.ask(mode);
      expect(called).toMatchObject({
        calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }],
        model,
      });
      conversation.results({ id: called.calls[0]!.id, content: 'rain' });
      expect((await conversation.ask(mode)).text).toBe('Done.');
      expect(vertex.requests.map(({ dialect }) => dialect)).toEqual(
        Array(2).fill(model.startsWith('gemini') ? 'gemini' : 'messages'),
      );
      expect(vertex.requests[0]!.text).toContain(PIXEL);
      expect(vertex.requests[1]!.text).toContain('rain');
    }
  });

  it('learns of refused credentials, and of no secret', async () => {
    const asked = await ask({ daemon: daemon(), upstream: vertex }, client, 'refused');
    expect([asked.status, asked.requests]).toEqual([502, []]);
    expect(asked.text).toContain("did not accept the gateway's credentials");
    expect(asked.text).not.toMatch(/project-1|other@example|JWT/);
  });
});

it('one token serves all requests, and is shown nowhere', async () => {
  expect(service.issued.filter((token) => token.includes('account'))).toHaveLength(1);
  expect(service.issued.filter((token) => token.includes('machine'))).toHaveLength(1);
  const [token = ''] = service.issued;
  const refuse = { status: 400, body: { error: { code: 400, message: `Sorry: ${token}` } } };
  const { status, text } = await ask(
    { daemon: daemon(), upstream: vertex },
    'chat',
    'gemini',
    {},
    { play: [{ refuse }] },
  );
  expect(status).toBe(400);
  expect(text).toContain('Sorry');
  expect(text + JSON.stringify(daemon().log)).not.toMatch(/5ecre7|PRIVATE KEY/);
});

it.each([
  ['account', 'claude-sonnet-4-5', null],
  ['machine', 'gemini-3-pro', null],
  ['stranger', 'gemini-3-pro', 'invalid_grant: Invalid issuer'],
])('providers test asks %s for an answer of %s', async (name, model, fault) => {
  vertex.play(DONE);
  const tested: unknown = await administer(daemon(), 'providers/test', { name, model });
  const answer = fault === null ? 'Done.' : null;
  expect(tested).toMatchObject({ answer, fault: fault && expect.stringContaining(fault) });
});

it('a token that Vertex refuses is renewed', async () => {
  service.issued.length = 0;
  const first = await ask({ daemon: daemon(), upstream: vertex }, 'chat', 'gemini');
  const second = await ask({ daemon: daemon(), upstream: vertex }, 'chat', 'gemini');
  expect([first.status, second.status]).toEqual([502, 200]);
  expect(service.issued).toHaveLength(1);
});

it.each([
  [
    'gemini',
    '/v1beta/models/gemini-2:countTokens',
    {
      contents: [{ role: 'user', parts: [{ text: 'a' }] }],
      systemInstruction: { parts: [{ text: 'b' }] },
    },
  ],
  [
    'messages',
    '/v1/messages/count_tokens',
    { model: 'claude', messages: [{ role: 'user', content: 'a' }] },
  ],
])('tokens are counted: %s', async (format, path, body) => {
  const counted = format === 'gemini' ? { totalTokens: 7 } : { input_tokens: 7 };
  vertex.play({ raw: { type: 'application/json', body: JSON.stringify(counted) } });
  const response = await daemon().request(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  expect(await response.json()).toMatchObject(counted);
  expect(response.headers.get('x-oriel-estimate')).toBeNull();
  expect(vertex.requests).toHaveLength(1);
});
