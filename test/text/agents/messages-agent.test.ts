import { describe, expect, it } from 'vitest';
import { DIALECTS, gatewayConfig, gatewayDaemon, modelTo, REASONING } from '../gateway-daemon.ts';
import type { Item } from './fixture.ts';
import { clientFor, settingsOf, THINKING, work } from './messages-agent.ts';
import { scriptedTurn, taskOn } from './scripted-model.ts';

const gateway = gatewayDaemon((url) => {
  const { providers, models } = gatewayConfig(url) as Record<string, object>;
  const routes = [{ provider: 'sandbox', model: 'chat' }];
  return {
    providers: { ...providers, sandbox: { kind: 'sandbox' } },
    models: { ...models, 'sandbox-chat': { type: 'text', routes, reasoning: REASONING } },
  };
});

const FILE = '/project/notes.txt';
const newFiles = () => new Map([[FILE, 'The sky is blue.\nThe grass is green.\n']]);
const EDITED = 'The sky is grey.\nThe grass is green.\n';

/** The reasoning in the history of the last request to an upstream, by its opaque properties. */
const THOUGHTS: Readonly<Record<string, (body: Item) => unknown[]>> = {
  messages: ({ messages }) =>
    messages.flatMap(({ content }: Item) =>
      Array.isArray(content)
        ? content.flatMap(({ type, signature }) => (type === 'thinking' ? [signature] : []))
        : [],
    ),
  responses: ({ input }) =>
    input.flatMap((item: Item) => (item.type === 'reasoning' ? [item.encrypted_content] : [])),
};

describe.each(Object.entries(THINKING))('an agent of messages, thinking: %s', (name, thinking) => {
  it.each(DIALECTS)('finishes a task of several turns on an upstream of %s', async (upstream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(scriptedTurn);
    const files = newFiles();
    const model = modelTo(upstream);
    const answers = await work(daemon, { model, task: taskOn(FILE), thinking }, files);
    expect(files.get(FILE)).toBe(EDITED);
    expect(answers.map(({ stop_reason }) => stop_reason)).toEqual([
      ...Array(3).fill('tool_use'),
      'end_turn',
    ]);
    const calls = answers[0]!.content.filter(({ type }) => type === 'tool_use');
    expect(calls).toMatchObject([{ name: 'Read' }, { name: 'Bash' }]);
    expect(answers.at(-1)!.content.at(-1)).toMatchObject({ text: `${FILE} has 8 words.` });
    for (const { usage } of answers) {
      expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
      expect(usage.output_tokens).toBeGreaterThan(0);
    }
    const thoughts = THOUGHTS[upstream]?.(mock.requests.at(-1)!.body);
    const signature = upstream === 'messages' ? 'sig' : 'enc';
    if (thoughts && name !== 'none') {
      expect(thoughts).toEqual([0, 1, 2].map((round) => `${signature}-${round}`));
    }
  });

  it('finishes a task of several turns on the sandbox', async () => {
    const files = newFiles();
    const task = [
      'Do this:',
      `sandbox:call Read {"file_path": "${FILE}"}`,
      `sandbox:call Edit {"file_path": "${FILE}", "old_string": "blue", "new_string": "grey"}`,
      `sandbox:call Bash {"command": "wc -w ${FILE}"}`,
    ].join('\n');
    const answers = await work(gateway().daemon, { model: 'sandbox-chat', task, thinking }, files);
    expect(files.get(FILE)).toBe(EDITED);
    expect(answers).toHaveLength(4);
    expect(answers.at(-1)!.content.at(-1)).toMatchObject({
      text: expect.stringContaining(`8 ${FILE}`),
    });
  });
});

it.each(['to-chat', 'to-responses', 'sandbox-chat'])(
  'the tokens of a request with tools and thinking are estimated for %s',
  async (model) => {
    const { thinking } = THINKING['enabled']!.settings;
    const { system, tools, betas } = settingsOf(model, THINKING['enabled']!);
    const messages = [{ role: 'user' as const, content: taskOn(FILE) }];
    const request = { model, system, tools, betas, messages, ...(thinking && { thinking }) };
    const { data, response } = await clientFor(gateway().daemon)
      .beta.messages.countTokens(request)
      .withResponse();
    expect(data.input_tokens).toBeGreaterThan(100);
    expect(response.headers.get('x-oriel-estimate')).not.toBe(null);
  },
);

it.each([...DIALECTS.map(modelTo), 'sandbox-chat'])(
  'a probe of one token is answered by %s',
  async (model) => {
    const { daemon, upstream: mock } = gateway();
    mock.play({ steps: [{ text: 'quota' }], stop: 'length', usage: { input: 8, output: 1 } });
    const message = await clientFor(daemon).beta.messages.create({
      model,
      max_tokens: 1,
      messages: [{ role: 'user', content: 'quota' }],
      metadata: settingsOf(model, THINKING['none']!).metadata,
    });
    expect(message.stop_reason).toBe('max_tokens');
  },
);
