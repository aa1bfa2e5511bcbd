import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { describe, expect, it } from 'vitest';
import { ask } from '../ask.ts';
import { DIALECTS, modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import type { Item } from './fixture.ts';
import { clientFor, settingsOf, THINKING, work } from './messages-agent.ts';
import { scriptedTurn, taskOn } from './scripted-model.ts';

const gateway = sharedGateway();

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

describe.each(DIALECTS)('tools that Anthropic defines, upstream %s', (dialect) => {
  const model = modelTo(dialect);

  it('the memory of the SDK is called by its tool runner', async () => {
    const { daemon, upstream: mock } = gateway();
    const call = (command: object) => ({ arguments: JSON.stringify(command), call: 'memory' });
    mock.play(
      { steps: [{ ...call({ command: 'view', path: '/memories' }), id: 'call_1' }] },
      {
        steps: [
          {
            ...call({ command: 'create', path: '/memories/a.md', file_text: 'Grey.' }),
            id: 'call_2',
          },
        ],
      },
      { steps: [{ text: 'Noted.' }] },
    );
    const done: string[] = [];
    const unused = async () => 'unused';
    const memory = betaMemoryTool({
      view: async ({ path }) => `view ${path}`,
      create: async ({ path, file_text }) => {
        done.push(`${path}: ${file_text}`);
        return 'created';
      },
      ...{ str_replace: unused, insert: unused, delete: unused, rename: unused },
    });
    const runner = clientFor(daemon).beta.messages.toolRunner({
      model,
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Remember grey' }],
      tools: [memory],
      betas: ['context-management-2025-06-27'],
      stream: true,
    });
    const answers: unknown[] = [];
    for await (const stream of runner) answers.push((await stream.finalMessage()).content.at(-1));
    expect(answers.at(-1)).toMatchObject({ text: 'Noted.' });
    expect(done).toEqual(['/memories/a.md: Grey.']);
    expect(mock.requests.at(-1)!.text).toContain('view /memories');
  });

  it.each([undefined, null, '', 7, {}])('without a valid name are not called: %j', async (name) => {
    const tools = [{ type: 'memory_20250818', name }];
    const { status } = await ask(gateway(), 'messages', model, { tools });
    expect(status).toBe(dialect === 'messages' ? 200 : 400);
  });

  it('the shell, the editor and examples of inputs reach the model', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play({
      steps: [
        { call: 'bash', id: 'call_1', arguments: '{"command":"ls"}' },
        { call: 'str_replace_based_edit_tool', id: 'call_2', arguments: '{"command":"view"}' },
      ],
    });
    const own = { name: 'find', input_schema: { type: 'object' as const } };
    const { content } = await clientFor(daemon).beta.messages.create({
      model,
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Go' }],
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        {
          type: 'text_editor_20250728',
          name: 'str_replace_based_edit_tool',
          max_characters: 5000,
        },
        { ...own, description: 'Finds.', input_examples: [{ query: 'a "b"' }] },
      ],
    });
    expect(content).toMatchObject([
      { type: 'tool_use', name: 'bash', input: { command: 'ls' } },
      { type: 'tool_use', name: 'str_replace_based_edit_tool' },
    ]);
    const { tools } = mock.only().body;
    if (dialect === 'messages') {
      expect(tools).toMatchObject([{ type: 'bash_20250124' }, { max_characters: 5000 }, own]);
      return;
    }
    const functions = tools.map((tool: Item) => tool.function ?? tool);
    expect(functions).toMatchObject([
      { name: 'bash', parameters: { properties: { command: { type: 'string' } } } },
      {
        description: expect.stringContaining('5000 characters'),
        parameters: { properties: { insert_text: { type: 'string' } } },
      },
      { description: 'Finds.\n\nExample of an input: {"query":"a \\"b\\""}' },
    ]);
  });
});

it.each([
  [{ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'a' }] }, 'mcp_servers'],
  [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management'],
  [
    {
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] },
      ],
    },
    'messages[0].content[0]',
  ],
])(
  'what runs or is stored at Anthropic is refused to tenants by every upstream: %j',
  async (more, param) => {
    const key = await newKey(gateway().daemon, `agent-${param}`, { credits: '10000' });
    for (const model of DIALECTS.map(modelTo)) {
      const { status, error } = await ask(gateway(), 'messages', model, more, { key });
      expect([model, status]).toEqual([model, 400]);
      expect(error.param).toContain(param);
    }
  },
);
