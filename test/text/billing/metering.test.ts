import { describe, expect, it } from 'vitest';
import { gate } from '../../gate.ts';
import { account, settled } from '../account.ts';
import { DIALECTS, modelTo, newKey, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';

const gateway = sharedGateway();

const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
/** About 250 tokens. */
const LONG = 'word '.repeat(200);
const PIECES = LONG.match(/.{1,50}/g)!;

let accounts = 0;
/** The daemon, its upstream, and a key of a new account. */
const begin = async (options = {}) => {
  const { daemon, upstream: mock } = gateway();
  accounts += 1;
  return { daemon, mock, key: await newKey(daemon, `account-${accounts}`, options) };
};

const limitOf = (client: DialectName, tokens: number) => {
  if (client === 'messages') return { max_tokens: tokens };
  return { [client === 'chat' ? 'max_completion_tokens' : 'max_output_tokens']: tokens };
};

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  const ask = (key: string, more: object = {}, signal?: AbortSignal) =>
    send(gateway().daemon, client, plainBody(client, modelTo(upstream), more), {
      key,
      ...(signal && { signal }),
    });

  const LIMIT = { stream: true, ...limitOf(client, 500) };

  it('is charged what the provider reports after the client has left', async () => {
    const { daemon, mock, key } = await begin();
    const { passed: wait, open: release } = gate();
    mock.play({
      steps: [{ text: LONG, pieces: PIECES }, { wait }],
      // Most of it is reasoning that nobody saw.
      usage: { input: 23, output: 400, cached: 5 },
    });
    const disconnect = new AbortController();
    const response = await ask(key, LIMIT, disconnect.signal);
    await response.body!.getReader().read();
    disconnect.abort();
    release();
    const { credits } = await settled(daemon, key);
    expect(credits.spent).toBeCloseTo((18 * 1000 + 5 * 100 + 400 * 10_000) / 1_000_000, 6);
  });

  it('is charged by its limit when the client leaves a provider that never reports', async () => {
    const { daemon, mock, key } = await begin();
    mock.play({
      steps: [{ text: LONG, pieces: PIECES }],
      usage: USAGE,
      fault: { after: 20, how: 'silence' },
    });
    const disconnect = new AbortController();
    const response = await ask(key, LIMIT, disconnect.signal);
    const reader = response.body!.getReader();
    let text = '';
    while ((text.match(/word/g) ?? []).length < 120) {
      text += Buffer.from((await reader.read()).value!).toString();
    }
    disconnect.abort();
    const { credits } = await settled(daemon, key);
    expect(credits.spent).toBeGreaterThanOrEqual((500 * 10_000) / 1_000_000);
    expect(credits.spent).toBeLessThan((530 * 10_000) / 1_000_000);
  });

  it.each([false, true])(
    'is charged nothing when the provider refuses after the client has left; stream %s',
    async (stream) => {
      const { daemon, mock, key } = await begin();
      const { passed: before, open: release } = gate();
      mock.play({ before, refuse: { status: 500, body: '' } });
      const disconnect = new AbortController();
      const asked = ask(key, { ...LIMIT, stream }, disconnect.signal);
      const { closed } = await mock.received();
      disconnect.abort();
      await expect(asked).rejects.toThrow();
      release();
      await closed;
      const { credits } = await settled(daemon, key, 0);
      expect(credits).toMatchObject({ reserved: 0, spent: 0 });
    },
  );

  it('is charged what arrived when the provider breaks off after the client has left', async () => {
    const { daemon, mock, key } = await begin();
    const { passed: wait, open: release } = gate();
    mock.play({ steps: [{ text: LONG, pieces: PIECES }, { wait }, { fail: 'end' }], usage: USAGE });
    const disconnect = new AbortController();
    const response = await ask(key, LIMIT, disconnect.signal);
    await response.body!.getReader().read();
    disconnect.abort();
    release();
    const { credits } = await settled(daemon, key);
    expect(credits.spent).toBeGreaterThan((14 * 10_000) / 1_000_000);
    expect(credits.spent).toBeLessThan((300 * 10_000) / 1_000_000);
  });

  it('is charged for the events so far when the upstream connection resets', async () => {
    const { daemon, mock, key } = await begin();
    mock.play({
      steps: [{ text: LONG, pieces: PIECES }],
      usage: USAGE,
      fault: { after: 20, how: 'reset' },
    });
    await (await ask(key, { stream: true })).text();
    const { credits } = await settled(daemon, key);
    expect(credits.spent).toBeGreaterThan((14 * 10_000) / 1_000_000);
    expect(credits.spent).toBeLessThan((900 * 10_000) / 1_000_000);
  });

  it('is charged nothing for an upstream error', async () => {
    const { daemon, mock, key } = await begin();
    for (const stream of [false, true]) {
      mock.play({ refuse: { status: 500, body: '' } });
      expect((await ask(key, { stream })).status).toBe(502);
      const { credits } = await account(daemon, key);
      expect(credits).toMatchObject({ reserved: 0, spent: 0 });
    }
  });

  it('gets 402 for the second of two parallel requests that exceed the key budget', async () => {
    // Suffices for one answer of 500 tokens, not for two.
    const { daemon, mock, key } = await begin({ budget: '6' });
    mock.play({ ...GOOD, usage: { input: 10, output: 400 } });
    const limit = limitOf(client, 500);
    // Sent in parallel, so that both race for the budget of one.
    const statuses = await Promise.all(
      [0, 1].map(async () => {
        const response = await ask(key, limit);
        const body = (await response.json()) as { error?: { type: string } };
        if (response.status !== 200) expect(body.error!.type).toBe('insufficient_quota');
        return response.status;
      }),
    );
    expect(statuses.sort()).toEqual([200, 402]);
    expect((await ask(key, limit)).status).toBe(402);
    expect(mock.requests).toHaveLength(1);
    const { key: own } = await settled(daemon, key, 4.01);
    expect(own.budget!.spent).toBeCloseTo(4.01, 6);
    expect(own.budget!.reserved).toBe(0);
  });
});

