import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { MODES } from '../conversation.ts';
import { DIALECTS, modelTo, sharedGateway } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

// biome-ignore lint/suspicious/noExplicitAny: answers of several formats
type Loose = any;

const text = (words: string): Script => ({ steps: [{ text: words }], usage: USAGE });
const call = (name: string, json: string): Script => ({
  steps: [{ call: name, id: 'call_a1', arguments: json }],
  usage: USAGE,
});

/** Asks as a client of chat for an upstream of gemini. */
async function chat(more: object): Promise<{ status: number; body: Loose; headers: Headers }> {
  const response = await send(gateway().daemon, 'chat', plainBody('chat', 'to-gemini', more));
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** Asks as a client of gemini. */
async function gemini(model: string, more: object): Promise<{ status: number; body: Loose }> {
  const response = await fetch(`${gateway().daemon.url}/v1beta/models/${model}:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': OWNER_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], ...more }),
  });
  return { status: response.status, body: await response.json() };
}

const FIND = { name: 'find', parameters: { type: 'object', properties: {} } };

describe('an upstream of gemini', () => {
  it.each(MODES)('cuts at more stop sequences than the format takes: %s', async (mode) => {
    gateway().upstream.play(text('One, two END three'));
    const more = { stop_sequences: ['END', 'a1', 'a2', 'a3', 'a4', 'a5'] };
    const conversation = talk('messages', gateway().daemon, { model: 'to-gemini', more });
    expect((await conversation.user('Count').ask(mode)).text).toBe('One, two ');
    expect(gateway().upstream.only().text).not.toContain('stopSequences');
  });

  it('takes five stop sequences itself', async () => {
    gateway().upstream.play(text('One'));
    const body = plainBody('messages', 'to-gemini', { stop_sequences: ['a', 'b', 'c', 'd', 'e'] });
    await send(gateway().daemon, 'messages', body);
    expect(gateway().upstream.only().body.generationConfig.stopSequences).toHaveLength(5);
  });

  it('gives n answers by as many requests', async () => {
    gateway().upstream.play(text('Oslo'), text('Rome'));
    const { body } = await chat({ n: 2 });
    const words = body.choices.map(({ message }: Loose) => message.content).sort();
    expect(words).toEqual(['Oslo', 'Rome']);
    expect(gateway().upstream.requests).toHaveLength(2);
    expect(gateway().upstream.requests[0]!.text).not.toContain('candidateCount');
  });

  it('answers functions with a function_call', async () => {
    gateway().upstream.play(call('find', '{"a":1}'));
    const { body } = await chat({ functions: [FIND], function_call: 'auto' });
    const [{ message, finish_reason }] = body.choices;
    expect(message.function_call).toEqual({ name: 'find', arguments: '{"a":1}' });
    expect(finish_reason).toBe('function_call');
  });

  it('gets a custom tool as a function, whose calls are custom again', async () => {
    gateway().upstream.play(call('patch', '{"input":"*** Begin"}'));
    const { body } = await chat({ tools: [{ type: 'custom', custom: { name: 'patch' } }] });
    const [first] = body.choices[0].message.tool_calls;
    expect(first).toMatchObject({ type: 'custom', custom: { name: 'patch', input: '*** Begin' } });
  });

  it('gets only the allowed tools', async () => {
    gateway().upstream.play(text('Fine.'));
    const tools = ['find', 'lose'].map((name) => ({
      type: 'function',
      function: { ...FIND, name },
    }));
    const allowed_tools = { mode: 'required', tools: [tools[0]] };
    await chat({ tools, tool_choice: { type: 'allowed_tools', allowed_tools } });
    const { body } = gateway().upstream.only();
    expect(body.tools[0].functionDeclarations.map(({ name }: Loose) => name)).toEqual(['find']);
    expect(body.toolConfig.functionCallingConfig).toEqual({ mode: 'ANY' });
  });

  it('has json_object itself', async () => {
    gateway().upstream.play(text('{"a":1}'));
    await chat({ response_format: { type: 'json_object' } });
    const { generationConfig } = gateway().upstream.only().body;
    expect(generationConfig).toEqual({ responseMimeType: 'application/json' });
  });

  it.each([{ partial: true }, { prefix: true }])('cannot continue an answer: %j', async (begun) => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Os', ...begun },
    ];
    const { status, body } = await chat({ messages });
    expect(status).toBe(400);
    expect(body.error.param).toBe('messages[1]');
    expect(body.error.message).toContain('cannot continue an answer that the client began');
  });
});

describe.each([...DIALECTS, 'gemini'])('a client of gemini, an upstream of %s', (to) => {
  const model = to === 'gemini' ? 'to-gemini' : modelTo(to as 'chat');

  it('gets an answer that ends before a stop sequence', async () => {
    // Upstreams that take the sequence end by themselves.
    gateway().upstream.play(text(to === 'responses' ? 'One END two' : 'One '));
    const { body } = await gemini(model, { generationConfig: { stopSequences: ['END'] } });
    expect(body.candidates[0].content.parts).toEqual([{ text: 'One ' }]);
    expect(body.candidates[0].finishReason).toBe('STOP');
  });

  it('gets as many candidates as it asks for', async () => {
    const both = { steps: [{ text: 'Oslo' }], usage: USAGE } as const;
    gateway().upstream.play(both, both);
    const { status, body } = await gemini(model, { generationConfig: { candidateCount: 2 } });
    expect(status).toBe(200);
    if (to === 'gemini') {
      expect(gateway().upstream.only().body.generationConfig.candidateCount).toBe(2);
    } else {
      expect(body.candidates).toMatchObject([{ index: 0 }, { index: 1 }]);
      expect(gateway().upstream.requests).toHaveLength(2);
    }
  });

  it('gets a JSON object for a MIME type without a schema', async () => {
    gateway().upstream.play(text(to === 'messages' ? '```json\n{"a":1}\n```' : '{"a":1}'));
    const generationConfig = { responseMimeType: 'application/json' };
    const { body } = await gemini(model, { generationConfig });
    expect(JSON.parse(body.candidates[0].content.parts[0].text)).toEqual({ a: 1 });
  });

  it('has only the allowed functions called', async () => {
    gateway().upstream.play(call('find', '{}'));
    const functionDeclarations = ['find', 'seek', 'lose'].map((name) => ({ name }));
    const config = { mode: 'ANY', allowedFunctionNames: ['find', 'seek'] };
    const { status } = await gemini(model, {
      tools: [{ functionDeclarations }],
      toolConfig: { functionCallingConfig: config },
    });
    expect(status).toBe(200);
    const { body, text: sent } = gateway().upstream.only();
    if (to === 'gemini') expect(body.toolConfig.functionCallingConfig).toEqual(config);
    else if (to === 'responses') expect(body.tool_choice).toMatchObject({ mode: 'required' });
    else expect(sent).not.toContain('lose');
  });
});
