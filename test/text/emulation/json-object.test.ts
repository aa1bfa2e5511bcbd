import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { ObjectReader } from '../../../src/text/emulation/json-object.ts';
import { settled } from '../account.ts';
import { ask } from '../ask.ts';
import { MODES } from '../conversation.ts';
import { modelTo, newKey, sharedGateway } from '../gateway-daemon.ts';
import { target } from '../request.ts';
import { type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

function readAll(pieces: readonly string[]) {
  const reader = new ObjectReader();
  const text = pieces.map((piece) => reader.push(piece)).join('');
  return { text, fault: reader.fault, isComplete: reader.isComplete };
}

it('reads any object, fenced or not, whatever the chunks', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
  const wrapping = fc.constantFrom(
    ['', ''],
    [' \n', '\n '],
    ['```json\n', '\n```'],
    ['\n```\n', '```\n'],
    ['``` JSON\r\n', ''],
  );
  fc.assert(
    fc.property(object, wrapping, fc.integer({ min: 1, max: 9 }), (value, [start, end], size) => {
      const json = JSON.stringify(value, null, size % 3);
      const pieces = `${start}${json}${end}`.match(new RegExp(`.{1,${size}}`, 'gs'))!;
      expect(readAll(pieces)).toEqual({ text: json, fault: null, isComplete: true });
    }),
    { numRuns: 60 },
  );
});

it.each([
  ['Here it is: {}', 'start'],
  ['[1]', 'start'],
  ['```yaml\n{}', 'start'],
  ['{"a":1} That is it.', 'more text after the object'],
  ['```\n{}\n``` Done.', 'more text after the object'],
  ['{}```', 'more text after the object'],
  ["{'a':1}", 'invalid JSON'],
  ['{"a":[1}', null],
  ['{"a"', null],
])('finds the fault of %j', (text, fault) => {
  for (const pieces of [[text], text.split('')]) {
    const read = readAll(pieces);
    expect(read.fault).toBe(fault);
    if (fault !== 'more text after the object') expect(read.isComplete).toBe(false);
  }
});

const TOOL = { name: 'find', parameters: { type: 'object', properties: {} } };

describe.each(['chat', 'responses'] as const)('json_object of %s, upstream messages', (client) => {
  const field =
    client === 'chat'
      ? { response_format: { type: 'json_object' } }
      : { text: { format: { type: 'json_object' } } };
  const start = () =>
    talk(client, gateway().daemon, {
      model: modelTo('messages'),
      system: 'You know cities.',
      tools: [TOOL],
      more: field,
    }).user('Name a city as JSON');
  const answering = (text: string, more: Partial<Script> = {}): Script => ({
    steps: [{ text }],
    usage: USAGE,
    ...more,
  });

  it.each(MODES)('is an instruction, and the object comes without its fence: %s', async (mode) => {
    const { upstream: mock } = gateway();
    mock.play(answering('```json\n{"city":"Oslo"}\n```\n'));
    expect((await start().ask(mode)).text).toBe('{"city":"Oslo"}');
    const { system, output_config } = mock.only().body;
    expect(output_config).toBeUndefined();
    expect(system).toEqual([
      { type: 'text', text: 'You know cities.' },
      { type: 'text', text: expect.stringContaining('one valid JSON object') },
    ]);
  });

  it.each(MODES)('passes words before a call, a refusal and a cut object: %s', async (mode) => {
    const { upstream: mock } = gateway();
    mock.play({
      steps: [{ text: 'I look.' }, { call: 'find', id: 'call_a', arguments: '{}' }],
      usage: USAGE,
    });
    const called = await start().ask(mode);
    expect([called.text, called.calls[0]!.name]).toEqual(['I look.', 'find']);
    mock.play(answering('I cannot do that.', { stop: 'refusal' }));
    expect((await start().ask(mode)).text).toBe('I cannot do that.');
    mock.play(answering('{"city":', { stop: 'length' }));
    expect((await start().ask(mode)).text).toBe('{"city":');
  });

  it.each(['Oslo', '{"city":"Oslo"} is one.', '{"city":', '', '{city:1}'])(
    'fails where the answer is %j',
    async (text) => {
      const play = [answering(text)];
      gateway().upstream.play(...play);
      await expect(start().ask('whole')).rejects.toMatchObject({ status: 502 });
      await expect(start().ask('helper')).rejects.toThrow(/asks for a JSON object/);
      const { error } = await ask(gateway(), client, modelTo('messages'), field, { play });
      expect(error).toMatchObject({ type: 'billable_error', code: 'invalid_json_output' });
    },
  );
});

