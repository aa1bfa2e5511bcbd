import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { ask as askGateway } from '../ask.ts';
import { administer, DIALECTS, gatewayConfig, REASONING } from '../gateway-daemon.ts';
import { type FormatName, type MockUpstream, startMockUpstream } from '../mock-upstream.ts';
import { type Script, USAGE } from '../script.ts';
import { frame } from './aws-frames.ts';
import { API_KEY, REGION, startBedrock } from './bedrock-mock.ts';

const CLAUDE =
  'arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-x-v1:0';
const GPT = 'openai.gpt-oss-120b-1:0';
const NOVA = 'eu.amazon.nova-pro-v1:0';

let upstream: MockUpstream;
let bedrock: Awaited<ReturnType<typeof startBedrock>>;
beforeAll(async () => {
  upstream = await startMockUpstream();
  bedrock = await startBedrock(upstream.url);
});
afterAll(() => Promise.all([upstream.close(), bedrock.close()]));
beforeEach(() => {
  Object.assign(bedrock, { paths: [], bodies: [], answer: null, change: (bytes: Buffer) => bytes });
});

const daemon = sharedDaemon({
  get env() {
    const files = { AWS_CONFIG_FILE: '/nowhere', AWS_SHARED_CREDENTIALS_FILE: '/nowhere' };
    return { ...files, AWS_EC2_METADATA_SERVICE_ENDPOINT: bedrock.url };
  },
  get config() {
    const model = (provider: string, name: string) => ({
      ...{ type: 'text', routes: [{ provider, model: name }], reasoning: REASONING },
      ...{ maxOutputTokens: 64_000, price: { input: 1000, output: 10_000 } },
    });
    const kind = { kind: 'bedrock', baseUrl: bedrock.url };
    return gatewayConfig(upstream.url, {
      providers: {
        aws: { ...kind, region: REGION, headers: { 'anthropic-beta': 'of-tomorrow-2027-01-01' } },
        keyed: { ...kind, apiKey: API_KEY },
        elsewhere: { ...kind, region: 'us-west-2' },
        none: { ...kind, profile: 'none' },
      },
      models: {
        claude: model('aws', CLAUDE),
        open: model('aws', GPT),
        nova: model('aws', NOVA),
        keyed: model('keyed', CLAUDE),
        elsewhere: model('elsewhere', CLAUDE),
        none: model('none', CLAUDE),
        either: {
          ...model('elsewhere', CLAUDE),
          routes: [
            { provider: 'elsewhere', model: CLAUDE },
            { provider: 'aws', model: GPT },
          ],
        },
      },
    });
  },
});

const TEXT: Script = { steps: [{ text: 'It rains. ä€🙂' }], usage: USAGE };

const ask = (client: FormatName, id: string, more: object = {}, headers = {}) =>
  askGateway({ daemon: daemon(), upstream }, client, id, more, { play: [], headers });

const PATHS = {
  claude: [
    `/model/${encodeURIComponent(CLAUDE)}/invoke`,
    `/model/${encodeURIComponent(CLAUDE)}/invoke-with-response-stream`,
  ],
  open: ['/openai/v1/chat/completions', '/openai/v1/chat/completions'],
  nova: ['converse', 'converse-stream'].map((one) => `/model/${encodeURIComponent(NOVA)}/${one}`),
  keyed: [
    `/model/${encodeURIComponent(CLAUDE)}/invoke`,
    `/model/${encodeURIComponent(CLAUDE)}/invoke-with-response-stream`,
  ],
};

