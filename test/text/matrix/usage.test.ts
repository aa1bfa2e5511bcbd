import { describe, expect, it } from 'vitest';
import { settled } from '../account.ts';
import { MODES, STOPS } from '../conversation.ts';
import { modelTo, newKey, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import type { Script, Stop } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  it.each(MODES)('the usage is translated: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    const written = upstream === 'messages' ? 7 : 0;
    const forAnHour = upstream === 'messages' ? 3 : 0;
    const lifetimes = {
      ephemeral_5m_input_tokens: written - forAnHour,
      ephemeral_1h_input_tokens: forAnHour,
    };
    mock.play({
      steps: [{ text: 'One two three' }],
      usage: {
        input: 40,
        output: 11,
        cached: 5,
        cacheWrite: written,
        cacheWrite1h: forAnHour,
        reasoning: 3,
      },
    });
    const { usage } = await talk(client, daemon, { model: modelTo(upstream) })
      .user('Count')
      .ask(mode);
    if (client === 'messages') {
      // Only messages counts cache reads and writes apart from the input.
      expect(usage).toMatchObject({
        input_tokens: 40 - 5 - written,
        cache_read_input_tokens: 5,
        output_tokens: 11,
      });
      expect(usage.cache_creation_input_tokens ?? 0).toBe(written);
      if (written > 0) expect(usage.cache_creation).toEqual(lifetimes);
      return;
    }
    expect(usage).toMatchObject({
      prompt_tokens: 40,
      completion_tokens: 11,
      total_tokens: 51,
      input_tokens: 40,
      output_tokens: 11,
      cached_input_tokens: 5,
    });
    const details = client === 'chat' ? 'prompt_tokens_details' : 'input_tokens_details';
    expect(usage[details]).toMatchObject({ cached_tokens: 5 });
    if (upstream === 'messages') {
      expect(usage[details]).toMatchObject({
        cache_write_tokens: written,
        cache_creation_token_details: lifetimes,
      });
      return;
    }
    const output = client === 'chat' ? 'completion_tokens_details' : 'output_tokens_details';
    expect(usage[output]).toMatchObject({ reasoning_tokens: 3 });
  });

  it.each(MODES)('an upstream without usage is answered: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'Uncounted' }], usage: null });
    const { text } = await talk(client, daemon, { model: modelTo(upstream) })
      .user('Count')
      .ask(mode);
    expect(text).toBe('Uncounted');
  });

  const STOPPED: readonly Stop[] = ['stop', 'length', 'refusal'];
  it.each(STOPPED.flatMap((stop) => MODES.map((mode) => [stop, mode] as const)))(
    'the stop reason %s is translated: %s',
    async (stop, mode) => {
      const { daemon, upstream: mock } = gateway();
      mock.play({ steps: [{ text: 'So far' }], stop, usage: { input: 4, output: 2 } });
      const answer = await talk(client, daemon, { model: modelTo(upstream), maxTokens: 1500 })
        .user('Go on')
        .ask(mode);
      expect(answer.text).toBe('So far');
      expect(answer.stop).toBe(STOPS[stop as 'stop'][client]);
    },
  );

  it('stop sequences are translated, except for responses, which has none', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({
      steps: [{ text: 'One, two' }],
      stop: 'stop-sequence',
      stopSequence: 'three',
      usage: { input: 4, output: 2 },
    });
    const word = client === 'messages' ? 'stop_sequences' : 'stop';
    const ask = talk(client, daemon, {
      model: modelTo(upstream),
      ...(client !== 'responses' && { more: { [word]: ['three'] } }),
    }).user('Count');
    const { text, stop, raw } = await ask.ask();
    expect(text).toBe('One, two');
    if (client === 'messages' && upstream === 'messages') {
      expect(stop).toBe('stop_sequence');
      expect(raw.stop_sequence).toBe('three');
    }
    if (client === 'responses' || upstream === 'responses') return;
    const { body } = mock.only();
    expect(body[upstream === 'messages' ? 'stop_sequences' : 'stop']).toEqual(['three']);
  });
});

describe('the usage of a chat stream', () => {
  it.each(['chat', 'responses', 'messages'] as const)(
    'upstream %s: is sent only with stream_options.include_usage',
    async (upstream) => {
      const { daemon, upstream: mock } = gateway();
      mock.play({ steps: [{ text: 'Hello' }], usage: { input: 4, output: 2 } });
      const ask = (more: object) =>
        talk('chat', daemon, { model: modelTo(upstream), more: { ...more } })
          .user('Hello')
          .ask('events');
      const withUsage = await ask({ stream_options: { include_usage: true } });
      const usageChunks = withUsage.events.filter(({ usage }) => usage);
      expect(usageChunks).toHaveLength(1);
      expect(usageChunks[0].choices).toEqual([]);
      expect(withUsage.events.at(-1)).toBe(usageChunks[0]);
      const withoutUsage = await ask({ stream_options: undefined });
      expect(withoutUsage.events.filter((event) => 'usage' in event)).toEqual([]);
      expect(withoutUsage.events.filter(({ choices }) => choices.length === 0)).toEqual([]);
      expect(withoutUsage.text).toBe('Hello');
    },
  );
});

describe('an upstream that reports no usage', () => {
  const UNCOUNTED: Script = { steps: [{ text: 'Oslo is the capital.' }], usage: null };

  it.each(['chat', 'responses'] as const)(
    'of %s: clients of messages get what is charged',
    async (to) => {
      const { daemon, upstream: mock } = gateway();
      const key = await newKey(daemon, `uncounted-${to}`);
      mock.play(UNCOUNTED);
      const body = plainBody('messages', modelTo(to), { stream: true });
      const stream = await (await send(daemon, 'messages', body, { key })).text();
      const events = stream.split('\n').filter((line) => line.startsWith('data: '));
      const [first, ...others] = events.map((line) => JSON.parse(line.slice('data: '.length)));
      const input = first.message.usage.input_tokens;
      expect(input).toBeGreaterThan(5);
      const { usage } = others.find(({ type }) => type === 'message_delta');
      expect(usage).toMatchObject({ input_tokens: input, output_tokens: 5 });
      const { spent } = (await settled(daemon, key)).credits;
      expect(spent).toBeCloseTo((input * 1000 + 5 * 10_000) / 1_000_000, 6);
      const whole = await send(daemon, 'messages', plainBody('messages', modelTo(to)), { key });
      expect(await whole.json()).toMatchObject({ usage: { output_tokens: 5 } });
    },
  );

  it.each(['', 'stream'])('clients of gemini get it too %s', async (stream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(UNCOUNTED);
    const method = stream === '' ? 'generateContent' : 'streamGenerateContent?alt=sse';
    const response = await daemon.send(`/v1beta/models/${modelTo('chat')}:${method}`, {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    });
    expect(await response.text()).toMatch(
      /"usageMetadata":\{"promptTokenCount":[1-9]\d*,"candidatesTokenCount":5,/,
    );
  });
});