const OBJECT_SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const WITH_SCHEMA = { type: 'json_object', schema: OBJECT_SCHEMA };

it.each([
  ['chat', 'responses'],
  ['chat', 'messages'],
  ['chat', 'gemini'],
  ['responses', 'chat'],
  ['responses', 'messages'],
  ['responses', 'gemini'],
] as const)(
  'a schema beside json_object, as instructor sends it, is not lost: %s to %s',
  (from, to) => {
    const { encodeRequest } = dialectNamed(to);
    const request = dialectNamed(from).decodeRequest({
      model: 'm',
      ...(from === 'chat'
        ? { messages: [{ role: 'user', content: 'Hi' }], response_format: WITH_SCHEMA }
        : { input: 'Hi', text: { format: WITH_SCHEMA } }),
    });
    expect(JSON.stringify(encodeRequest(request, target(to)))).toContain('"properties":{"city"');
  },
);

it.each(['messages', 'gemini'] as const)(
  'an empty last message is refused by its path: %s',
  (to) => {
    const { encodeRequest } = dialectNamed(to);
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: '' },
    ];
    const encode = (some: readonly object[]) =>
      encodeRequest(dialectNamed('chat').decodeRequest({ model: 'm', messages: some }), target(to));
    expect(() => encode(messages)).toThrow(/^messages\[2\]: it is empty/);
    expect(() => encode(messages.slice(2))).toThrow(/^messages\[0\]: it is empty/);
    expect(() => encode(messages.slice(0, 1))).not.toThrow();
  },
);

describe.each([true, false])('an answer that is no JSON object, streamed: %s', (stream) => {
  const charged = async (account: string, script: Script | (() => Script), n = 1) => {
    const options = { credits: '10000' };
    const key = await newKey(gateway().daemon, `${account}-${stream}`, options);
    const format = { response_format: { type: 'json_object' }, max_completion_tokens: 500 };
    const more = { n, stream, ...format };
    const asked = await ask(gateway(), 'chat', modelTo('messages'), more, { key, play: [script] });
    return { text: asked.text, key };
  };
  const usage = { input: 20, output: 400 };
  const COST = (20 * 1000 + 400 * 10_000) / 1_000_000;

  it.each([
    ['midway', ['{"a":1}', ' and', ' more']],
    ['from its start', ['no ', 'object']],
  ])('is charged as reported where it fails %s', async (when, pieces) => {
    const steps = [{ text: pieces.join(''), pieces }];
    const { text, key } = await charged(`no-json-${when.slice(0, 4)}`, { steps, usage });
    expect(text).toContain('invalid_json_output');
    const { spent } = (await settled(gateway().daemon, key)).credits;
    expect(spent).toBeCloseTo(COST, 6);
  });

  it('is charged with all others of the same request', async () => {
    let requests = 0;
    const { text, key } = await charged(
      'no-json-of-three',
      () => {
        requests += 1;
        return { steps: [{ text: requests === 2 ? 'none' : '{"a":1}' }], usage };
      },
      3,
    );
    expect(text).toContain('invalid_json_output');
    const { spent } = (await settled(gateway().daemon, key)).credits;
    expect(spent).toBeCloseTo(3 * COST, 6);
  });

  it.runIf(stream)('has the failure of a provider that breaks off', async () => {
    const { text } = await charged('no-json-cut', {
      steps: [{ text: 'no object' }, { fail: 'end' }],
    });
    expect(text).toContain('stream_truncated');
  });
});
