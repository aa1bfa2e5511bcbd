import { expect, it, test } from 'vitest';
import type { ProviderTest } from '../../src/administration/catalog-context.ts';
import { testProvider } from '../../src/text/provider-test.ts';
import '../../src/text/built-in-dialects.ts';
import { GOOD_KEY, selfSignedProvider, smallProvider } from '../administration/small-provider.ts';

const network = {
  ...{ allowPrivateAddresses: false, inputPorts: [], callbackPorts: [] },
  ...{ deny: ['denied.example', '127.0.0.9'], allow: [] },
};

const run = (provider: object, options: Partial<ProviderTest> = {}) =>
  testProvider({
    ...{ name: 'mine', provider: { concurrency: 1, apiKey: GOOD_KEY, ...provider } as never },
    ...{ model: null, network, ...options },
  });

test.each([
  ['openai', '/v1', '/v1/models', '/v1/chat/completions'],
  ['anthropic', '/v1', '/v1/models 2023-06-01', '/v1/messages 2023-06-01'],
  ['gemini', '/v1beta', '/v1beta/models', '/v1beta/models/gpt-5-nano:generateContent'],
  ['azure', '', '/openai/v1/models', '/openai/v1/chat/completions'],
  ['oriel', '/v1', '/v1/models', '/v1/chat/completions'],
])('asks a provider of kind %s for its list and an answer', async (kind, base, list, ask) => {
  const { url, seen } = await smallProvider(['text-embedding-3-small', 'gpt-5-nano']);
  const report = await run({ kind, baseUrl: url + base });
  expect(report).toMatchObject({ model: 'gpt-5-nano', answer: 'OK', fault: null, advice: null });
  expect(report.offered).toEqual(['text-embedding-3-small', 'gpt-5-nano']);
  expect(seen).toEqual([`GET ${list}`, `POST ${ask}`]);
});

test.each([
  [
    'a wrong key',
    { apiKey: 'sk-wrong-0123456789abcdef' },
    'status 401: Incorrect API key provided: [key]. You',
    'API key',
  ],
  ['an unreachable address', { baseUrl: 'http://127.0.0.1:1/v1' }, 'cannot be reached', 'address'],
  [
    'a denied address',
    { baseUrl: 'http://127.0.0.9:80/v1' },
    'the operator of this server denies',
    'base URL',
  ],
  [
    'an address of cloud metadata',
    { baseUrl: 'http://169.254.169.254/v1' },
    'leads to a private address',
    'base URL',
  ],
])('says what %s is, without the key', async (_, settings, fault, advice) => {
  const { url } = await smallProvider(['gpt-5']);
  const report = await run({ kind: 'openai', baseUrl: `${url}/v1`, ...settings }, { model: 'm' });
  expect(report.answer).toBeNull();
  expect(report.fault).toContain(fault);
  expect(report.advice).toContain(advice);
  expect(JSON.stringify(report)).not.toMatch(/sk-|SECRET/);
});

it('says that a certificate is self-signed', async () => {
  const { url } = await selfSignedProvider(['gpt-5']);
  const report = await run({ kind: 'openai', baseUrl: `${url}/v1` });
  expect(report.fault).toContain('its certificate is self-signed');
  expect(report.advice).toContain('NODE_EXTRA_CA_CERTS');
});

it('uses the first of several keys, and leaves out names that are none', async () => {
  const { url } = await smallProvider(['m', '', 'x'.repeat(300)]);
  const keys = { apiKey: undefined, apiKeys: [GOOD_KEY, 'sk-other-0123456789'] };
  const report = await run({ kind: 'openai', baseUrl: `${url}/v1`, ...keys });
  expect(report).toMatchObject({ offered: ['m'], answer: 'OK' });
});

it('needs no list where it knows a model', async () => {
  const { url } = await smallProvider(null);
  const provider = { kind: 'openai', baseUrl: `${url}/v1` };
  expect(await run(provider, { model: 'own' })).toMatchObject({
    ...{ offered: null, model: 'own', answer: 'OK', fault: null },
    listFault: 'status 404: no route /v1/models',
  });
  expect(await run(provider)).toMatchObject({
    model: null,
    fault: 'status 404: no route /v1/models',
  });
});
