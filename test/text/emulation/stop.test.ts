import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { settled } from '../account.ts';
import { MODES } from '../conversation.ts';
import { modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

/** A client's dialect, an upstream's that lacks the stop sequences, and the sequences. */
const CASES: readonly (readonly [DialectName, DialectName, readonly string[]])[] = [
  ['chat', 'responses', ['END', 'STOP']],
  ['messages', 'responses', ['END', 'STOP']],
  ['chat', 'messages', ['STOP', '\n\n']],
  ['messages', 'chat', ['STOP', '1', '2', '3', '\n\n']],
];

const fieldOf = (client: DialectName) => (client === 'chat' ? 'stop' : 'stop_sequences');

/** A text with a sequence in pieces, which goes on until the upstream is aborted. */
function endlessAfter(pieces: readonly string[]): Script {
  return { steps: [{ text: pieces.join(''), pieces }, { wait: new Promise(() => {}) }] };
}

/** Requests without reasoning, whose answers have no cost but what is seen. */
const PLAIN = {
  chat: { reasoning_effort: 'none' },
  messages: { thinking: { type: 'disabled' } },
} as const;

describe.each(CASES)('a client of %s, an upstream of %s, stop %j', (client, upstream, stop) => {
  const sequence = stop.includes('\n\n') ? '\n\n' : 'END';
  const [head, tail] = [sequence.slice(0, 1), sequence.slice(1)];
  const ask = (mode: (typeof MODES)[number]) =>
    talk(client, gateway().daemon, {
      model: modelTo(upstream),
      more: { [fieldOf(client)]: stop, ...PLAIN[client as keyof typeof PLAIN] },
    })
      .user('Count')
      .ask(mode);

  it.each(MODES)(
    'ends the answer before the sequence and aborts the upstream: %s',
    async (mode) => {
      const { upstream: mock } = gateway();
      mock.play(endlessAfter(['One, two', `, S, ${head}`, `${tail} and more`, ' and more']));
      const answer = await ask(mode);
      expect(answer.text).toBe('One, two, S, ');
      expect(answer.stop).toBe(client === 'chat' ? 'stop' : 'stop_sequence');
      if (client === 'messages') expect(answer.raw.stop_sequence).toBe(sequence);
      const { body, closed } = mock.only();
      expect(body).not.toHaveProperty('stop');
      expect(body).not.toHaveProperty('stop_sequences');
      expect(body.stream).toBe(true);
      expect(await closed).toBe('cut');
    },
  );

  it('passes an answer without the sequence whole, with the usage that was reported', async () => {
    const { upstream: mock } = gateway();
    const text = `No sequence but ${head}`;
    mock.play({ steps: [{ text }], usage: USAGE });
    const answer = await ask('events');
    expect(answer.text).toBe(text);
    expect(answer.stop).toBe(client === 'chat' ? 'stop' : 'end_turn');
    expect(answer.usage).toMatchObject(
      client === 'chat' ? { completion_tokens: USAGE.output } : { output_tokens: USAGE.output },
    );
  });
});

it('charges what arrived before the cut, by the usage that the client is sent', async () => {
  const { daemon, upstream: mock } = gateway();
  const key = await newKey(daemon, 'stopped');
  mock.play(endlessAfter(['word '.repeat(40), 'END']));
  const response = await send(
    daemon,
    'chat',
    plainBody('chat', modelTo('responses'), {
      stop: ['END'],
      stream: true,
      ...PLAIN.chat,
      stream_options: { include_usage: true },
    }),
    { key },
  );
  const text = await response.text();
  const { usage } = JSON.parse(/^data: (.*"usage":\{.*)\n\ndata: \[DONE\]/m.exec(text)![1]!);
  expect(usage.completion_tokens).toBe(51);
  expect(usage.prompt_tokens).toBeGreaterThan(5);
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const { credits } = await settled(daemon, key);
  expect(credits.spent).toBeCloseTo((input * 1000 + output * 10_000) / 1_000_000, 6);
});

describe.each([true, false])('an answer with reasoning that nobody sees; stream %s', (stream) => {
  const usage = { input: 23, output: 400, reasoning: 380 } as const;
  const text = 'It is 42. END and more';
  const pieces = ['It is 42. ', 'END', ' and more'];
  const ask = async (client: 'chat' | 'messages', account: string, script: Script) => {
    const { daemon, upstream: mock } = gateway();
    const key = await newKey(daemon, `${account}-${client}-${stream}`);
    mock.play(script);
    const more = {
      [fieldOf(client)]: ['END'],
      stream,
      ...(client === 'chat' && { max_completion_tokens: 500 }),
    };
    const body = plainBody(client, modelTo('responses'), more);
    const answer = await (await send(daemon, client, body, { key })).text();
    expect(answer).toContain('42.');
    expect(answer).not.toMatch(/ and more|"error"/);
    return { answer, spent: (await settled(daemon, key)).credits.spent };
  };

  it.each(['chat', 'messages'] as const)('costs %s clients what is reported', async (client) => {
    const { spent } = await ask(client, 'stop-hidden', { steps: [{ text, pieces }], usage });
    expect(spent).toBeCloseTo((23 * 1000 + 400 * 10_000) / 1_000_000, 6);
  });

  it('costs its limit where nothing is reported, as the client is told', async () => {
    const steps: Script['steps'] = [{ text, pieces }, { fail: 'silence' }];
    const { answer, spent } = await ask('messages', 'stop-silent', { steps, usage });
    expect(answer).toContain('"output_tokens":500');
    expect(spent).toBeGreaterThan((500 * 10_000) / 1_000_000);
    expect(spent).toBeLessThan((550 * 10_000) / 1_000_000);
  });

  it('ends well although the provider breaks off behind the sequence', async () => {
    const steps: Script['steps'] = [{ text, pieces }, { fail: 'reset' }];
    expect((await ask('chat', 'stop-reset', { steps, usage })).spent).toBeLessThan(0.5);
  });
});

it('ends at the sequence although the upstream goes on sending', async () => {
  const { upstream: mock } = gateway();
  mock.play({ steps: [{ text: 'First END', pieces: ['First ', 'END'] }, { fail: 'endless' }] });
  const answer = await talk('messages', gateway().daemon, {
    model: modelTo('responses'),
    more: { stop_sequences: ['END'] },
  })
    .user('Count')
    .ask('events');
  expect(answer.text).toBe('First ');
  expect(await mock.only().closed).toBe('cut');
});

it('cuts each of n answers by itself', async () => {
  const { daemon, upstream: mock } = gateway();
  mock.play(endlessAfter(['One END']), { steps: [{ text: 'Two' }], usage: USAGE });
  const client = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const { choices } = await client.chat.completions.create({
    model: modelTo('responses'),
    messages: [{ role: 'user', content: 'Count' }],
    n: 2,
    stop: 'END',
  });
  expect(choices.map(({ message }) => message.content).sort()).toEqual(['One ', 'Two']);
});