describe('a provider of kind bedrock', () => {
  it.each(Object.entries(PATHS))('is asked at the paths of model %s: %j', async (model, paths) => {
    upstream.play(TEXT);
    for (const stream of [false, true]) {
      expect((await ask('chat', model, { stream })).status).toBe(200);
    }
    expect(bedrock.paths).toEqual(paths);
  });

  it('gets the betas of clients that it knows, and those of its settings, in the body', async () => {
    upstream.play(TEXT);
    const betas = 'interleaved-thinking-2025-05-14, claude-code-20250219,skills-2025-10-02';
    const { status, body } = await ask('messages', 'claude', {}, { 'anthropic-beta': betas });
    expect([status, body.model]).toEqual([200, 'claude']);
    const anthropic_beta = ['of-tomorrow-2027-01-01', 'interleaved-thinking-2025-05-14'];
    expect(bedrock.bodies).toMatchObject([{ anthropic_beta }]);
    expect(Object.keys(bedrock.headers).filter((name) => /anthropic/.test(name))).toEqual([]);
  });

  it('is signed for each request by one session, and its tokens are estimated', async () => {
    upstream.play(TEXT);
    const before = bedrock.given;
    await Promise.all(Array.from({ length: 20 }, () => ask('chat', 'claude')));
    expect(bedrock.given).toBe(Math.max(before, 1));
    const counted = await fetch(`${daemon().url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OWNER_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'claude', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect([counted.status, counted.headers.get('x-oriel-estimate')]).toEqual([200, 'true']);
  });

  it('is tested by its list of models and an answer', async () => {
    upstream.play(TEXT);
    const tested: unknown = await administer(daemon(), 'providers/test', { name: 'aws' });
    expect(tested).toMatchObject({
      ...{ answer: 'It rains. ä€🙂', model: CLAUDE, fault: null, listFault: null },
    });
  });
});

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const PDF = Buffer.from('%PDF-1.4').toString('base64');
const pdf = (title: string) => ({
  ...{ type: 'document', title },
  source: { type: 'base64', media_type: 'application/pdf', data: PDF },
});
const said = (...content: object[]) => [{ role: 'user', content }];
const tool = { name: 'look', input_schema: { type: 'object' } };
const called = [
  { role: 'user', content: 'Look.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: {} }] },
  ...said({ type: 'tool_result', tool_use_id: 'call_1', content: 'Rain', is_error: true }),
];

/** What Converse is sent for a request of a client. */
const CONVERSE: readonly (readonly [string, FormatName, object, object])[] = [
  [
    'settings',
    'chat',
    { temperature: 0.5, top_p: 0.9, max_tokens: 70, stop: ['END'], user: 'u', seed: 1 },
    {
      inferenceConfig: { temperature: 0.5, topP: 0.9, maxTokens: 70, stopSequences: ['END'] },
    },
  ],
  ['the limit of the model', 'chat', {}, { inferenceConfig: { maxTokens: 64_000 } }],
  ['a hint that it lacks', 'messages', { top_k: 5 }, { inferenceConfig: { maxTokens: 500 } }],
  ['an effort', 'chat', { reasoning_effort: 'low' }, { outputConfig: { effort: 'low' } }],
  [
    'a schema',
    'responses',
    { text: { format: { type: 'json_schema', name: 'x', schema: SCHEMA } } },
    {
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { schema: JSON.stringify(SCHEMA), name: 'answer' } },
        },
      },
    },
  ],
  [
    'a choice of a tool',
    'messages',
    { tools: [tool], tool_choice: { type: 'tool', name: 'look' } },
    { toolConfig: { toolChoice: { tool: { name: 'look' } } } },
  ],
  [
    'tools that may not be called',
    'messages',
    { tools: [tool], tool_choice: { type: 'none' } },
    expect.not.objectContaining({ toolConfig: expect.anything() }),
  ],
  [
    'marks of a cache',
    'chat',
    {
      messages: said({ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    },
    { messages: said({ text: 'Hi' }, { cachePoint: { type: 'default', ttl: '1h' } }) },
  ],
  [
    'documents of one name',
    'messages',
    { messages: said(pdf('a.pdf'), pdf('a.pdf'), { type: 'text', text: 'Which?' }) },
    {
      messages: said(
        { document: { format: 'pdf', name: 'a pdf', source: { bytes: PDF } } },
        { document: { format: 'pdf', name: 'a pdf 2', source: { bytes: PDF } } },
        { text: 'Which?' },
      ),
    },
  ],
  [
    'results of calls',
    'messages',
    { tools: [tool], messages: called },
    {
      messages: [
        { role: 'user', content: [{ text: 'Look.' }] },
        { content: [{ toolUse: { toolUseId: 'call_1', name: 'look', input: {} } }] },
        {
          content: [
            { toolResult: { toolUseId: 'call_1', content: [{ text: 'Rain' }], status: 'error' } },
          ],
        },
      ],
    },
  ],
];

describe('Converse', () => {
  it.each(CONVERSE)('is sent %s of %s: %j', async (_, client, more, sent) => {
    upstream.play(TEXT);
    const { status, text } = await ask(client, 'nova', more);
    expect([status, text]).toEqual([200, expect.stringContaining('It rains.')]);
    expect(bedrock.bodies).toMatchObject([sent]);
  });

  it.each([
    [
      'messages[0].content[0]',
      {
        messages: said({
          type: 'image',
          source: { type: 'url', url: 'https://example.com/a.png' },
        }),
      },
    ],
    ['tool_choice', { tools: [tool], messages: called, tool_choice: { type: 'none' } }],
    [
      'messages[1]',
      { messages: [...said({ type: 'text', text: 'a' }), { role: 'assistant', content: 'b' }] },
    ],
  ])('is not sent what it cannot express: %s', async (param, more) => {
    const { status, error } = await ask('messages', 'nova', more);
    expect([status, error.message]).toEqual([400, expect.stringContaining(param)]);
    expect(bedrock.bodies).toEqual([]);
  });

  const result = {
    type: 'search_result',
    source: 'a',
    title: 'b',
    content: [{ type: 'text', text: 'a' }],
  };
  it.each<readonly [string, FormatName, object]>([
    [
      'has no audio',
      'chat',
      { messages: said({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }) },
    ],
    [
      'has no such content',
      'gemini',
      {
        contents: [
          { role: 'user', parts: [{ text: 'a' }] },
          { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: PDF } }] },
          { role: 'user', parts: [{ text: 'b' }] },
        ],
      },
    ],
    ['type search_result of the messages format', 'messages', { messages: said(result) }],
    [
      'type search_result of the messages format',
      'messages',
      {
        tools: [tool],
        messages: [
          ...called.slice(0, 2),
          ...said({ type: 'tool_result', tool_use_id: 'call_1', content: [result] }),
        ],
      },
    ],
    [
      'type computer_20250124',
      'messages',
      {
        tools: [
          {
            type: 'computer_20250124',
            name: 'computer',
            display_width_px: 9,
            display_height_px: 9,
          },
        ],
      },
    ],
    ['has no container', 'messages', { container: 'c' }],
    ['has no logit_bias', 'chat', { logit_bias: { 1: 2 } }],
    ['has no prompt', 'responses', { prompt: { id: 'p' } }],
  ])('is named in refusals: %s, client %s', async (what, client, more) => {
    const { status, error } = await ask(client, 'nova', more);
    const format = "the converse format of this model's upstream";
    expect([status, error?.message]).toEqual([400, expect.stringContaining(what)]);
    expect(error.message).toContain(format);
  });

  it.each([
    ['max_tokens', 'length'],
    ['guardrail_intervened', 'content_filter'],
    ['stop_sequence', 'stop'],
    ['malformed_tool_use', 'stop'],
  ])('ends by %s as %s, without usage too', async (stopReason, finish_reason) => {
    const message = { role: 'assistant', content: [{ text: 'Yes' }] };
    for (const stream of [false, true]) {
      bedrock.answer = (response) => {
        if (!stream) return response.end(JSON.stringify({ output: { message }, stopReason }));
        response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
        const delta = { contentBlockIndex: 0, delta: { text: 'Yes' } };
        return response.end(
          Buffer.concat([frame('contentBlockDelta', delta), frame('messageStop', { stopReason })]),
        );
      };
      const { text } = await ask('chat', 'nova', { stream });
      expect(text).toContain(`"finish_reason":"${finish_reason}"`);
    }
  });

  it.each(DIALECTS)('that is cut never ends as a whole answer: client %s', async (client) => {
    upstream.play(TEXT);
    let frames = 0;
    bedrock.change = (bytes) => (++frames > 4 ? Buffer.alloc(0) : bytes);
    const { text } = await ask(client, 'nova', { stream: true });
    expect(text).toContain('error');
    expect(text).not.toMatch(/message_stop|response\.completed|"finish_reason":"stop"/);
  });

  it('charges the usage that it reports', async () => {
    upstream.play({ steps: [{ text: 'Yes' }], usage: USAGE });
    for (const stream of [false, true]) {
      const { text } = await ask('messages', 'nova', { stream });
      expect(text).toContain(`"output_tokens":${USAGE.output}`);
    }
  });
});

const refusing = (status: number, name: string, message = 'the reason') => {
  bedrock.answer = (response) => {
    response.writeHead(status, { 'x-amzn-errortype': name, 'content-type': 'application/json' });
    response.end(JSON.stringify({ Message: message }));
  };
};

describe('errors of bedrock', () => {
  it.each([
    [400, 'ValidationException', 400, 'invalid_request', null],
    [400, 'ServiceQuotaExceededException', 429, 'rate_limit', null],
    [429, 'ThrottlingException', 429, 'rate_limit', null],
    [429, 'ModelNotReadyException', 503, 'service_error', 'upstream_overloaded'],
    [403, 'AccessDeniedException', 502, 'service_error', 'upstream_auth'],
    [404, 'ResourceNotFoundException', 502, 'service_error', 'upstream_not_found'],
    [408, 'ModelTimeoutException', 504, 'timeout', 'upstream_timeout'],
    [424, 'ModelErrorException', 502, 'service_error', null],
    [500, 'InternalServerException', 502, 'service_error', null],
    [503, 'ServiceUnavailableException', 503, 'service_error', 'upstream_overloaded'],
  ])('%i %s is %i %s', async (status, name, ours, type, code) => {
    refusing(status, name);
    for (const stream of [false, true]) {
      const answer = await ask('messages', 'claude', { stream });
      expect(answer.status).toBe(ours);
      expect(answer.error).toMatchObject({ type, ...(code && { code }) });
      if (ours === 400) expect(answer.error.message).toContain('the reason');
    }
  });

  it.each([
    ['elsewhere', 'a request that is signed for another region'],
    ['none', 'an identity that is missing'],
  ])('%s: %s is upstream_auth, and shows nothing of it', async (model) => {
    const { status, error, text } = await ask('chat', model);
    expect([status, error.code]).toEqual([502, 'upstream_auth']);
    expect(text).not.toMatch(/Canonical|profile|security-token/);
  });

  it('another route answers for one that refuses its credentials', async () => {
    upstream.play(TEXT);
    expect((await ask('chat', 'either')).status).toBe(200);
  });
});

describe('streams of bedrock', () => {
  const events = (more: object = {}) => ask('messages', 'claude', { stream: true, ...more });

  it.each([
    ['throttlingException', 'rate_limit'],
    ['modelStreamErrorException', 'service_error'],
    ['validationException', 'invalid_request'],
  ])('that begin with %s fail with %s, before and within an answer', async (name, type) => {
    const exception = frame(name, { message: 'the reason' }, 'exception');
    bedrock.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
      response.end(exception);
    };
    expect((await events()).error).toMatchObject({ type });
    bedrock.answer = null;
    upstream.play(TEXT);
    let frames = 0;
    bedrock.change = (bytes) => (++frames > 4 ? exception : bytes);
    const { text } = await events();
    expect(text).toContain('It rai');
    expect(text).toMatch(/event: error\n.*\n\n$/);
    expect(text).not.toContain('message_stop');
  });

  it.each(DIALECTS)(
    'that are damaged or cut never end as a whole answer: client %s',
    async (client) => {
      for (const change of [
        (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([bytes.at(-1)! ^ 1])]),
        (bytes: Buffer) => bytes.subarray(0, -5),
      ]) {
        let frames = 0;
        upstream.play(TEXT);
        bedrock.change = (bytes) => (++frames > 4 ? change(bytes) : bytes);
        const { text } = await ask(client, 'claude', { stream: true });
        expect(text).toContain('error');
        expect(text).not.toMatch(/message_stop|response\.completed|"finish_reason":"stop"/);
      }
    },
  );
});
