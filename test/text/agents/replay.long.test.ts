import { beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../ask.ts';
import { DIALECTS, gatewayConfig, newKey, sharedGateway } from '../gateway-daemon.ts';
import { type Item, listedTask, mainConversation, readFixtures } from './fixture.ts';
import { replay } from './replay.ts';
import { scriptedTurn } from './scripted-model.ts';

/** Models that do not reason and whose answers are short: agents ask for more. */
const gateway = sharedGateway((url) => {
  const { models } = gatewayConfig(url) as { models: Readonly<Record<string, object>> };
  const short = { reasoning: undefined, maxOutputTokens: 8000 };
  const entries = Object.entries(models).map(([id, model]) => [id, { ...model, ...short }]);
  return { models: Object.fromEntries(entries) };
});

/** The key of an account that does not pay the providers: the owner may use more. */
let key: string;

beforeAll(async () => {
  key = await newKey(gateway().daemon, 'replaying', { credits: '1000000' });
});

const UPSTREAMS = [...DIALECTS, 'gemini'] as const;
const modelTo = (upstream: string) => `to-${upstream}`;

/** Ids of the calls whose results an agent adds in a turn. */
function resultIdsOf(add: readonly Item[]): string[] {
  return add.flatMap((item) => {
    if (item.type?.endsWith('_call_output')) return [item.call_id];
    if (item.role === 'tool') return [item.tool_call_id];
    if (item.parts) return item.parts.flatMap((part: Item) => part.functionResponse?.id ?? []);
    if (!Array.isArray(item.content)) return [];
    return item.content.flatMap(({ type, tool_use_id }: Item) =>
      type === 'tool_result' ? [tool_use_id] : [],
    );
  });
}

describe.each(readFixtures())('recorded requests of %s', (_name, fixture) => {
  const main = mainConversation(fixture);

  it.each(UPSTREAMS)('finish a task of several turns on an upstream of %s', async (upstream) => {
    const { daemon, upstream: mock } = gateway();
    mock.play(scriptedTurn);
    const answers = await replay(daemon, fixture, main, { model: modelTo(upstream), key });
    expect(answers.map(({ refusal }) => refusal)).toEqual(main.turns.map(() => ''));
    expect(answers.every(({ isComplete }) => isComplete)).toBe(true);
    // The ids of calls are those of the recorded run, so that each recorded result has its call.
    const results = main.turns.slice(1).map(({ add }) => resultIdsOf(add));
    answers.slice(0, -1).forEach(({ callIds }, index) => {
      expect(results[index]).toEqual(expect.arrayContaining([...callIds]));
      expect(callIds.length).toBeGreaterThan(0);
    });
    expect(answers.at(-1)!.text).toContain('/project/notes.txt has 8 words.');
    expect(mock.requests).toHaveLength(main.turns.length);
  });

  const others = fixture.conversations.filter((one) => one !== main);
  // Some agents begin no other conversation.
  if (others.length > 0) {
    it('are accepted beside the task, for titles and notes', async () => {
      const { daemon, upstream: mock } = gateway();
      for (const conversation of others) {
        for (const upstream of UPSTREAMS) {
          mock.play(scriptedTurn);
          const answers = await replay(daemon, fixture, conversation, { model: modelTo(upstream) });
          const expected = conversation.turns.map(() => 'Grey notes');
          expect(answers.map(({ text }) => text)).toEqual(expected);
        }
      }
    });
  }

  it('make the calls that the prompt lists on the sandbox', async () => {
    const task = listedTask(fixture);
    const listed = (item: Item) => replaceTask(item, task);
    const options = { model: 'sandbox-chat', change: listed };
    const answers = await replay(gateway().daemon, fixture, main, options);
    expect(answers.map(({ refusal }) => refusal)).toEqual(main.turns.map(() => ''));
    expect(answers.every(({ isComplete }) => isComplete)).toBe(true);
    const last = main.turns.length - 1;
    expect(answers.map(({ callIds }) => callIds.length)).toEqual([...Array(last).fill(1), 0]);
    expect(answers[last]!.text).toContain('This is the sandbox');
  });
});

it('annotations and log probabilities of a text in the history are left out for other formats', async () => {
  // As the Agents SDK of OpenAI repeats what it read from a stream.
  const text = { type: 'text', text: 'Let me see.', annotations: [], logprobs: [] };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [text] },
    { role: 'user', content: 'Go on' },
  ];
  for (const upstream of UPSTREAMS) {
    const { status } = await ask(gateway(), 'chat', modelTo(upstream), { messages });
    expect([upstream, status]).toEqual([upstream, 200]);
  }
});

it('a name beside the function of a tool is refused by other formats if it differs', async () => {
  const send = (name: string) => {
    const tools = [{ type: 'function', name, function: { name: 'shell' } }];
    return ask(gateway(), 'chat', modelTo('messages'), { tools });
  };
  expect((await send('shell')).status).toBe(200);
  const { status, error } = await send('other');
  expect([status, error.param]).toEqual([400, 'tools[0].name']);
});

/** An item with another text in place of the task. */
function replaceTask(item: Item, task: string): Item {
  const json = JSON.stringify(item, (_key, value) =>
    typeof value === 'string' && value.startsWith('Read /project') ? task : value,
  );
  return JSON.parse(json);
}
