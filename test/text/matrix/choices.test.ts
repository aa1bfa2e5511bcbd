import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { settled } from '../account.ts';
import { DIALECTS, modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';

const gateway = sharedGateway();

describe.each(DIALECTS)('a chat request with n: 2, upstream %s', (upstream) => {
  const ask = (rest: object) => {
    const { daemon } = gateway();
    const client = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
    return client.chat.completions.create({
      model: modelTo(upstream),
      messages: [{ role: 'user', content: 'Name one' }],
      n: 2,
      ...rest,
    });
  };
  const play = () => {
    const { upstream: mock } = gateway();
    const steps = [{ text: 'Oslo' }] as const;
    const other = [{ call: 'pick', id: 'call_z', arguments: '{"city":"Rome"}' }] as const;
    const scripts: Script[] =
      upstream === 'chat'
        ? [{ steps, choices: [other], usage: USAGE }]
        : [
            { steps, usage: USAGE },
            { steps: other, usage: USAGE },
          ];
    mock.play(...scripts);
    return mock;
  };
  /** The choices in any order: answers of separate upstream requests may finish in any order. */
  const FOUND = [
    ['Oslo', undefined, 'stop'],
    [null, 'pick', 'tool_calls'],
  ];

  it('gets both choices and their summed usage in one answer', async () => {
    const mock = play();
    const { choices, usage } = (await ask({})) as OpenAI.ChatCompletion;
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    const found = choices.map(({ message, finish_reason }) => [
      message.content,
      (message.tool_calls?.[0] as { function: { name: string } } | undefined)?.function.name,
      finish_reason,
    ]);
    expect(found).toEqual(expect.arrayContaining(FOUND));
    const fetched = upstream === 'chat' ? 1 : 2;
    expect(mock.requests).toHaveLength(fetched);
    expect(usage!.completion_tokens).toBe(USAGE.output * fetched);
  });

  it('gets both choices and their summed usage in one stream', async () => {
    play();
    const stream = (await ask({
      stream: true,
      stream_options: { include_usage: true },
    })) as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>;
    const found = [
      [null, undefined, null],
      [null, undefined, null],
    ] as (string | null | undefined)[][];
    const roles = [0, 0];
    const ids = new Set<string>();
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      ids.add(chunk.id);
      usage = chunk.usage ?? usage;
      for (const { index, delta, finish_reason } of chunk.choices) {
        const choice = found[index]!;
        if (delta.role) roles[index]! += 1;
        if (delta.content) choice[0] = (choice[0] ?? '') + delta.content;
        if (delta.tool_calls?.[0]?.function?.name) choice[1] = delta.tool_calls[0].function.name;
        if (finish_reason) {
          expect(choice[2]).toBeNull();
          choice[2] = finish_reason;
        }
      }
    }
    expect(found).toEqual(expect.arrayContaining(FOUND));
    expect(roles).toEqual([1, 1]);
    expect(ids.size).toBe(1);
    expect(usage!.completion_tokens).toBe(USAGE.output * (upstream === 'chat' ? 1 : 2));
  });

  it('throws in the client if one of the two streams is cut off', async () => {
    const mock = play();
    if (upstream === 'chat') {
      // Cut after the end of the first choice and the start of the second.
      mock.play({
        steps: [{ text: 'Oslo' }],
        choices: [[{ text: 'Rome' }]],
        fault: { after: 5, how: 'end' },
      });
    } else {
      mock.play({ steps: [{ text: 'Oslo' }] }, { steps: [{ text: 'Rome' }, { fail: 'end' }] });
    }
    const stream = (await ask({ stream: true })) as unknown as AsyncIterable<object>;
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow(OpenAI.APIError);
  });
});

it('asks for eight of many choices at once, and aborts all of them when the client disconnects', async () => {
  const { daemon, upstream: mock } = gateway();
  const key = await newKey(daemon, 'choices');
  mock.play({ steps: [{ text: 'Oslo' }, { wait: new Promise(() => {}) }] });
  const client = new OpenAI({ apiKey: key, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const disconnect = new AbortController();
  const asked = client.chat.completions.create(
    {
      model: modelTo('messages'),
      messages: [{ role: 'user', content: 'Name one' }],
      n: 20,
      stream: true,
      max_completion_tokens: 100,
    },
    { signal: disconnect.signal },
  );
  await mock.received(7);
  for await (const { choices } of await asked) if (choices[0]?.index === 7) break;
  disconnect.abort();
  const ends = await Promise.all(mock.requests.map(({ closed }) => closed));
  expect(ends).toEqual(Array.from({ length: 8 }, () => 'cut'));
  // Eight inputs of ten tokens and more, at 0.001 each.
  expect((await settled(daemon, key)).credits.spent).toBeGreaterThan(0.08);
});

describe.each([false, true])('eight answers by requests of their own, streamed: %s', (stream) => {
  /** Asks for eight answers of an upstream of which the requests from `first` to `last` fail. */
  async function askWithFailures(account: string, first: number, last: number) {
    const { daemon, upstream: mock } = gateway();
    const key = await newKey(daemon, `${account}-${stream}`, { credits: '10000' });
    let requests = 0;
    mock.play(() => {
      requests += 1;
      const fails = requests >= first && requests <= last;
      return fails ? { refuse: { status: 500 } } : { steps: [{ text: 'Oslo' }], usage: USAGE };
    });
    const messages = [{ role: 'user', content: 'Name one' }];
    const body = { messages, n: 8, stream, max_completion_tokens: 100 };
    const response = await send(daemon, 'chat', plainBody('chat', 'to-messages-or-chat', body), {
      key,
    });
    const text = await response.text();
    const { spent } = (await settled(daemon, key)).credits;
    return { status: response.status, text, requests, spent };
  }

  /** 18 input tokens at 1000 per million, 5 cached at 100, 11 output at 10000. */
  const COST = (18 * 1000 + 5 * 100 + 11 * 10_000) / 1_000_000;

  it('repeat only the one that fails', async () => {
    const { status, text, requests, spent } = await askWithFailures('repeats', 3, 3);
    expect(status).toBe(200);
    expect(text.match(/Oslo/g) ?? text.match(/Os/g)).toHaveLength(8);
    expect(text).not.toContain('error');
    expect(requests).toBe(9);
    expect(spent).toBeCloseTo(8 * COST, 6);
  });

  it('cost what was reported of the others where one fails for good', async () => {
    const { status, text, spent } = await askWithFailures('fails', 8, Infinity);
    expect(status).toBe(stream ? 200 : 502);
    expect(text).toContain('error');
    expect(spent).toBeCloseTo(7 * COST, 6);
  });
});

it('gets many choices in one answer', async () => {
  const { daemon, upstream: mock } = gateway();
  mock.play({ steps: [{ text: 'Oslo' }], usage: USAGE });
  const client = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
  const { choices, usage } = await client.chat.completions.create({
    model: modelTo('responses'),
    messages: [{ role: 'user', content: 'Name one' }],
    n: 20,
  });
  expect(choices.map(({ index, message }) => [index, message.content])).toEqual(
    Array.from({ length: 20 }, (_, index) => [index, 'Oslo']),
  );
  expect(mock.requests).toHaveLength(20);
  expect(usage!.completion_tokens).toBe(20 * USAGE.output);
});
