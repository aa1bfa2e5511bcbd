import { describe, expect, it } from 'vitest';
import type { Part, TextRequest, Turn } from '../../../src/text/canonical/canonical.ts';
import { answerTo, tool, turn } from './request.ts';

const PROMPT = [
  'Do this:',
  'sandbox:call read {"path": "a.txt"}',
  '  sandbox:call list',
  'Thanks.',
];
const tools = [tool('list'), tool('read')];

function call(id: string, name: string): Part {
  return { type: 'tool-call', id, name, arguments: '{}', path: 'messages[1]' };
}

function result(callId: string): Part {
  const path = 'messages[2]';
  const content = [{ type: 'text', text: 'seen', path } as const];
  return { type: 'tool-result', callId, content, isError: false, path };
}

async function callsAfter(turns: readonly Turn[], more: Partial<TextRequest> = {}) {
  const asked = [turn('user', PROMPT.join('\n')), ...turns];
  const { calls, text, end } = await answerTo('', { tools, turns: asked, ...more });
  const failure = end.type === 'error' ? end.failure.message : null;
  return { calls: calls.map(({ name, json }) => [name, json]), text, failure };
}

describe('calls that a prompt lists for the sandbox', () => {
  const first = [turn('assistant', call('a', 'read')), turn('user', result('a'))];
  const second = [turn('assistant', call('b', 'list')), turn('user', result('b'))];

  it('are made one in each answer, with their arguments', async () => {
    expect((await callsAfter([])).calls).toEqual([['read', '{"path": "a.txt"}']]);
    expect((await callsAfter(first)).calls).toEqual([['list', '{}']]);
  });

  it('are followed by a text that quotes the last result', async () => {
    const { calls, text } = await callsAfter([...first, ...second]);
    expect(calls).toEqual([]);
    expect(text).toContain('seen');
  });

  it('count a round whose calls and results are turns of their own once', async () => {
    const calling = [turn('assistant', call('a', 'read')), turn('assistant', call('c', 'read'))];
    const results = [turn('user', result('a')), turn('user', result('c'))];
    expect((await callsAfter([...calling, ...results])).calls).toEqual([['list', '{}']]);
  });

  it('are not made where the request has no tools or forbids calls', async () => {
    expect((await callsAfter([], { tools: [] })).calls).toEqual([]);
    expect((await callsAfter([], { toolChoice: { type: 'none' } })).calls).toEqual([]);
  });

  it.each([
    ['write {}', /there is no tool "write"/],
    ['read {"path"', /read: expected a JSON object on the same line/],
    ['read [1]', /read: expected a JSON object on the same line/],
  ])('are rejected if invalid: %s', async (line, message) => {
    const { end } = await answerTo(`sandbox:call ${line}`, { tools });
    expect(end).toMatchObject({ failure: { message: expect.stringMatching(message) } });
  });
});
