import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { METRICS_TOKEN, OWNER_KEY } from '../daemon.ts';
import { DIALECTS, gatewayDaemon, newKey } from './gateway-daemon.ts';
import { plainBody, send } from './raw.ts';
import { USAGE } from './script.ts';

const price = { input: 1000, output: 10_000 };

const gateway = gatewayDaemon(() => ({
  routing: { retries: 0, cooldown: { after: 2 } },
  models: {
    opus: {
      type: 'text',
      aliases: ['big', 'gpt-big'],
      routes: [{ provider: 'anthropic', model: 'upstream-opus' }],
      price,
    },
    'claude-*': { type: 'text', routes: [{ provider: 'anthropic', model: 'claude-*' }], price },
    'any/*': { type: 'text', routes: [{ provider: 'openai', model: 'vendor/*' }], price },
  },
}));

/** Sends a request and returns the model of the upstream's request and that of the answer. */
async function modelsOf(dialect: (typeof DIALECTS)[number], model: string, stream: boolean) {
  const { daemon, upstream } = gateway();
  upstream.play({ steps: [{ text: 'Hello' }], usage: USAGE });
  const response = await send(daemon, dialect, plainBody(dialect, model, { stream }));
  const text = await response.text();
  return { text, status: response.status, upstream: upstream.only().body['model'] };
}

it.each(DIALECTS.flatMap((dialect) => [false, true].map((stream) => [dialect, stream] as const)))(
  'a client of %s, streamed %s: uses an alias and the names of a wildcard',
  async (dialect, stream) => {
    for (const [name, sent] of [
      ['big', 'upstream-opus'],
      ['claude-sonnet-4', 'claude-sonnet-4'],
      ['any/llama', 'vendor/llama'],
    ] as const) {
      const { text, status, upstream } = await modelsOf(dialect, name, stream);
      expect({ status, upstream }).toEqual({ status: 200, upstream: sent });
      // The answer has the name that the client asked for.
      expect(text).toMatch(new RegExp(`"model": ?"${name}"`));
      expect(text).not.toContain(`"${sent === name ? 'claude-*' : sent}"`);
    }
  },
);

it('usage and metrics have the identifier of the model, not the requested names', async () => {
  const { daemon } = gateway();
  for (const name of ['any/a', 'any/b', 'gpt-big']) await modelsOf('chat', name, false);
  const authorization = `Bearer ${METRICS_TOKEN}`;
  const metrics = await fetch(`${daemon.url}/metrics`, { headers: { authorization } });
  const labels = [...(await metrics.text()).matchAll(/oriel_\w+\{[^}]*\bmodel="([^"]*)"/g)];
  expect(new Set(labels.map(([, model]) => model))).toEqual(new Set(['opus', 'claude-*', 'any/*']));
});

it('a wildcard itself, a part of a path and too long a name are no models', async () => {
  const { daemon } = gateway();
  for (const name of ['claude-*', 'any/../secret', `any/${'x'.repeat(400)}`, 'any/']) {
    const response = await send(daemon, 'chat', plainBody('chat', name));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'model_not_found' } });
  }
});

it('a name that no provider of a wildcard knows is no model, and cools no route down', async () => {
  const { daemon, upstream } = gateway();
  const body = { error: { type: 'not_found_error', message: 'model: claude-typo' } };
  for (let tries = 0; tries < 3; tries += 1) {
    upstream.play({ refuse: { status: 404, body } });
    const response = await send(daemon, 'messages', plainBody('messages', 'claude-typo'));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { code: 'model_not_found', param: 'model' },
    });
  }
  expect((await modelsOf('messages', 'claude-sonnet-4', false)).status).toBe(200);
});

it.each([
  [500, {}, 'upstreams_resting'],
  [429, { 'retry-after': '60' }, null],
])('status %i of one name of a wildcard rests no other name', async (status, headers, code) => {
  const { daemon, upstream } = gateway();
  const ask = () => send(daemon, 'messages', plainBody('messages', `claude-status-${status}`));
  for (let tries = 0; tries < 2; tries += 1) {
    upstream.play({ refuse: { status, headers, body: {} } });
    expect((await ask()).status).not.toBe(200);
  }
  const resting = await ask();
  expect(Number(resting.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await resting.json()).toMatchObject({ error: { code } });
  expect((await modelsOf('messages', 'claude-sonnet-4', false)).status).toBe(200);
  const models = await (await daemon.request('/v1/admin/models')).json();
  expect(models).toMatchObject({ models: [{}, { routes: [{ resting: {} }] }, {}] });
});

it("a key's list of models holds for aliases and wildcards", async () => {
  const { daemon, upstream } = gateway();
  const statusOf = async (key: string, model: string) => {
    upstream.play({ steps: [{ text: 'Hello' }], usage: USAGE });
    const client = new OpenAI({ apiKey: key, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    return client.chat.completions.create({ model, messages }).then(
      () => 200,
      (error: { status: number }) => error.status,
    );
  };
  const patterns = await newKey(daemon, 'patterns', { models: 'claude-haiku-*,big' });
  const allowed = { 'claude-haiku-4': 200, 'claude-opus-4': 403, opus: 200, 'gpt-big': 200 };
  for (const [name, status] of Object.entries({ ...allowed, 'any/x': 403 })) {
    expect([name, await statusOf(patterns, name)]).toEqual([name, status]);
  }
  const client = new OpenAI({ apiKey: patterns, baseURL: `${daemon.url}/v1` });
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['opus']);
  const gpt = await newKey(daemon, 'gpt-only', { models: 'gpt-*' });
  expect(await statusOf(gpt, 'gpt-big')).toBe(403);
});

it('the official clients list and retrieve models, with prices and aliases', async () => {
  const { daemon } = gateway();
  const openai = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon.url}/v1` });
  const listed = (await openai.models.list()).data;
  expect(listed.map(({ id }) => id)).toEqual(['opus']);
  const query = { return_wildcard_routes: true };
  expect((await openai.models.list({ query })).data).toHaveLength(3);
  expect(listed[0]).toMatchObject({
    aliases: ['big', 'gpt-big'],
    root: 'opus',
    pricing: { input_per_million_tokens: 1000, output_per_million_tokens: 10_000 },
  });
  expect(await openai.models.retrieve('big')).toMatchObject({ id: 'big', root: 'opus' });
  expect(await openai.models.retrieve('claude-x')).toMatchObject({
    id: 'claude-x',
    root: 'claude-*',
  });
  const anthropic = new Anthropic({ apiKey: OWNER_KEY, baseURL: daemon.url });
  const ids: string[] = [];
  for await (const { id } of anthropic.models.list()) ids.push(id);
  expect(ids).toEqual(['opus']);
  const page = await anthropic.models.list({}, { query: { limit: 1, after_id: 'opus', ...query } });
  expect(page).toMatchObject({
    data: [{ type: 'model', id: 'claude-*', created_at: expect.stringMatching(/^\d{4}-.*Z$/) }],
    has_more: true,
    last_id: 'claude-*',
  });
  expect(await anthropic.models.retrieve('big')).toMatchObject({ type: 'model', id: 'big' });
  await expect(anthropic.models.list({ after_id: 'none' })).rejects.toMatchObject({ status: 400 });
});
