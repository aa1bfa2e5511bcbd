import { describe, expect, it } from 'vitest';
import type { TestDaemon } from '../../daemon.ts';
import { MODES, WEATHER } from '../conversation.ts';
import { modelTo, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

const THINKING: Script = {
  steps: [
    {
      reasoning: 'The weather is what they want.',
      signature: 'c2lnbmF0dXJlLW9mLXRoZS1tb2NrCg==',
      encrypted: 'gAAAAA-encrypted-by-the-mock',
    },
    { call: 'get_weather', id: 'call_a1', arguments: '{"city":"Oslo"}' },
  ],
  usage: USAGE,
};
const DONE: Script = { steps: [{ text: 'Snow.' }], usage: USAGE };

/** The reasoning that each upstream gets back, equal to what it sent. */
const REPLAYED = {
  chat: { reasoning_content: 'The weather is what they want.' },
  responses: {
    type: 'reasoning',
    id: 'rs_upstream0',
    summary: [{ type: 'summary_text', text: 'The weather is what they want.' }],
    encrypted_content: 'gAAAAA-encrypted-by-the-mock',
  },
  messages: {
    type: 'thinking',
    thinking: 'The weather is what they want.',
    signature: 'c2lnbmF0dXJlLW9mLXRoZS1tb2NrCg==',
  },
} as const;

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  it.each(MODES)('reasoning is replayed with its signature after a tool call: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(THINKING, DONE);
    const more = client === 'responses' ? { include: ['reasoning.encrypted_content'] } : {};
    const settings = { model: modelTo(upstream), tools: [WEATHER], effort: 'high', more };
    const conversation = talk(client, daemon, settings).user('Weather in Oslo?');
    const thought = await conversation.ask(mode);
    expect(thought).toMatchObject({
      reasoning: 'The weather is what they want.',
      text: '',
      calls: [{ id: 'call_a1' }],
    });
    const answer = await conversation.results({ id: 'call_a1', content: 'snow' }).ask(mode);
    expect(answer.text).toBe('Snow.');

    const { body } = mock.requests[1]!;
    if (upstream === 'responses') {
      const types = body.input.map(({ type }: { type?: string }) => type ?? 'message');
      expect(types).toEqual(['message', 'reasoning', 'function_call', 'function_call_output']);
      expect(body.input[1]).toMatchObject(REPLAYED.responses);
    } else if (upstream === 'messages') {
      const { content } = body.messages[1];
      expect(content.map(({ type }: { type: string }) => type)).toEqual(['thinking', 'tool_use']);
      expect(content[0]).toEqual(REPLAYED.messages);
    } else {
      expect(body.messages[1]).toMatchObject(REPLAYED.chat);
      // The wrapped signatures of the gateway are not sent to upstreams.
      expect(JSON.stringify(body)).not.toContain('oriel:');
    }
  });

  it.each(MODES)('redacted and empty signed reasoning is replayed: %s', async (mode) => {
    if (upstream === 'chat') return;
    const { daemon, upstream: mock } = gateway();
    const hidden = upstream === 'messages' ? [{ redacted: 'cmVkYWN0ZWQ=' }] : [];
    const empty = { reasoning: '', signature: 'c2lnLWVtcHR5', encrypted: 'enc-empty' };
    mock.play(
      {
        steps: [
          empty,
          ...hidden,
          { call: 'get_weather', id: 'call_a1', arguments: '{"city":"Oslo"}' },
        ],
        usage: USAGE,
      },
      DONE,
    );
    const more = client === 'responses' ? { include: ['reasoning.encrypted_content'] } : {};
    const settings = { model: modelTo(upstream), tools: [WEATHER], effort: 'high', more };
    const conversation = talk(client, daemon, settings).user('Weather in Oslo?');
    await conversation.ask(mode);
    await conversation.results({ id: 'call_a1', content: 'snow' }).ask(mode);
    const { body } = mock.requests[1]!;
    if (upstream === 'messages') {
      expect(body.messages[1].content).toMatchObject([
        { type: 'thinking', thinking: '', signature: 'c2lnLWVtcHR5' },
        { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
        { type: 'tool_use', id: 'call_a1' },
      ]);
    } else {
      expect(body.input[1]).toMatchObject({
        type: 'reasoning',
        id: 'rs_upstream0',
        summary: [],
        encrypted_content: 'enc-empty',
      });
    }
  });

  it('the reasoning effort reaches the upstream', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const asked = talk(client, daemon, { model: modelTo(upstream), effort: 'high' }).user('Why?');
    await asked.ask();
    const { body } = mock.only();
    if (upstream === 'chat') expect(body.reasoning_effort).toBe('high');
    else if (upstream === 'responses') expect(body.reasoning.effort).toBe('high');
    else if (client === 'messages') expect(body.output_config).toEqual({ effort: 'high' });
    else expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 4096 });
  });

  it('reasoning switched off reaches the upstream', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(DONE);
    const settings =
      client === 'messages' ? { more: { thinking: { type: 'disabled' } } } : { effort: 'none' };
    await talk(client, daemon, { model: modelTo(upstream), ...settings })
      .user('Why?')
      .ask();
    const { body } = mock.only();
    if (upstream === 'chat') expect(body.reasoning_effort).toBe('none');
    else if (upstream === 'responses') expect(body.reasoning.effort).toBe('none');
    else expect(body.thinking).toEqual({ type: 'disabled' });
  });
});

