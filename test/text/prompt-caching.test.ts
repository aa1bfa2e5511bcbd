import { describe, expect, it } from 'vitest';
import { settled } from './account.ts';
import { type Item, mainConversation, readFixture } from './agents/fixture.ts';
import { PromptCache } from './agents/prompt-cache.ts';
import { replay } from './agents/replay.ts';
import { ask } from './ask.ts';
import { newKey, sharedGateway } from './gateway-daemon.ts';

const PRICE = { input: 1000, cachedInput: 100, cacheWrite: 1250, output: 1000 };

const gateway = sharedGateway(() => {
  const model = (promptCaching?: string) => ({
    type: 'text',
    routes: [{ provider: 'anthropic', model: 'upstream', promptCaching }],
    maxOutputTokens: 8000,
    price: PRICE,
  });
  return { models: { unset: model(), off: model('off'), auto: model('auto') } };
});

const MARK = { type: 'ephemeral' };
const LONG = 'The grass is green, and the sky is blue. '.repeat(60);
const text = (content: string, more: object = {}) => ({ type: 'text', text: content, ...more });
const user = (...content: Item[]) => ({ role: 'user', content });
const call = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} });
const called = (...ids: string[]) => ({ role: 'assistant', content: ids.map(call) });
const result = (id: string, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'The sky is blue.',
  ...more,
});
const tool = (name: string, more: object = {}) => ({
  name,
  input_schema: { type: 'object', properties: { cache_control: { type: 'string' } } },
  ...more,
});
const functionTool = { type: 'function', function: { name: 'read', description: LONG } };
const answered = [{ role: 'assistant', content: 'Yes.' }, user(text('Why?'))];

/** Where a body has marks. */
function marksIn(value: Item, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const own = `${path}${Array.isArray(value) ? `[${name}]` : `.${name}`}`;
    if (name !== 'cache_control' || path.endsWith('properties')) return marksIn(inner, own);
    expect(inner).toEqual(MARK);
    return [path.slice(1)];
  });
}

