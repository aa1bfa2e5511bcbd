import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../../daemon.ts';
import { DIALECTS, gatewayConfig, modelTo, sharedGateway } from '../../gateway-daemon.ts';
import { USAGE } from '../../script.ts';

const gateway = sharedGateway((url) => {
  const { providers, models } = gatewayConfig(url) as Record<string, object>;
  const routes = [{ provider: 'other', model: 'up' }];
  return {
    providers: { ...providers, other: { kind: 'oriel', baseUrl: url } },
    models: { ...models, 'to-oriel': { type: 'text', routes } },
  };
});

function client(): OpenAI {
  const baseURL = `${gateway().daemon.url}/v1`;
  return new OpenAI({ apiKey: OWNER_KEY, baseURL, maxRetries: 0 });
}

const create = (body: object) =>
  client().completions.create(body as OpenAI.CompletionCreateParamsNonStreaming);
const stream = (body: object) =>
  client().completions.create({ ...body, stream: true } as OpenAI.CompletionCreateParamsStreaming);

describe.each([...DIALECTS.map(modelTo), 'to-oriel'])(
  'a legacy completion by the model %s',
  (model) => {
    const play = () => {
      const { upstream } = gateway();
      upstream.play({
        steps: [{ reasoning: 'Hm.' }, { text: 'Good ' }, { text: 'day' }],
        usage: USAGE,
      });
      return upstream;
    };

    it('is a whole text_completion with usage', async () => {
      const mock = play();
      const answer = await create({
        model,
        prompt: 'Say',
        max_tokens: 50,
        temperature: 0.5,
        user: 'u',
      });
      expect(answer).toMatchObject({
        id: expect.stringMatching(/^cmpl-/),
        object: 'text_completion',
        model,
        choices: [{ index: 0, text: 'Good day', logprobs: null, finish_reason: 'stop' }],
        usage: { prompt_tokens: USAGE.input, completion_tokens: USAGE.output },
      });
      const { body } = mock.only();
      expect(JSON.stringify(body)).toContain('"Say"');
      expect(body).not.toHaveProperty('prompt');
      expect(body).toMatchObject({ model: expect.stringMatching(/^up/), temperature: 0.5 });
    });

    it('is streamed as text_completion chunks, with usage where it is asked for', async () => {
      play();
      const chunks: OpenAI.Completion[] = [];
      const more = { echo: true, stream_options: { include_usage: true } };
      for await (const chunk of await stream({ model, prompt: 'Say: ', ...more }))
        chunks.push(chunk);
      const choices = chunks.flatMap((chunk) => chunk.choices);
      expect(choices.map(({ text }) => text).join('')).toBe('Say: Good day');
      expect(choices.map(({ finish_reason }) => finish_reason).filter(Boolean)).toEqual(['stop']);
      expect(new Set(chunks.map(({ id, object }) => `${object} ${id}`)).size).toBe(1);
      expect(chunks.at(-1)).toMatchObject({
        choices: [],
        usage: { completion_tokens: USAGE.output },
      });
      expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    });

    it('that fails has the error of the upstream, and a broken stream throws', async () => {
      const { upstream } = gateway();
      upstream.play({
        refuse: { status: 429, body: { error: { message: 'slow down', type: 'x' } } },
      });
      await expect(create({ model, prompt: 'Say' })).rejects.toMatchObject({
        status: 429,
        type: 'rate_limit',
      });
      upstream.play({ steps: [{ text: 'Good ' }, { fail: 'reset' }] });
      const read = async () => {
        for await (const _ of await stream({ model, prompt: 'Say' }));
      };
      await expect(read()).rejects.toThrow();
    });
  },
);

describe('a legacy completion of the sandbox', () => {
  const ask = (more: object) => create({ model: 'sandbox-chat', prompt: 'Say', ...more });

  it('answers each prompt of a list by itself, n times, in the order of the prompts', async () => {
    const prompt = ['One, please', 'Two, please'];
    const single = await Promise.all(prompt.map((one) => ask({ prompt: one })));
    const { choices, usage } = await ask({ prompt, n: 2, echo: true });
    const [first, second] = single.map(({ choices: [choice] }) => choice!.text);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(choices[0]!.text).toBe(`One, please${first}`);
    expect(choices[2]!.text).toBe(`Two, please${second}`);
    for (const [index, { text }] of choices.entries()) {
      expect(text.startsWith(prompt[Math.floor(index / 2)]!)).toBe(true);
    }
    const sum = single.reduce((tokens, one) => tokens + one.usage!.prompt_tokens, 0);
    expect(usage!.prompt_tokens).toBe(2 * sum);
    const texts = ['', '', '', ''];
    for await (const chunk of await stream({ model: 'sandbox-chat', prompt, n: 2, echo: true })) {
      for (const { index, text } of chunk.choices) texts[index] += text;
    }
    expect(texts).toEqual(choices.map(({ text }) => text));
  });

  it('ends at a stop sequence and at its limit, and is charged', async () => {
    const whole = (await ask({})).choices[0]!.text;
    const stop = whole.split(' ')[3]!;
    const { choices } = await ask({ stop });
    expect(choices[0]).toMatchObject({ text: whole.split(stop)[0], finish_reason: 'stop' });
    expect((await ask({ max_tokens: 2 })).choices[0]!.finish_reason).toBe('length');
    const usage = await gateway().daemon.request('/v1/account/usage?by=model');
    expect(JSON.stringify(await usage.json())).toContain('"sandbox-chat"');
  });

  it.each([
    ['suffix', { suffix: 'end' }, 'unsupported_parameter'],
    ['logprobs', { logprobs: 0 }, 'unsupported_parameter'],
    ['best_of', { best_of: 3 }, 'unsupported_parameter'],
    ['n', { n: 65, prompt: ['a', 'b'] }, null],
    ['prompt', { prompt: undefined }, null],
    ['prompt', { prompt: '' }, null],
    ['prompt[1]', { prompt: ['a', ''] }, null],
    ['prompt', { prompt: [] }, null],
    ['prompt[0]', { prompt: [1, 2, 3] }, null],
    ['prompt[0]', { prompt: [[1, 2], [3]] }, null],
    ['prompt', { prompt: Array(21).fill('a') }, null],
    ['max_tokens', { max_tokens: 0 }, null],
    ['stop', { stop: ['1', '2', '3', '4', '5'] }, null],
  ])('refuses %s: %j', async (param, more, code) => {
    await expect(ask(more)).rejects.toMatchObject({ status: 400, param, code });
  });

  it.each([{ suffix: '' }, { logprobs: null }, { best_of: 1 }, { best_of: 2, n: 2 }])(
    'accepts %j, which asks for nothing that is missing',
    async (more) => {
      expect((await ask(more)).choices[0]!.text).not.toBe('');
    },
  );

  it('is no dialect of upstreams, and is in the catalog', async () => {
    const { endpoints } = (await client().models.retrieve('sandbox-chat')) as unknown as {
      endpoints: string[];
    };
    expect(endpoints).toContain('/v1/completions');
  });
});
