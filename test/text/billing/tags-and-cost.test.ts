import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { sharedDaemon } from '../../daemon.ts';
import { settled } from '../account.ts';
import { modelTo, newKey, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { PATHS, plainBody, send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';

const gateway = sharedGateway();

const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
/** 18 input tokens at 1000 per million, 5 cached at 100, 11 output at 10000. */
const COST = '0.1285';

let accounts = 0;
const fresh = () => {
  accounts += 1;
  return newKey(gateway().daemon, `tagged-${accounts}`);
};

/** The tags of an account's requests, with their numbers. */
async function usageBy(key: string, by: string): Promise<readonly (readonly unknown[])[]> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${gateway().daemon.url}/v1/account/usage?by=${by}`, { headers });
  const { data } = (await response.json()) as {
    data: readonly { tags: Record<string, string | null>; requests: number; errors: number }[];
  };
  return data.map(({ tags, requests, errors }) => [...Object.values(tags), requests, errors]);
}

/** The events of a stream as an official SDK gives them. */
async function eventsBySdk(
  client: DialectName,
  key: string,
  model: string,
): Promise<readonly object[]> {
  const { url } = gateway().daemon;
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const messages = [{ role: 'user', content: 'Hello' }] as const;
  const streams = {
    chat: () =>
      openai.chat.completions.create({
        ...{ model, messages: [...messages], stream: true },
        stream_options: { include_usage: true },
      }),
    responses: () => openai.responses.create({ model, input: 'Hello', stream: true }),
    messages: () =>
      new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 }).messages.create({
        ...{ model, messages: [...messages], stream: true, max_tokens: 100 },
      }),
  };
  const events: object[] = [];
  for await (const event of (await streams[client]()) as AsyncIterable<object>) events.push(event);
  return events;
}

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  it('is told what an answer cost: in a header, and in the last event of a stream', async () => {
    gateway().upstream.play(GOOD);
    const key = await fresh();
    const body = plainBody(client, modelTo(upstream));
    const whole = await send(gateway().daemon, client, body, { key });
    expect([whole.status, whole.headers.get('x-oriel-cost')]).toEqual([200, COST]);
    expect(await whole.text()).not.toContain('oriel_cost');
    const events = await eventsBySdk(client, key, modelTo(upstream));
    const told = events.map((event) => (event as { oriel_cost?: string }).oriel_cost);
    expect(told.filter((cost) => cost !== undefined)).toEqual([COST]);
    expect(told.at(-1)).toBe(COST);
    const { credits } = await settled(gateway().daemon, key, 2 * Number(COST));
    expect(credits.spent).toBe(2 * Number(COST));
    const headers = { authorization: `Bearer ${key}` };
    const usage = await fetch(`${gateway().daemon.url}/v1/account/usage?by=model`, { headers });
    const counts = { input_tokens: 46, cached_input_tokens: 10, output_tokens: 22 };
    expect(await usage.json()).toMatchObject({
      data: [{ model: modelTo(upstream), requests: 2, ...counts }],
    });
  });
});

describe('a stream of chat completions', () => {
  it('has no cost where its client asks for no usage', async () => {
    gateway().upstream.play(GOOD);
    const body = plainBody('chat', 'to-chat', { stream: true });
    const response = await send(gateway().daemon, 'chat', body, { key: await fresh() });
    expect(await response.text()).not.toContain('oriel_cost');
  });
});

describe('tags', () => {
  it('of a header and of labels count usage, of streams and failures too', async () => {
    const { daemon, upstream } = gateway();
    const key = await fresh();
    const ask = async (client: DialectName, tags: string | null, more: object, script = GOOD) => {
      upstream.play(script);
      const authorization = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const response = await fetch(daemon.url + PATHS[client], {
        method: 'POST',
        headers: { ...authorization, ...(tags !== null && { 'x-oriel-tags': tags }) },
        body: JSON.stringify(plainBody(client, modelTo(client), more)),
      });
      await response.text();
      return response.status;
    };
    const BROKEN: Script = { refuse: { status: 500 } };
    await ask('chat', 'run=1, step=a', { stream: true });
    await ask('responses', 'run=1', {
      metadata: { run: '2', step: 'b', 'not a tag': 'x', n: 'ä' },
    });
    await ask('messages', null, { metadata: { user_id: 'run=3' } });
    await ask('chat', 'run=9', {}, BROKEN);
    await expect
      .poll(() => usageBy(key, 'tag:run,tag:step'))
      .toEqual([
        [null, null, 1, 0],
        ['1', 'a', 1, 0],
        ['1', 'b', 1, 0],
        ['9', null, 1, 1],
      ]);
  });

  it.each([
    ['run', 'received "run"'],
    ['run=', 'received "run="'],
    ['run=4=2', 'received "run=4=2"'],
    ['=1', 'received "=1"'],
    ['run=1,,step=a', 'received ""'],
    ['run=1,run=2', 'expected each name once, received run twice'],
    [`${'n'.repeat(33)}=1`, `received "${'n'.repeat(33)}=1"`],
    [`n=${'v'.repeat(65)}`, 'received "n=vvvv'],
    ['run==cmd', 'received "run==cmd"'],
    ['run=(other)', 'received "run=(other)"'],
    ['a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1', 'expected at most 8 tags, received 9'],
  ])('of %s are refused with the pair', async (tags, reason) => {
    const { daemon } = gateway();
    for (const [path, body] of [
      ['/v1/chat/completions', plainBody('chat', 'to-chat')],
      ['/v1/embeddings', { model: 'sandbox-embedding', input: 'x' }],
      ['/v1/images/generations', { model: 'sandbox-image', prompt: 'x' }],
      ['/v1/moderations', { input: 'x' }],
    ] as const) {
      const response = await daemon.send(path, body, { headers: { 'x-oriel-tags': tags } });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      expect(error.param).toBe('x-oriel-tags');
      expect(error.message).toContain(reason);
    }
  });
});

describe('the cost of a request to the sandbox', () => {
  const daemon = sharedDaemon({ config: {} });

  it.each([
    ['/v1/embeddings', { model: 'sandbox-embedding', input: 'x' }, '0.000001'],
    ['/v1/moderations', { model: 'sandbox-moderation', input: 'x' }, '0.001'],
    ['/v1/images/generations/sync', { model: 'sandbox-image', prompt: 'x', n: 2 }, '0.08'],
    ['/v1/images/generations', { model: 'sandbox-image', prompt: 'x' }, null],
    ['/v1/audio/speech', { model: 'sandbox-audio', input: 'x', voice: 'alloy' }, '0.01'],
  ])('of POST %s is in a header', async (path, body, cost) => {
    const response = await daemon().send(path, body);
    await response.arrayBuffer();
    expect(response.ok).toBe(true);
    expect(response.headers.get('x-oriel-cost')).toBe(cost);
  });
});
