import { describe, expect, it } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { DATA_URL, PIXEL, type Settings, WEATHER } from '../conversation.ts';
import { DIALECTS, modelTo, newKey, sharedGateway, UPSTREAM_KEYS } from '../gateway-daemon.ts';
import { type Script, USAGE } from '../script.ts';
import { geminiTalk } from './gemini-talk.ts';

const gateway = sharedGateway();

const MODES = ['whole', 'events'] as const;
const SIGNATURE = 'c2lnbmF0dXJlLW9mLXRoZS1tb2Nr';
const DONE: Script = { steps: [{ text: 'It rains.' }], usage: USAGE };
const CALL: Script = {
  steps: [
    { reasoning: 'They want the weather.', signature: SIGNATURE, encrypted: 'gAAAAA-encrypted' },
    { call: 'get_weather', id: 'call_a1', arguments: '{"city":"Łódź"}' },
    { call: 'get_weather', id: 'call_b2', arguments: '{"city":"Oslo"}' },
  ],
  usage: USAGE,
};

const UPSTREAMS = [...DIALECTS.map(modelTo), 'to-gemini'];

const start = (settings: Settings) =>
  geminiTalk({ url: gateway().daemon.url, key: OWNER_KEY }, settings);

/** Sends a body unchanged. */
async function send(model: string, body: object, key = OWNER_KEY, method = 'generateContent') {
  const response = await fetch(`${gateway().daemon.url}/v1beta/models/${model}:${method}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer or an error
  const json = (await response.json()) as any;
  return { status: response.status, headers: response.headers, json };
}

const HELLO = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };

describe.each(UPSTREAMS)('a client of gemini, the model %s', (model) => {
  it.each(MODES)('text, settings and usage are translated: %s', async (mode) => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: 'Good day ä€🙂' }], usage: USAGE }, DONE);
    const settings = { system: 'Be brief.', maxTokens: 900, temperature: 0.5 };
    const conversation = start({ model, ...settings }).user('Hello');
    expect(await conversation.ask(mode)).toMatchObject({
      text: 'Good day ä€🙂',
      stop: 'STOP',
      model,
      usage: { promptTokenCount: 23, cachedContentTokenCount: 5, totalTokenCount: 34 },
    });
    expect((await conversation.user('And?').ask(mode)).text).toBe('It rains.');
    const sent = upstream.requests[1]!.text;
    for (const text of ['Be brief.', 'Hello', 'ä€🙂', 'And?']) expect(sent).toContain(text);
    expect(sent).toMatch(/"\w*(max_\w*tokens|maxOutputTokens)":900/);
    expect(sent).toContain('"temperature":0.5');
  });

  it.each(MODES)('calls, results and reasoning survive two turns: %s', async (mode) => {
    const { upstream } = gateway();
    upstream.play(CALL, DONE);
    const conversation = start({ model, tools: [WEATHER], effort: 'high' }).user('Weather?');
    const called = await conversation.ask(mode);
    expect(called).toMatchObject({
      reasoning: 'They want the weather.',
      calls: [
        { id: 'call_a1', name: 'get_weather', arguments: { city: 'Łódź' } },
        { id: 'call_b2', name: 'get_weather', arguments: { city: 'Oslo' } },
      ],
    });
    conversation.results({ id: 'call_a1', content: 'rain' }, { id: 'call_b2', content: 'snow' });
    expect(await conversation.ask(mode)).toMatchObject({ text: 'It rains.', calls: [] });
    const sent = upstream.requests[1]!.text;
    if (model !== 'to-chat') expect(sent).toMatch(new RegExp(`${SIGNATURE}|gAAAAA-encrypted`));
    expect(sent).not.toContain('oriel:');
    expect(sent).not.toContain('b3JpZWw6');
    expect(sent.match(/call_a1/g)).toHaveLength(2);
  });

  it('a refusal ends with SAFETY', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ refusal: 'It may harm.' }], stop: 'refusal', usage: USAGE });
    expect((await start({ model }).user('How?').ask('events')).stop).toBe('SAFETY');
  });

  it('a stream that breaks off ends with an error event and without a finish reason', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: 'Once upon' }, { fail: 'end' }] });
    const error = await start({ model })
      .user('Hello')
      .ask('events')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 502, status: 'UNAVAILABLE', reason: 'stream_truncated' });
  });

  it('images and schemas of answers are translated', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: '{"city":"Oslo"}' }], usage: USAGE });
    const content = [{ text: 'Where?' }, { image: DATA_URL }];
    const { text } = await start({ model, schema: WEATHER.parameters }).user(content).ask();
    expect(text).toBe('{"city":"Oslo"}');
    expect(upstream.only().text).toContain(PIXEL);
    expect(upstream.only().text).toContain('"city":{"type":"string"}');
  });
});

describe('a client of gemini', () => {
  it('sends its body unchanged to an upstream of gemini', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const body = {
      ...HELLO,
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      generationConfig: { thinkingConfig: { thinkingBudget: -1 }, maxOutputTokens: 900 },
    };
    const { json } = await send('to-gemini', body);
    expect(json.candidates[0].content.parts[0].text).toBe('It rains.');
    expect(upstream.only()).toMatchObject({
      body,
      headers: { 'x-goog-api-key': UPSTREAM_KEYS.gemini },
    });
  });

  it.each(['to-gemini', 'to-gemini-2'])(
    'without signatures of calls gets the value for none, where %s requires one',
    async (model) => {
      const { upstream } = gateway();
      upstream.play(DONE);
      const call = (city: string) => ({ functionCall: { name: 'get_weather', args: { city } } });
      const result = { functionResponse: { name: 'get_weather', response: { output: 'rain' } } };
      const foreign = Buffer.from('oriel:WyJjaGF0Iiwib3BlbmFpIix7fV0').toString('base64');
      const contents = [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        { role: 'model', parts: [call('Oslo')] },
        // A piece of a stream each.
        { role: 'model', parts: [call('Rome')] },
        { role: 'user', parts: [result, result] },
        { role: 'model', parts: [{ ...call('Bonn'), thoughtSignature: foreign }] },
        { role: 'user', parts: [result] },
      ];
      expect((await send(model, { contents })).json.error ?? null).toBeNull();
      const sent = upstream
        .only()
        .body.contents.flatMap(({ parts }: { parts: { thoughtSignature?: string }[] }) =>
          parts.map(({ thoughtSignature }) => thoughtSignature),
        );
      const none = model === 'to-gemini' ? 'skip_thought_signature_validator' : undefined;
      expect(sent.filter((one: unknown) => one !== undefined)).toEqual(none ? [none, none] : []);
      if (none) expect([sent[1], sent[2], sent[5]]).toEqual([none, undefined, none]);
    },
  );

  it('may write names of fields in snake case', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const body = {
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { parts: [{ inline_data: { mime_type: 'image/png', data: PIXEL } }] },
        { role: 'model', parts: [{ function_call: { name: 'f', args: { snake_case: 1 } } }] },
        { parts: [{ function_response: { name: 'f', response: { snake_case: 2 } } }] },
      ],
      tools: [{ function_declarations: [{ name: 'f' }] }],
      generation_config: { max_output_tokens: 900 },
    };
    const { status, json } = await send('to-chat', body);
    expect({ status, json }).toMatchObject({ status: 200 });
    const { messages, max_completion_tokens: limit } = upstream.only().body;
    expect(limit).toBe(900);
    expect(messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ image_url: { url: DATA_URL } }] },
      { role: 'assistant', tool_calls: [{ function: { arguments: '{"snake_case":1}' } }] },
      { role: 'tool', content: '{"snake_case":2}' },
    ]);
    expect(messages[3].tool_call_id).toBe(messages[2].tool_calls[0].id);
  });

  it("may write one content and one part in place of a list, as Google's examples", async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const system_instruction = { parts: { text: 'Be brief.' } };
    const body = { system_instruction, contents: { role: 'user', parts: { text: 'Hello' } } };
    const { status, json } = await send('to-chat', body);
    expect({ status, json }).toMatchObject({ status: 200 });
    expect(upstream.only().body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ]);
  });

  it('responses without identifiers are matched by name, then in order', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const call = (name: string) => ({ functionCall: { name, args: {} } });
    const response = (name: string, output: string) => ({
      functionResponse: { name, response: { output } },
    });
    await send('to-messages', {
      contents: [
        { role: 'user', parts: [{ text: 'Go' }] },
        { role: 'model', parts: [call('f'), call('g'), call('f')] },
        { role: 'user', parts: [response('g', 'g1'), response('f', 'f1'), response('f', 'f2')] },
      ],
      tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }],
    });
    // biome-ignore lint/suspicious/noExplicitAny: blocks of messages
    const [, calls, results] = upstream.only().body.messages.map(({ content }: any) => content);
    expect(results.map(({ content }: { content: string }) => content)).toEqual(['f1', 'g1', 'f2']);
    const ids = (blocks: Record<string, string>[], name: string) => blocks.map((one) => one[name]);
    expect(ids(results, 'tool_use_id')).toEqual(ids(calls, 'id'));
  });

  it('schemas of OpenAPI become JSON Schema', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const parameters = { type: 'OBJECT', properties: { n: { type: 'STRING', nullable: true } } };
    // Google's SDK for Python sends the type that a function returns as its response.
    const own = { name: 'f', description: 'Finds', parameters, response: { type: 'STRING' } };
    await send('to-chat', { ...HELLO, tools: [{ functionDeclarations: [own] }] });
    expect(upstream.only().body.tools[0].function).toEqual({
      name: 'f',
      description: 'Finds\n\nSchema of the result: {"type":"string"}',
      parameters: { type: 'object', properties: { n: { type: ['string', 'null'] } } },
    });
  });

  it.each([
    [{ contents: [] }, 'contents'],
    [{ contents: [{ parts: [{ text: 7 }] }] }, 'contents[0].parts[0].text'],
    [{ ...HELLO, generationConfig: { temperature: 3 } }, 'generationConfig.temperature'],
    [{ ...HELLO, tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    [{ contents: [{ parts: [{ executableCode: {} }] }] }, 'contents[0].parts[0].executableCode'],
    [
      { contents: [{ parts: [{ fileData: { fileUri: 'http://10.0.0.1/a.png' } }] }] },
      'contents[0].parts[0].fileData.fileUri',
    ],
  ])('gets a 400 with the path of a field that cannot be sent: %j', async (body, param) => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const { status, json } = await send('to-chat', body);
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { error: { type: 'invalid_request', param, status: 'INVALID_ARGUMENT' } },
    });
    expect(upstream.requests).toEqual([]);
  });

  it.each([
    [{ tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    [{ tools: [{ codeExecution: {} }] }, 'tools[0].codeExecution'],
    [{ cachedContent: 'cachedContents/a' }, 'cachedContent'],
    [
      { contents: [{ parts: [{ fileData: { fileUri: 'gs://bucket/a', mimeType: 'a/b' } }] }] },
      'contents[0].parts[0].fileData.fileUri',
    ],
  ])('may not use what is not metered, or stored at Google: %j', async (more, param) => {
    const { daemon, upstream } = gateway();
    const key = await newKey(daemon, `tenant-${param}`, { credits: '10000' });
    const { status, json } = await send('to-gemini', { ...HELLO, ...more }, key);
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { error: { param, code: 'not_allowed' } },
    });
    upstream.play(DONE);
    const { error } = (await send('to-gemini', { ...HELLO, ...more })).json;
    expect(error?.code).not.toBe('not_allowed');
  });

  it.each(['to-chat', 'to-responses', 'to-messages'])(
    'topK is a hint, and named: %s',
    async (model) => {
      const { upstream } = gateway();
      upstream.play(DONE);
      const body = { ...HELLO, generationConfig: { topK: 5 } };
      const { status, headers } = await send(model, body);
      const lost = model === 'to-messages' ? null : 'generationConfig.topK';
      expect([status, headers.get('x-oriel-dropped')]).toEqual([200, lost]);
    },
  );

  it('a thought comes back without its text, as Genkit sends it', async () => {
    const { upstream } = gateway();
    for (const model of ['to-gemini', 'to-chat']) {
      upstream.play(DONE);
      const parts = [{ thought: true, thoughtSignature: 'sig' }, { text: 'Oslo.' }];
      const contents = [...HELLO.contents, { role: 'model', parts }, ...HELLO.contents];
      expect((await send(model, { contents })).json.error ?? null).toBeNull();
    }
  });

  it('advice is left out and named', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const generationConfig = { mediaResolution: 'MEDIA_RESOLUTION_LOW' };
    const image = { mimeType: 'image/png', data: PIXEL };
    const part = { inlineData: image, mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } };
    const contents = [{ role: 'user', parts: [part] }];
    const body = { contents, safetySettings: [], labels: { a: 'b' }, generationConfig };
    const { status, headers } = await send('to-messages', body);
    const ignored =
      'safetySettings, labels, generationConfig.mediaResolution, contents[0].parts[0].mediaResolution';
    expect([status, headers.get('x-oriel-ignored')]).toEqual([200, ignored]);
  });

  it('gets errors with the word of Google for their status', async () => {
    const { daemon } = gateway();
    const url = `${daemon.url}/v1beta/models/to-chat:generateContent`;
    const response = await fetch(url, { method: 'POST', headers: { 'x-goog-api-key': 'wrong' } });
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { type: 'auth_error', status: 'UNAUTHENTICATED' } },
    ]);
    expect(await send('unknown-model', HELLO)).toMatchObject({
      status: 404,
      json: { error: { status: 'NOT_FOUND', code: 'model_not_found' } },
    });
    expect((await send('to-chat', HELLO, OWNER_KEY, 'otherMethod')).status).toBe(404);
  });

  it('gets as many candidates as it asks for, where it does not stream', async () => {
    const several = { ...HELLO, generationConfig: { candidateCount: 2 } };
    expect(await send('to-gemini', several, OWNER_KEY, 'streamGenerateContent')).toMatchObject({
      status: 400,
      json: { error: { param: 'generationConfig.candidateCount' } },
    });
    const { json } = await send('sandbox-chat', several);
    expect(json.candidates.map(({ index }: { index: number }) => index)).toEqual([0, 1]);
  });
});
