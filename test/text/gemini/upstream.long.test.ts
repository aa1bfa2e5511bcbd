import { describe, expect, it } from 'vitest';
import { DATA_URL, MODES, PIXEL, STOPS, WEATHER } from '../conversation.ts';
import { DIALECTS, modelTo, sharedGateway, UPSTREAM_KEYS } from '../gateway-daemon.ts';
import { plainBody, send } from '../raw.ts';
import { cutAt, everyByte, type Script, USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

const SIGNATURE = 'c2lnbmF0dXJlLW9mLXRoZS1tb2Nr';
const DONE: Script = { steps: [{ text: 'It rains.' }], usage: USAGE };
const CALL: Script = {
  steps: [
    { reasoning: 'They want the weather.', signature: SIGNATURE },
    { call: 'get_weather', id: 'fc_a1', arguments: '{"city":"Łódź"}' },
    { call: 'get_weather', id: 'fc_b2', arguments: '{"city":"Oslo"}' },
  ],
  usage: USAGE,
};

// biome-ignore lint/suspicious/noExplicitAny: a request body
const partsOf = ({ contents }: any): any[] => contents.flatMap(({ parts }: any) => parts);

describe.each(DIALECTS)('a client of %s, an upstream of gemini', (client) => {
  const start = (more: object = {}) =>
    talk(client, gateway().daemon, { model: 'to-gemini', ...more });
  const withEncrypted =
    client === 'responses' ? { include: ['reasoning.encrypted_content'] } : undefined;

  it.each(MODES)('text, settings and usage are translated: %s', async (mode) => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: 'Good day ä€🙂' }], usage: USAGE }, DONE);
    const settings = { system: 'Be brief.', maxTokens: 900, temperature: 0.5 };
    const conversation = start(settings).user('Hello');
    const { text, stop, usage, model } = await conversation.ask(mode);
    expect({ text, stop, model }).toEqual({
      text: 'Good day ä€🙂',
      stop: STOPS.stop[client],
      model: 'to-gemini',
    });
    const [input, output, cached] =
      client === 'messages'
        ? [usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens]
        : [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens];
    expect([input, output, cached]).toEqual([client === 'messages' ? 18 : 23, 11, 5]);
    await conversation.user('And?').ask(mode);
    const [first, second] = upstream.requests;
    expect(first).toMatchObject({
      path: `/v1beta/models/gemini-3-pro:${mode === 'whole' ? 'generate' : 'streamGenerate'}Content`,
      query: mode === 'whole' ? '' : '?alt=sse',
      headers: { 'x-goog-api-key': UPSTREAM_KEYS.gemini },
    });
    expect(first!.headers).not.toHaveProperty('authorization');
    expect(second!.body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text: 'Good day ä€🙂' }] },
        { role: 'user', parts: [{ text: 'And?' }] },
      ],
      generationConfig: { maxOutputTokens: 900, temperature: 0.5 },
    });
  });

  it.each(MODES)('calls, results and signatures are sent back as they came: %s', async (mode) => {
    const { upstream } = gateway();
    upstream.play(CALL, DONE);
    const conversation = start({ tools: [WEATHER], effort: 'high', more: withEncrypted });
    const called = await conversation.user('Weather?').ask(mode);
    expect(called).toMatchObject({
      calls: [
        { id: 'fc_a1', name: 'get_weather', arguments: { city: 'Łódź' } },
        { id: 'fc_b2', name: 'get_weather', arguments: { city: 'Oslo' } },
      ],
      stop: STOPS['tool-calls'][client],
      reasoning: 'They want the weather.',
    });
    conversation.results({ id: 'fc_b2', content: 'snow' }, { id: 'fc_a1', content: 'rain' });
    expect(await conversation.ask(mode)).toMatchObject({ text: 'It rains.', calls: [] });
    const [first, second] = upstream.requests.map(({ body }) => body);
    expect(first.tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'get_weather',
            description: WEATHER.description,
            parametersJsonSchema: WEATHER.parameters,
          },
        ],
      },
    ]);
    const thinkingConfig = { thinkingLevel: 'HIGH', includeThoughts: true };
    expect(first.generationConfig.thinkingConfig).toEqual(thinkingConfig);
    expect(second.contents.slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'They want the weather.', thought: true },
          {
            functionCall: { id: 'fc_a1', name: 'get_weather', args: { city: 'Łódź' } },
            thoughtSignature: SIGNATURE,
          },
          { functionCall: { id: 'fc_b2', name: 'get_weather', args: { city: 'Oslo' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'fc_a1', name: 'get_weather', response: { output: 'rain' } } },
          { functionResponse: { id: 'fc_b2', name: 'get_weather', response: { output: 'snow' } } },
        ],
      },
    ]);
  });

  it.each(MODES)('signatures of thoughts, texts and calls keep their parts: %s', async (mode) => {
    const { upstream } = gateway();
    upstream.play(
      {
        steps: [
          { reasoning: '', signature: 'c2lnLXRleHQ=' },
          { text: 'I shall look.' },
          { reasoning: '', signature: 'c2lnLWNhbGwx' },
          { call: 'get_weather', id: 'fc_a1', arguments: '{}' },
          { reasoning: '', signature: 'c2lnLWNhbGwy' },
          { call: 'get_weather', id: 'fc_b2', arguments: '{}' },
        ],
        usage: USAGE,
      },
      DONE,
    );
    const conversation = start({ tools: [WEATHER], effort: 'high', more: withEncrypted });
    await conversation.user('Weather?').ask(mode);
    conversation.results({ id: 'fc_a1', content: 'rain' }, { id: 'fc_b2', content: 'snow' });
    await conversation.ask(mode);
    expect(upstream.requests[1]!.body.contents[1].parts).toEqual([
      { text: 'I shall look.', thoughtSignature: 'c2lnLXRleHQ=' },
      {
        functionCall: { id: 'fc_a1', name: 'get_weather', args: {} },
        thoughtSignature: 'c2lnLWNhbGwx',
      },
      {
        functionCall: { id: 'fc_b2', name: 'get_weather', args: {} },
        thoughtSignature: 'c2lnLWNhbGwy',
      },
    ]);
  });

  it('calls without identifiers get one each', async () => {
    const { upstream } = gateway();
    const call = { call: 'get_weather', id: '', arguments: '{}' };
    upstream.play({ steps: [call, call], usage: USAGE }, DONE);
    const conversation = start({ tools: [WEATHER] }).user('Weather?');
    const { calls } = await conversation.ask('events');
    const [first, second] = calls.map(({ id }) => id);
    expect(first).toMatch(/^call_/);
    expect(second).not.toBe(first);
    conversation.results({ id: second!, content: 'b' }, { id: first!, content: 'a' });
    expect((await conversation.ask()).text).toBe('It rains.');
  });

  it('signatures of another provider become the value for calls without one', async () => {
    const { upstream } = gateway();
    for (const [from, to] of [
      ['to-gemini', 'to-other-gemini'],
      [modelTo('messages'), 'to-gemini'],
      ['to-gemini', modelTo('messages')],
      ['to-gemini', modelTo('chat')],
    ] as const) {
      upstream.play(CALL, DONE);
      const conversation = start({ model: from, tools: [WEATHER], effort: 'high' });
      await conversation.user('Weather?').ask('events');
      conversation.results({ id: 'fc_a1', content: 'rain' }, { id: 'fc_b2', content: 'snow' });
      expect((await conversation.ask('events', { model: to })).text).toBe('It rains.');
      const { text, body } = upstream.requests[1]!;
      expect(text).not.toContain(SIGNATURE);
      expect(text).not.toContain('oriel:');
      if (to === 'to-gemini' || to === 'to-other-gemini') {
        const calls = partsOf(body).filter((part) => part.functionCall);
        expect(calls.map((part) => part.thoughtSignature)).toEqual([
          'skip_thought_signature_validator',
          undefined,
        ]);
        expect(text).not.toContain('They want the weather.');
      }
    }
  });

  it('models before Gemini 3 get budgets, and no value for missing signatures', async () => {
    const { upstream } = gateway();
    const steps = [{ call: 'get_weather', id: 'fc_a1', arguments: '{}' }];
    upstream.play({ steps, usage: USAGE }, DONE);
    const conversation = start({ model: 'to-gemini-2', tools: [WEATHER], effort: 'low' });
    await conversation.user('Weather?').ask();
    conversation.results({ id: 'fc_a1', content: [{ text: 'a map' }, { image: DATA_URL }] });
    // Chat has no media in tool messages.
    if (client === 'chat') return;
    await conversation.ask();
    const { body } = upstream.requests[1]!;
    expect(body.generationConfig.thinkingConfig.thinkingBudget).toBe(1024);
    expect(body.contents[1].parts[0]).not.toHaveProperty('thoughtSignature');
    expect(body.contents[2].parts).toEqual([
      { functionResponse: { id: 'fc_a1', name: 'get_weather', response: { output: 'a map' } } },
      { inlineData: { mimeType: 'image/png', data: PIXEL } },
    ]);
    upstream.play(DONE);
    await conversation.user('And?').ask('whole', { model: 'to-gemini' });
    const nested = upstream.only().body.contents[2].parts[0].functionResponse;
    expect(nested.parts).toEqual([{ inlineData: { mimeType: 'image/png', data: PIXEL } }]);
  });

  it.each([
    ['auto', undefined],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ name: 'get_weather' }, { mode: 'ANY', allowedFunctionNames: ['get_weather'] }],
  ] as const)('the tool choice is translated: %j', async (toolChoice, calling) => {
    const { upstream } = gateway();
    upstream.play(DONE);
    await start({ tools: [WEATHER] })
      .user('Weather?')
      .ask('whole', { toolChoice });
    const { toolConfig } = upstream.only().body;
    expect(toolConfig).toEqual({ functionCallingConfig: calling ?? { mode: 'AUTO' } });
  });

  it('calls one at a time are the first call of each answer', async () => {
    const { upstream } = gateway();
    const one =
      client === 'messages'
        ? { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
        : { parallel_tool_calls: false };
    for (const mode of MODES) {
      upstream.play(CALL, DONE);
      const conversation = start({ tools: [WEATHER], more: one }).user('Weather?');
      const { calls, stop } = await conversation.ask(mode);
      expect([calls.map(({ id }) => id), stop]).toEqual([['fc_a1'], STOPS['tool-calls'][client]]);
      await conversation.results({ id: 'fc_a1', content: 'rain' }).ask(mode);
      const sent = partsOf(upstream.requests[1]!.body).filter((part) => part.functionCall);
      expect(sent).toHaveLength(1);
    }
  });

  it('images come as data, and by address with the type of their extension', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const url = 'https://images.example/cat.JPG?size=1';
    await start()
      .user([{ text: 'What?' }, { image: DATA_URL }, { image: url }])
      .ask();
    expect(upstream.only().body.contents[0].parts).toEqual([
      { text: 'What?' },
      { inlineData: { mimeType: 'image/png', data: PIXEL } },
      { fileData: { mimeType: 'image/jpeg', fileUri: url } },
    ]);
    const refused = [
      ['https://images.example/cat', 'media type'],
      ['https://generativelanguage.googleapis.com/v1beta/files/abc.png', 'account'],
    ] as const;
    for (const [image, why] of refused) {
      const asked = start()
        .user([{ text: 'What?' }, { image }])
        .ask();
      const error = await asked.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ status: 400, message: expect.stringContaining(why) });
    }
  });

  it('a schema of the answer is sent as JSON Schema', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: '{"city":"Oslo"}' }], usage: USAGE });
    await start({ schema: WEATHER.parameters }).user('Where?').ask();
    expect(upstream.only().body.generationConfig).toMatchObject({
      responseMimeType: 'application/json',
      responseJsonSchema: WEATHER.parameters,
    });
  });

  it.each(MODES)('a refused answer and a blocked prompt are refusals: %s', async (mode) => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ refusal: 'It may harm.' }], usage: USAGE });
    const refused = await start().user('How?').ask(mode);
    expect(refused.stop).toBe(STOPS.refusal[client]);
    const blocked = {
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
      usageMetadata: { promptTokenCount: 23, totalTokenCount: 23 },
      modelVersion: 'gemini-3-pro',
    };
    const json = JSON.stringify(blocked);
    upstream.play({
      raw:
        mode === 'whole'
          ? { type: 'application/json', body: json }
          : { type: 'text/event-stream', body: `data: ${json}\r\n\r\n` },
    });
    const { stop, refusal, raw } = await start().user('How?').ask(mode);
    expect(stop).toBe(STOPS.refusal[client]);
    expect(refusal ?? JSON.stringify(raw)).toContain('PROHIBITED_CONTENT');
  });

  it('the token limit ends the answer with its reason', async () => {
    const { upstream } = gateway();
    upstream.play({ steps: [{ text: 'Once' }], stop: 'length', usage: USAGE });
    expect((await start().user('Hello').ask('events')).stop).toBe(STOPS.length[client]);
  });

  it.each(['MALFORMED_FUNCTION_CALL', 'OTHER', 'A_NEW_REASON'])(
    'an answer that ends with %s fails',
    async (stopSequence) => {
      const { upstream } = gateway();
      upstream.play({ steps: [], stopSequence, usage: USAGE });
      const error = await start()
        .user('Hello')
        .ask()
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        status: 502,
        message: expect.stringContaining(stopSequence),
      });
      upstream.play({ steps: [{ text: 'Well, ' }], stopSequence, usage: USAGE });
      await expect(start().user('Hello').ask('events')).rejects.toThrow();
    },
  );

  it.each(['end', 'half-event', 'reset', 'error-event'] as const)(
    'a stream with the fault %s makes the client throw',
    async (how) => {
      const { upstream } = gateway();
      upstream.play({ steps: [{ text: 'Once upon a time' }], fault: { after: 1, how } });
      await expect(start().user('Hello').ask('events')).rejects.toThrow();
    },
  );

  it('a stream in chunks of any size is the same', async () => {
    const { upstream } = gateway();
    for (const cut of [everyByte, cutAt(3, 40, 41, 300)]) {
      upstream.play({ ...CALL, cut, framing: { line: '\r\n' } });
      const { calls } = await start({ tools: [WEATHER] })
        .user('Hello')
        .ask('events');
      expect(calls.map(({ arguments: args }) => args)).toEqual([
        { city: 'Łódź' },
        { city: 'Oslo' },
      ]);
    }
  });

  it.each([
    [400, 'INVALID_ARGUMENT', 400],
    [401, 'UNAUTHENTICATED', 502],
    [403, 'PERMISSION_DENIED', 502],
    [404, 'NOT_FOUND', 502],
    [429, 'RESOURCE_EXHAUSTED', 429],
    [500, 'INTERNAL', 502],
    [503, 'UNAVAILABLE', 503],
    [504, 'DEADLINE_EXCEEDED', 504],
  ])('status %i %s of the upstream is %i', async (status, word, expected) => {
    const { daemon, upstream } = gateway();
    const error = { code: status, message: `Sorry: ${UPSTREAM_KEYS.gemini}`, status: word };
    upstream.play({ refuse: { status, body: { error } } });
    const response = await send(daemon, client, plainBody(client, 'to-gemini'));
    expect(response.status).toBe(expected);
    expect(await response.text()).not.toContain('AIza');
  });

  it.each([
    ['API_KEY_INVALID', 'INVALID_ARGUMENT', 502, 'upstream_auth'],
    ['UNSUPPORTED_USER_LOCATION', 'FAILED_PRECONDITION', 502, 'upstream_refused'],
    ['RATE_LIMIT_EXCEEDED', 'RESOURCE_EXHAUSTED', 429, 'RATE_LIMIT_EXCEEDED'],
  ])('the reason %s of a 400 of the upstream decides', async (reason, word, status, code) => {
    const { daemon, upstream } = gateway();
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '33.4s' },
    ];
    const error = { code: 400, message: 'Sorry', status: word, details };
    upstream.play({ refuse: { status: 400, body: { error } } });
    const response = await send(daemon, client, plainBody(client, 'to-gemini'));
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    expect(response.headers.get('retry-after')).toBe('34');
  });

  it.each([
    ['garbage', 'text/event-stream', 'data: {"candidates":\n\n'],
    ['a list', 'application/json', '[{"candidates":[]}]'],
    ['parts that are no objects', 'application/json', '{"candidates":[{"content":{"parts":[7]}}]}'],
    ['no candidates', 'application/json', '{"candidates":[],"usageMetadata":{}}'],
    ['a page', 'text/html', '<html><title>Sorry</title></html>'],
  ])('an answer of %s is an error of the upstream', async (_, type, body) => {
    const { daemon, upstream } = gateway();
    const stream = type === 'text/event-stream';
    upstream.play({ raw: { type, body } });
    const response = await send(daemon, client, plainBody(client, 'to-gemini', { stream }));
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { type: 'service_error' } });
  });
});