describe('an account without credits', () => {
  it('gets 402 before the upstream is asked', async () => {
    const { daemon, mock, key } = await begin({ credits: '0' });
    mock.play(GOOD);
    for (const stream of [false, true]) {
      const body = plainBody('chat', 'to-chat', { stream });
      expect((await send(daemon, 'chat', body, { key })).status).toBe(402);
    }
    expect(mock.requests).toHaveLength(0);
  });
});

describe('an upstream that reports more usage than the limit allows', () => {
  it.each(DIALECTS)('of %s: is charged up to the hold, and logged', async (dialect) => {
    const { daemon, upstream: mock } = gateway();
    for (const stream of [false, true]) {
      const { key } = await begin();
      mock.play({ ...GOOD, usage: { input: 900_000, output: 800_000 } });
      const limit = limitOf(dialect, 20);
      const body = plainBody(dialect, modelTo(dialect), { stream, ...limit });
      const response = await send(daemon, dialect, body, { key });
      await response.text();
      const { credits } = await settled(daemon, key);
      // At most 20 tokens of output, and the body's bytes plus 500 tokens of input.
      const input = JSON.stringify(body).length + 500;
      expect(credits.spent).toBeCloseTo((20 * 10_000 + input * 1000) / 1_000_000, 6);
      const requestId = response.headers.get('x-request-id');
      const warning = () =>
        daemon.log.find((one) => one['requestId'] === requestId && 'reported' in one);
      await expect.poll(warning).toMatchObject({
        level: 'warn',
        model: modelTo(dialect),
        reported: { output: 800_000 },
        charged: { output: 20 },
      });
    }
  });
});

