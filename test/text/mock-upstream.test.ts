import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODES, STOPS, WEATHER } from './conversation.ts';
import { DIALECTS } from './gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from './mock-upstream.ts';
import { cutAt, everyByte, type Framing, type Script, USAGE } from './script.ts';
import { talk } from './talk.ts';

// Tests through the mock are only as good as the mock: the official clients must read its scripts from
// it without the gateway.

let upstream: MockUpstream;
beforeAll(async () => {
  upstream = await startMockUpstream();
});
afterAll(() => upstream.close());

const origin = () => ({ url: upstream.url.replace(/\/v1$/, '') });

const SCRIPT: Script = {
  steps: [
    { reasoning: 'I had better look.', signature: 'sig-1', encrypted: 'enc-1' },
    { text: 'Let me see: ä€🙂' },
    { call: 'get_weather', id: 'call_1', arguments: '{"city":"Łódź"}' },
    { call: 'get_weather', id: 'call_2', arguments: '{"city":"Oslo"}' },
  ],
  usage: USAGE,
};

const FRAMINGS: readonly (readonly [string, Framing])[] = [
  ['CR LF', { line: '\r\n' }],
  ['comments', { comments: true }],
  ['multi-line data', { multiline: true }],
  ['no space after the colon', { tight: true }],
];

describe.each(DIALECTS)('the mock upstream with the official client of %s', (dialect) => {
  const ask = (script: Script, mode: (typeof MODES)[number]) => {
    upstream.play(script);
    return talk(dialect, origin(), { model: 'm', tools: [WEATHER] })
      .user('Hello')
      .ask(mode);
  };

  it.each(MODES)('answers with the text, reasoning and calls of the script: %s', async (mode) => {
    const answer = await ask(SCRIPT, mode);
    expect(answer).toMatchObject({
      text: 'Let me see: ä€🙂',
      reasoning: 'I had better look.',
      calls: [
        { id: 'call_1', name: 'get_weather', arguments: { city: 'Łódź' } },
        { id: 'call_2', name: 'get_weather', arguments: { city: 'Oslo' } },
      ],
      stop: STOPS['tool-calls'][dialect],
    });
    const { headers, body } = upstream.only();
    expect(body.model).toBe('m');
    expect(headers['content-type']).toBe('application/json');
  });

  it('gives the same answer with any framing and split of bytes', async () => {
    const { text, calls } = await ask(SCRIPT, 'events');
    const seen = [await ask({ ...SCRIPT, cut: everyByte }, 'events')];
    seen.push(await ask({ ...SCRIPT, cut: cutAt(7, 150, 151) }, 'events'));
    for (const [, framing] of FRAMINGS) seen.push(await ask({ ...SCRIPT, framing }, 'events'));
    for (const answer of seen) expect(answer).toMatchObject({ text, calls });
  });

  it.each(['length', 'refusal'] as const)(
    'has the stop reason of the format for %s',
    async (stop) => {
      const answer = await ask({ steps: [{ text: 'Half' }], stop, usage: USAGE }, 'whole');
      expect(answer).toMatchObject({ text: 'Half', stop: STOPS[stop][dialect] });
    },
  );

  it('answers with the status of the script', async () => {
    const body = { error: { type: 'rate_limit_error', message: 'slow down' } };
    await expect(ask({ refuse: { status: 429, body } }, 'whole')).rejects.toMatchObject({
      status: 429,
    });
  });

  it('sends an error event within a stream', async () => {
    const failing = { ...SCRIPT, fault: { after: 5, how: 'error-event' as const } };
    await expect(ask(failing, 'helper')).rejects.toThrow(/broke down|server_error/);
  });

  it('records a client disconnect', async () => {
    upstream.play({ steps: [{ text: 'More' }], fault: { after: 2, how: 'endless' }, usage: USAGE });
    const disconnect = new AbortController();
    const path = { chat: 'chat/completions', responses: 'responses', messages: 'messages' };
    const response = await fetch(`${upstream.url}/${path[dialect]}`, {
      method: 'POST',
      body: JSON.stringify({ stream: true }),
      signal: disconnect.signal,
    });
    await response.body!.getReader().read();
    disconnect.abort();
    expect(await upstream.only().closed).toBe('cut');
  });
});