describe('promptCaching: auto', () => {
  it.each<[string, Item, string[]]>([
    [
      'marks tools, a text of the system, and the last two turns of the user',
      {
        system: LONG,
        tools: [tool('list'), tool('read')],
        messages: [
          ...[user(text('Hello')), called('a'), user(result('a')), called('b')],
          ...[user(result('b')), called('c', 'd'), user(result('c'), result('d'), text('Go on'))],
        ],
      },
      ['system[0]', 'tools[1]', 'messages[4].content[0]', 'messages[6].content[2]'],
    ],
    [
      'takes several messages in a row as one turn',
      {
        tools: [tool('read', { description: LONG })],
        messages: [user(text('Hello')), called('a'), user(result('a')), user(text('Go on'))],
      },
      ['tools[0]', 'messages[0].content[0]', 'messages[3].content[0]'],
    ],
    [
      'marks a text that is the whole turn, and no turn of the system',
      {
        messages: [
          ...[{ role: 'user', content: LONG }, ...answered],
          { role: 'system', content: 'Be brief.' },
        ],
      },
      ['messages[0].content[0]', 'messages[2].content[0]'],
    ],
    [
      'marks no empty text, no other kind of block, and no tool that is loaded later',
      {
        system: [text(LONG), text(' ')],
        tools: [tool('read'), tool('search', { defer_loading: true })],
        messages: [
          user(text('Hello'), { type: 'search_result', source: 'a', title: 'b', content: [] }),
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'No.', signature: 's' }] },
          user(text('\n')),
        ],
      },
      ['system[0]', 'tools[0]', 'messages[0].content[0]'],
    ],
    [
      'marks the system alone of what may be a single request',
      { system: [text(LONG)], messages: [user(text('Hello'))] },
      ['system[0]'],
    ],
    ['leaves a short request as it is', { system: 'Be brief.', tools: [tool('read')] }, []],
  ])('%s', async (_name, given, expected) => {
    const { status, sent, ignored } = await ask(gateway(), 'messages', 'auto', given, {
      play: [new PromptCache().play],
    });
    expect([status, ignored]).toEqual([200, null]);
    expect(marksIn(sent).sort()).toEqual(expected.sort());
  });

  it.each<['chat' | 'messages' | 'responses', string, Item, string[]]>([
    ['messages', 'at the top', { cache_control: MARK }, ['']],
    ['messages', 'on a tool', { tools: [tool('read', { cache_control: MARK })] }, ['tools[0]']],
    [
      'messages',
      'within a result',
      {
        messages: [
          ...[user(text('Hello')), called('a')],
          user(result('a', { content: [text(LONG, { cache_control: MARK })] })),
        ],
      },
      ['messages[2].content[0].content[0]'],
    ],
    [
      'messages',
      'on a block that no other format has',
      {
        messages: [
          user({
            type: 'search_result',
            source: 'a',
            title: 'b',
            content: [],
            cache_control: MARK,
          }),
        ],
      },
      ['messages[0].content[0]'],
    ],
    [
      'chat',
      'on a message',
      { messages: [{ role: 'user', content: LONG, cache_control: MARK }, ...answered] },
      ['messages[0].content[0]'],
    ],
    [
      'chat',
      'of a kind that this version does not know',
      { messages: [{ role: 'user', content: LONG, cache_control: { type: 'new' } }, ...answered] },
      [],
    ],
    [
      'chat',
      'by options of the cache',
      { prompt_cache_options: { mode: 'explicit' }, messages: [user(text(LONG)), ...answered] },
      [],
    ],
    [
      'responses',
      'as a breakpoint',
      {
        input: [
          user({ type: 'input_text', text: LONG, prompt_cache_breakpoint: { mode: 'explicit' } }),
          { role: 'assistant', content: 'Yes.' },
          { role: 'user', content: 'Why?' },
        ],
      },
      ['messages[0].content[0]'],
    ],
  ])('adds no mark to those of a client of %s %s', async (client, _place, given, expected) => {
    const long = client === 'messages' ? { system: LONG, ...given } : given;
    const { status, sent } = await ask(gateway(), client, 'auto', long);
    expect(status).toBe(200);
    expect(marksIn(sent)).toEqual(expected);
  });

  it.each(['unset', 'off'])('is not in force where it is %s', async (model) => {
    const given = { system: LONG, tools: [tool('read')] };
    const { sent } = await ask(gateway(), 'messages', model, given);
    expect(sent).toMatchObject(given);
    expect(marksIn(sent)).toEqual([]);
  });

  it('reads what the request before wrote, after a turn of more results than Anthropic looks back', async () => {
    const cache = new PromptCache();
    const ids = Array.from({ length: 25 }, (_, index) => `call_${index}`);
    const first = [user(text(LONG)), called('a'), user(result('a'))];
    for (const messages of [
      first,
      [...first, called(...ids), user(...ids.map((id) => result(id)))],
    ]) {
      const given = { system: LONG, tools: [tool('read')], messages };
      await ask(gateway(), 'messages', 'auto', given, { play: [cache.play] });
    }
    const { requests, input, read, written } = cache.counted;
    expect(requests).toBe(2);
    // All that the first request wrote was read, and each token was written once.
    expect(read).toBeGreaterThan(1024);
    expect(read + written).toBe(input);
  });

  it('reserves the price of writing, so that no account owes credits', async () => {
    const { daemon } = gateway();
    const given = { tools: [functionTool], max_tokens: 1 };
    // The provider counts more than the reservation holds, all of it written to the cache.
    const play = [{ steps: [], usage: { input: 9000, output: 1, cacheWrite: 9000 } }];
    // Enough at the price of input.
    const poor = await newKey(daemon, 'poor', { credits: '3.6' });
    const refused = await ask(gateway(), 'chat', 'auto', given, { key: poor, play });
    expect(refused.status).toBe(402);
    const rich = await newKey(daemon, 'rich', { credits: '4.2' });
    const { status, sent } = await ask(gateway(), 'chat', 'auto', given, { key: rich, play });
    expect([status, marksIn(sent)]).toEqual([200, ['messages[0].content[0]', 'tools[0]']]);
    const { spent, available } = (await settled(daemon, rich)).credits;
    expect(spent).toBeGreaterThan(3.6);
    expect(available).toBeGreaterThanOrEqual(0);
  });
});

describe.each([
  ['codex-responses', 0],
  ['opencode-chat', 0],
  ['qwen-chat', 0],
  ['gemini-cli-gemini', 0],
  ['cline-messages', 0],
  // It sets marks of its own.
  ['claude-code-messages', 0.73],
])('input from the cache of the provider for %s', (name, without) => {
  it('is most of it with promptCaching: auto', async () => {
    const fixture = readFixture(name);
    const shares: number[] = [];
    for (const model of ['off', 'auto']) {
      const { daemon, upstream } = gateway();
      const cache = new PromptCache();
      upstream.play(cache.play);
      const answers = await replay(daemon, fixture, mainConversation(fixture), { model });
      expect(answers.map(({ refusal }) => refusal)).toEqual(answers.map(() => ''));
      shares.push(cache.share);
    }
    expect(shares[0]).toBeCloseTo(without, 2);
    expect(shares[1]).toBeGreaterThan(0.72);
  });
});