it('cache writes are columns of usage and of the log', async () => {
  const { daemon, mock, key } = await begin();
  const usage = { input: 40, output: 11, cached: 5, cacheWrite: 7, cacheWrite1h: 3 };
  mock.play({ steps: [{ text: 'Hello' }], usage });
  const response = await send(daemon, 'chat', plainBody('chat', modelTo('messages')), { key });
  const requestId = response.headers.get('x-request-id');
  await response.text();
  await settled(daemon, key);
  const report = await fetch(`${daemon.url}/v1/account/usage?by=model`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(await report.json()).toMatchObject({
    data: [{ cached_input_tokens: 5, cache_write_tokens: 7, cache_write_1h_tokens: 3 }],
  });
  const line = () =>
    daemon.log.find((one) => one.msg === 'request' && one['requestId'] === requestId);
  await expect.poll(line).toMatchObject({ cacheWriteTokens: 7, cacheWrite1hTokens: 3 });
});

const REPORTED = { prompt_tokens: 18, completion_tokens: 11, total_tokens: 29 };

describe.each([
  ['in x_groq', { x_groq: { usage: REPORTED } }, {}],
  ['in its choice', {}, { usage: REPORTED }],
])('a chat stream that reports usage %s', (_place, ofChunk, ofChoice) => {
  it.each(['chat', 'messages'] as const)('is charged for it, to a client of %s', async (client) => {
    const { daemon, mock, key } = await begin();
    const chunk = (delta: object, reason: string | null, more = {}) =>
      `data: ${JSON.stringify({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: reason, ...(reason && ofChoice) }],
        ...more,
      })}\n\n`;
    const body = `${chunk({ content: 'Hello' }, null)}${chunk({}, 'stop', ofChunk)}data: [DONE]\n\n`;
    mock.play({ raw: { type: 'text/event-stream', body } });
    const response = await send(daemon, client, plainBody(client, 'to-chat', { stream: true }), {
      key,
    });
    await response.text();
    const { credits } = await settled(daemon, key);
    expect(credits.spent).toBeCloseTo((18 * 1000 + 11 * 10_000) / 1_000_000, 6);
  });
});

it('a chat stream that is left between its end and its usage is charged by its limit', async () => {
  const { daemon, mock, key } = await begin();
  mock.play({ steps: [{ text: 'Hello' }], usage: USAGE, fault: { after: 4, how: 'silence' } });
  const disconnect = new AbortController();
  const body = plainBody('chat', 'to-chat', { stream: true, max_completion_tokens: 500 });
  const response = await send(daemon, 'chat', body, { key, signal: disconnect.signal });
  const reader = response.body!.getReader();
  let text = '';
  while (!text.includes('"finish_reason":"stop"')) {
    text += Buffer.from((await reader.read()).value!).toString();
  }
  disconnect.abort();
  const { credits } = await settled(daemon, key);
  expect(credits.spent).toBeGreaterThanOrEqual((500 * 10_000) / 1_000_000);
});

describe('audio and video', () => {
  const audio = { data: 'AAAA', format: 'wav' };
  const VIDEO = 'data:video/mp4;base64,AAAA';
  it.each([
    ['a video by address', { type: 'video_url', video_url: { url: 'https://a.example/b.mp4' } }],
    ['an inline video', { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } }],
    ['inline audio', { type: 'input_audio', input_audio: audio }],
    // Providers go by the type of the content.
    ['a video sent as an image', { type: 'image_url', image_url: { url: VIDEO } }],
    ['its address', { type: 'image_url', image_url: { url: 'https://a.example/b.MP4?x' } }],
    ['a page of videos', { type: 'image_url', image_url: { url: 'https://youtu.be/b.png' } }],
    ['a video sent as a file', { type: 'file', file: { filename: 'b.pdf', file_data: VIDEO } }],
  ])('%s is charged as reported', async (_name, part) => {
    const messages = [{ role: 'user', content: [part, { type: 'text', text: 'What is this?' }] }];
    expect(await chargeFor('chat', { messages })).toBeCloseTo(900.1, 6);
  });

  it.each(['https://a.example/b.pdf', 'https://a.example/b.mp4'])(
    'the document %s, of unknown length, is charged as reported',
    async (file_url) => {
      const input = [{ role: 'user', content: [{ type: 'input_file', file_url }] }];
      expect(await chargeFor('responses', { input })).toBeCloseTo(900.1, 6);
    },
  );

  it('a WAV file holds no more than its seconds cost', async () => {
    const header = Buffer.alloc(44);
    header.write('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1');
    header.writeUInt32LE(16_000, 24);
    header.writeUInt32LE(32_000, 28);
    const data = Buffer.concat([header, Buffer.alloc(320_000)]).toString('base64');
    const part = { type: 'input_audio', input_audio: { data, format: 'wav' } };
    const spent = await chargeFor('chat', { messages: [{ role: 'user', content: [part] }] });
    // Twelve seconds of 64 tokens, and the bytes around them.
    expect(spent).toBeGreaterThan(0.7);
    expect(spent).toBeLessThan(4);
  });

  it('an image holds no more than an image costs', async () => {
    const url = 'https://a.example/b.png';
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
    const spent = await chargeFor('chat', { messages });
    expect(spent).toBeGreaterThan(50);
    expect(spent).toBeLessThan(52);
  });

  /** Credits for a request of which the provider reports 900,000 tokens of input and 10 of output. */
  async function chargeFor(dialect: DialectName, more: object): Promise<number> {
    const { daemon, mock, key } = await begin({ credits: '3000' });
    mock.play({ ...GOOD, usage: { input: 900_000, output: 10 } });
    const response = await send(daemon, dialect, plainBody(dialect, modelTo(dialect), more), {
      key,
    });
    expect(await response.text()).toContain('Hello');
    return (await settled(daemon, key)).credits.spent;
  }
});