it.each(
  MODES.flatMap((mode) => ['chat', 'responses'].map((upstream) => [mode, upstream] as const)),
)('omitted reasoning is not shown, and yet replayed: %s, %s', async (mode, upstream) => {
  const { daemon, upstream: mock } = gateway();
  mock.play(THINKING, DONE);
  const more = { thinking: { type: 'enabled', budget_tokens: 2048, display: 'omitted' } };
  const settings = { model: modelTo(upstream as 'chat'), tools: [WEATHER], more };
  const conversation = talk('messages', daemon, settings).user('Weather in Oslo?');
  expect(await conversation.ask(mode)).toMatchObject({ reasoning: '', calls: [{ id: 'call_a1' }] });
  await conversation.results({ id: 'call_a1', content: 'snow' }).ask(mode);
  const { body } = mock.requests[1]!;
  if (upstream === 'chat') expect(body.messages[1]).toMatchObject(REPLAYED.chat);
  else expect(body.input[1]).toMatchObject(REPLAYED.responses);
  expect(JSON.stringify(body)).not.toContain('oriel:');
});

describe('reasoning of another provider', () => {
  it.each(PAIRS)('client %s, upstream %s: is not sent', async (client, to) => {
    const { daemon, upstream: mock } = gateway();
    const from = to === 'messages' ? 'responses' : 'messages';
    mock.play(THINKING, DONE);
    const settings = { model: modelTo(from), tools: [WEATHER], effort: 'high' };
    const conversation = talk(client, daemon, settings).user('Weather in Oslo?');
    await conversation.ask('whole');
    conversation.results({ id: 'call_a1', content: 'snow' });
    const { text } = await conversation.ask('whole', { model: modelTo(to) });
    expect(text).toBe('Snow.');
    const { text: sent } = mock.requests[1]!;
    expect(sent).not.toContain('c2lnbmF0dXJl');
    expect(sent).not.toContain('gAAAAA');
    expect(sent).not.toContain('oriel:');
    expect(sent).toContain('call_a1');
  });
});

describe('reasoning of a chat upstream without a signature', () => {
  const start = (client: 'messages' | 'responses', daemon: TestDaemon) => {
    const settings = { model: modelTo('chat'), tools: [WEATHER], effort: 'high' };
    return talk(client, daemon, settings).user('Weather in Oslo?');
  };

  it.each(MODES)('gets a signature for clients of messages: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(THINKING);
    const { raw, events } = await start('messages', daemon).ask(mode);
    expect(raw.content[0]).toMatchObject({
      type: 'thinking',
      thinking: 'The weather is what they want.',
      signature: expect.stringMatching(/^oriel:./),
    });
    if (mode === 'whole') return;
    const deltas = events.filter(({ index, delta }) => index === 0 && delta);
    expect(deltas.at(-1).delta.type).toBe('signature_delta');
    expect(deltas.filter(({ delta }) => delta.type === 'signature_delta')).toHaveLength(1);
  });

  it.each(MODES)('gets encrypted_content for clients of responses: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(THINKING);
    const { raw } = await start('responses', daemon).ask(mode);
    expect(raw.output[0].encrypted_content).toMatch(/^oriel:./);
  });

  it.each(['messages', 'responses'] as const)(
    'is replayed to its own provider only: %s',
    async (client) => {
      const { daemon, upstream: mock } = gateway();
      for (const to of ['to-chat', 'to-other-openai', 'to-messages', 'to-responses']) {
        mock.play(THINKING, DONE);
        const conversation = start(client, daemon);
        await conversation.ask('events');
        conversation.results({ id: 'call_a1', content: 'snow' });
        expect((await conversation.ask('events', { model: to })).text).toBe('Snow.');
        const { text } = mock.requests[1]!;
        expect([to, text.includes('what they want')]).toEqual([to, to === 'to-chat']);
        expect(text).not.toContain('oriel:');
      }
    },
  );

  it('of a sandbox model gets a signature, too', async () => {
    const { daemon } = gateway();
    const { raw } = await talk('messages', daemon, { model: 'sandbox-reasoner' })
      .user('Why?')
      .ask('events');
    expect(raw.content[0]).toMatchObject({
      type: 'thinking',
      signature: expect.stringMatching(/^oriel:./),
    });
  });
});
