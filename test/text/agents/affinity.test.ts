import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayDaemon, REASONING, UPSTREAM_KEYS } from '../gateway-daemon.ts';
import { type MockUpstream, type Play, startMockUpstream } from '../mock-upstream.ts';
import type { Script } from '../script.ts';
import { type Item, mainConversation, readFixture } from './fixture.ts';
import { settingsOf, THINKING, work } from './messages-agent.ts';
import { replay } from './replay.ts';
import { scriptedTurn, taskOn } from './scripted-model.ts';

let second: MockUpstream;
beforeAll(async () => {
  second = await startMockUpstream();
});
afterAll(() => second.close());

/** A model with two routes, which rest so briefly that they are well at the next request. */
const gateway = gatewayDaemon((url) => {
  const providers = {
    first: { kind: 'openai', baseUrl: url, apiKey: UPSTREAM_KEYS.openai },
    second: { kind: 'openai', baseUrl: second.url, apiKey: UPSTREAM_KEYS.openai },
  };
  const routes = Object.keys(providers).map((provider) => ({ provider, model: 'chat' }));
  return {
    routing: { retries: 0, cooldown: { after: 1, for: '1ms' } },
    providers,
    models: { 'to-either': { type: 'text', routes, reasoning: REASONING } },
  };
});

const DOWN: Script = { refuse: { status: 500, body: '' } };
const FILE = '/project/notes.txt';

/** Runs the task of an agent. @returns the refusals */
type Agent = (round: number) => Promise<readonly string[]>;

/** Replays recorded requests as another session of the agent. */
function recorded(name: string): Agent {
  return async (round) => {
    const fixture = readFixture(name);
    const main = mainConversation(fixture);
    const { prompt_cache_key: key } = main.body as Item;
    const label = key && { prompt_cache_key: `${key}-${round}` };
    const change = (item: Item) =>
      JSON.parse(JSON.stringify(item).replaceAll('wc -w', `wc -${'w'.repeat(round + 1)}`));
    const conversation = { ...main, body: { ...main.body, ...label } };
    const answers = await replay(gateway().daemon, fixture, conversation, {
      model: 'to-either',
      change,
    });
    return answers.map(({ refusal }) => refusal);
  };
}

const messagesAgent: Agent = async (round) => {
  const thinking = THINKING['enabled']!;
  const files = new Map([[FILE, 'The sky is blue.\n']]);
  const { metadata } = settingsOf('to-either', thinking);
  const user = { metadata: { user_id: `${metadata.user_id}${round}` } };
  const own = { ...thinking, settings: { ...thinking.settings, ...user } };
  const task = { model: 'to-either', task: taskOn(FILE), thinking: own };
  const answers = await work(gateway().daemon, task, files);
  return answers.map(() => '');
};

const AGENTS: readonly (readonly [string, Agent])[] = [
  ['codex-responses', recorded('codex-responses')],
  ['codex-chat', recorded('codex-chat')],
  ['opencode-chat', recorded('opencode-chat')],
  ['opencode-messages', recorded('opencode-messages')],
  ['an agent of messages', messagesAgent],
];

/** The scripted model, of which one answer waits. */
function waitingAt(number: number, wait: () => Promise<unknown>): Play {
  let requests = 0;
  return (format, body) => {
    const script = scriptedTurn(format, body);
    requests += 1;
    return requests === number ? { ...script, before: wait() } : script;
  };
}

let reloads = 0;
async function reload(): Promise<void> {
  reloads += 1;
  const model = reloads % 2 === 1 ? 'upstream' : 'public';
  await gateway().daemon.reload({ answers: { model } });
}

describe.each(AGENTS)('a conversation of %s', (_name, agent) => {
  it('stays with the route that it moved to, across a reload and when the first is well', async () => {
    const { upstream } = gateway();
    upstream.play(DOWN, scriptedTurn);
    second.play(waitingAt(2, reload));
    const refusals = await agent(0);
    expect(refusals).toEqual(refusals.map(() => ''));
    expect(upstream.requests).toHaveLength(1);
    expect(second.requests).toHaveLength(refusals.length);
  });

  it('moves when that route cools down, and stays when it returns', async () => {
    const { upstream } = gateway();
    upstream.play(DOWN, scriptedTurn);
    second.play(scriptedTurn, DOWN, scriptedTurn);
    const refusals = await agent(1);
    expect(refusals).toEqual(refusals.map(() => ''));
    expect(second.requests).toHaveLength(2);
    expect(upstream.requests).toHaveLength(refusals.length);
  });
});
