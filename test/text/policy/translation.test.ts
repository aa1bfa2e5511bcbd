import { describe, expect, it } from 'vitest';
import type { TextModel, TextRoute } from '../../../src/config/catalog/catalog.ts';
import { Failure } from '../../../src/failure.ts';
import '../../../src/text/built-in-dialects.ts';
import { fieldRows } from '../../../src/text/dialects/field-rows.ts';
import { Inspection } from '../../../src/text/dialects/inspection.ts';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { refusalOf } from '../../../src/text/dialects/request-errors.ts';
import { HostedTools } from '../../../src/text/policy/hosted-tools.ts';
import { encodeFor } from '../../../src/text/policy/unsupported.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of several formats
type Loose = any;

const FORMATS = ['chat', 'responses', 'messages', 'gemini'] as const;
type Format = (typeof FORMATS)[number];

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const CHAT_TOOL = { type: 'function', function: { name: 'find', parameters: SCHEMA } };
const TOOL = { type: 'function', name: 'find', parameters: SCHEMA };
const OWN_TOOL = { name: 'find', input_schema: SCHEMA };
const DECLARED = { functionDeclarations: [{ name: 'find', parametersJsonSchema: SCHEMA }] };
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

/** The smallest request of each format. */
const PLAIN: Readonly<Record<Format, object>> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi' },
  messages: { model: 'm', max_tokens: 9000, messages: [{ role: 'user', content: 'Hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

/** Values that every request has, or that only belong to another field's. */
const ELSEWHERE = new Set([
  ...['model', 'messages', 'input', 'contents', 'stream', 'stream_options', 'max_tokens'],
  ...['stream_options.include_usage', 'thinking.type', 'toolConfig.functionCallingConfig.mode'],
  ...['systemInstruction.role', 'systemInstruction.parts'],
]);

/** Values of fields, with what these need beside them. Fields that only one format has need none. */
const VALUES: Readonly<Record<Format, Readonly<Record<string, object>>>> = {
  chat: {
    add_generation_prompt: { add_generation_prompt: false },
    continue_final_message: { continue_final_message: true },
    max_completion_tokens: { max_completion_tokens: 50 },
    temperature: { temperature: 1.5 },
    top_p: { top_p: 0.5 },
    top_k: { top_k: 5 },
    frequency_penalty: { frequency_penalty: 1 },
    presence_penalty: { presence_penalty: 1 },
    seed: { seed: 2 ** 40 },
    stop: { stop: ['a', 'b'] },
    n: { n: 2 },
    logprobs: { logprobs: true },
    top_logprobs: { logprobs: true, top_logprobs: 2 },
    logit_bias: { logit_bias: { 5: 1 } },
    reasoning_effort: { reasoning_effort: 'xhigh' },
    thinking: { thinking: { type: 'enabled', budget_tokens: 2000 } },
    verbosity: { verbosity: 'low' },
    response_format: { response_format: { type: 'json_object' } },
    tools: { tools: [CHAT_TOOL, { type: 'custom', custom: { name: 'patch' } }] },
    tool_choice: { tools: [CHAT_TOOL], tool_choice: 'required' },
    parallel_tool_calls: { tools: [CHAT_TOOL], parallel_tool_calls: false },
    functions: { functions: [CHAT_TOOL.function] },
    function_call: { functions: [CHAT_TOOL.function], function_call: { name: 'find' } },
  },
  responses: {
    instructions: { instructions: 'Be brief.' },
    max_output_tokens: { max_output_tokens: 50 },
    temperature: { temperature: 1.5 },
    top_p: { top_p: 0.5 },
    top_logprobs: { top_logprobs: 2 },
    reasoning: { reasoning: { effort: 'low' } },
    'reasoning.effort': { reasoning: { effort: 'xhigh' } },
    'reasoning.summary': { reasoning: { summary: 'auto' } },
    'reasoning.generate_summary': { reasoning: { generate_summary: 'auto' } },
    text: { text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA, strict: true } } },
    'text.format': { text: { format: { type: 'grammar', syntax: 'lark', definition: 'a' } } },
    'text.verbosity': { text: { verbosity: 'low' } },
    tools: { tools: [TOOL, { type: 'namespace', name: 'crm', description: '', tools: [TOOL] }] },
    tool_choice: { tools: [TOOL], tool_choice: 'required' },
    parallel_tool_calls: { tools: [TOOL], parallel_tool_calls: false },
    include: { include: ['message.output_text.logprobs'] },
    max_tool_calls: { tools: [{ type: 'shell' }], max_tool_calls: 2 },
  },
  messages: {
    system: { system: [{ type: 'text', text: 'Be brief.' }] },
    temperature: { temperature: 0.5 },
    top_p: { top_p: 0.5 },
    top_k: { top_k: 5 },
    stop_sequences: { stop_sequences: ['a'] },
    thinking: { thinking: { type: 'adaptive' } },
    'thinking.budget_tokens': { thinking: { type: 'enabled', budget_tokens: 2000 } },
    'thinking.block_binding': { thinking: { type: 'adaptive', block_binding: 'x' } },
    output_config: { output_config: { effort: 'xhigh' } },
    'output_config.effort': { output_config: { effort: 'low' } },
    'output_config.format': { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    output_format: { output_format: { type: 'json_schema', schema: SCHEMA } },
    tools: { tools: [OWN_TOOL] },
    tool_choice: { tools: [OWN_TOOL], tool_choice: { type: 'tool', name: 'find' } },
    'tool_choice.disable_parallel_tool_use': {
      tools: [OWN_TOOL],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    context_management: { context_management: { edits: [{ type: 'compact_20260112' }] } },
    'context_management.edits': { context_management: { edits: [{ type: 'clear_thinking_1' }] } },
  },
  gemini: {
    systemInstruction: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
    tools: { tools: [DECLARED] },
    toolConfig: { tools: [DECLARED], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    'toolConfig.functionCallingConfig': {
      tools: [DECLARED],
      toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['find'] } },
    },
    generationConfig: { generationConfig: { temperature: 0.5 } },
    ...configs({
      temperature: 1.5,
      topP: 0.5,
      topK: 5,
      maxOutputTokens: 50,
      stopSequences: ['a'],
      candidateCount: 2,
      seed: 5,
      frequencyPenalty: 1,
      presencePenalty: 1,
      responseLogprobs: true,
      responseSchema: { type: 'OBJECT' },
      responseJsonSchema: SCHEMA,
      responseMimeType: 'text/x.enum',
      responseModalities: ['IMAGE'],
      thinkingConfig: { thinkingBudget: 2000 },
    }),
    'generationConfig.logprobs': { generationConfig: { responseLogprobs: true, logprobs: 2 } },
    ...configs(
      { includeThoughts: true, thinkingBudget: 500, thinkingLevel: 'HIGH' },
      'thinkingConfig.',
    ),
  },
};

/** One field of `generationConfig` each. */
function configs(fields: object, prefix = ''): Record<string, object> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const own = prefix === '' ? { [name]: value } : { thinkingConfig: { [name]: value } };
      return [`generationConfig.${prefix}${name}`, { generationConfig: own }];
    }),
  );
}

const user = (...content: object[]) => ({ role: 'user', content });
const prompt = (...content: object[]) => ({ type: 'message', role: 'user', content });

/** Fields within lists, by what they are. */
const LISTS: Readonly<Record<Format, Readonly<Record<string, object>>>> = {
  chat: {
    'a name': { messages: [{ role: 'user', name: 'ann', content: 'Hi' }] },
    'two names': {
      messages: [
        { role: 'user', name: 'ann', content: 'Hi' },
        { role: 'user', name: 'bob', content: 'Ho' },
      ],
    },
    'a message that adds tools': {
      messages: [
        { role: 'system', tools: [CHAT_TOOL] },
        { role: 'user', content: 'Hi' },
      ],
    },
    'a begun answer': {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Os', partial: true },
      ],
    },
    'a begun answer of vLLM': {
      continue_final_message: true,
      add_generation_prompt: false,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Os' },
      ],
    },
    'audio of an earlier answer': {
      messages: [
        { role: 'assistant', content: 'a', audio: { id: 'a' } },
        { role: 'user', content: 'b' },
      ],
    },
    'strict arguments': {
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: SCHEMA } }],
    },
    'a schema with a pattern': {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', strict: true, schema: { type: 'string', pattern: 'a' } },
      },
    },
    'callers of a tool': { tools: [{ ...CHAT_TOOL, allowed_callers: ['x'] }] },
    'a hosted tool': { tools: [{ type: 'web_search' }] },
    'an unknown tool': { tools: [{ type: 'of_tomorrow' }] },
    'a custom tool of no shape': {
      tools: [{ type: 'custom', custom: { name: 'p', format: 'x' } }],
    },
    'an unknown part': { messages: [user({ type: 'of_tomorrow' })] },
    video: {
      messages: [user({ type: 'video_url', video_url: { url: 'https://a.example/a.mp4' } })],
    },
    sound: {
      messages: [user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } })],
    },
    'a stored file': { messages: [user({ type: 'file', file: { file_id: 'file-1' } })] },
    'detail of an image': {
      messages: [user({ type: 'image_url', image_url: { url: IMAGE, detail: 'low' } })],
    },
  },
  responses: {
    'a stored item': {
      input: [{ type: 'item_reference', id: 'msg_1' }, prompt({ type: 'input_text', text: 'a' })],
    },
    'a compaction': {
      input: [
        { type: 'compaction', encrypted_content: 'e' },
        { role: 'user', content: 'a' },
      ],
    },
    'a shell call': {
      input: [
        { type: 'local_shell_call', call_id: 'c', action: {} },
        { role: 'user', content: 'a' },
      ],
    },
    'an unknown item': { input: [{ type: 'of_tomorrow' }] },
    'a stored file': { input: [prompt({ type: 'input_file', file_id: 'file-1' })] },
    sound: {
      input: [prompt({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } })],
    },
    'a schema of results': { tools: [{ ...TOOL, output_schema: SCHEMA }] },
    'callers of a tool': { tools: [{ ...TOOL, allowed_callers: ['programmatic'] }] },
    'a grammar': {
      tools: [
        { type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'lark', definition: 'a' } },
      ],
    },
    'a hosted tool': { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    'a hosted tool in a namespace': {
      tools: [{ type: 'namespace', name: 'n', description: '', tools: [{ type: 'mcp' }] }],
    },
    'a search of an earlier answer': {
      input: [
        { type: 'web_search_call', id: 'ws_1' },
        { role: 'user', content: 'a' },
      ],
    },
    'tools of no shape': {
      tools: [
        { type: 'namespace', name: 'n', tools: [{ type: 'function' }] },
        { type: 'namespace', name: 'o', tools: [{ type: 'function', name: 'f', parameters: 'x' }] },
      ],
    },
    'added tools of no shape': {
      input: [
        {
          type: 'additional_tools',
          tools: [{ type: 'function', name: 'f', parameters: 7, description: 8 }],
        },
        { role: 'user', content: 'a' },
      ],
    },
  },
  messages: {
    'a begun answer': {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Os' },
      ],
    },
    'cited documents': {
      messages: [
        user({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'a' },
          citations: { enabled: true },
        }),
      ],
    },
    'the context of a document': {
      messages: [
        user({
          type: 'document',
          context: 'a',
          source: { type: 'text', media_type: 'text/plain', data: 'a' },
        }),
      ],
    },
    'a document of blocks': {
      messages: [
        user({
          type: 'document',
          source: { type: 'content', content: [{ type: 'text', text: 'a' }] },
        }),
      ],
    },
    'a search result': {
      messages: [
        user({
          type: 'search_result',
          source: 'a',
          title: 'b',
          content: [{ type: 'text', text: 'c' }],
        }),
      ],
    },
    'a stored file': {
      messages: [user({ type: 'image', source: { type: 'file', file_id: 'file_1' } })],
    },
    'callers of a tool': { tools: [{ ...OWN_TOOL, allowed_callers: ['code_execution_20250825'] }] },
    'a hosted tool': { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
    'a search of an earlier answer': {
      messages: [
        user({ type: 'text', text: 'a' }),
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'text', text: 'b' },
          ],
        },
        user({ type: 'text', text: 'c' }),
      ],
    },
    'more stop sequences than are searched': {
      stop_sequences: Array.from({ length: 101 }, (_, i) => `s${i}`),
    },
    'a search among tools': {
      tools: [
        { ...OWN_TOOL, defer_loading: true },
        { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
      ],
    },
  },
  gemini: {
    'a video': {
      contents: [
        {
          role: 'user',
          parts: [{ fileData: { fileUri: 'https://a.example/a.mp4', mimeType: 'video/mp4' } }],
        },
      ],
    },
    'a stored file': {
      contents: [
        { role: 'user', parts: [{ fileData: { fileUri: 'files/a', mimeType: 'image/png' } }] },
      ],
    },
    'how media are read': {
      contents: [
        {
          role: 'user',
          parts: [
            {
              inlineData: { mimeType: 'image/png', data: 'AAAA' },
              mediaResolution: { level: 'x' },
            },
          ],
        },
      ],
    },
    'code of an earlier answer': {
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        {
          role: 'model',
          parts: [{ executableCode: { language: 'PYTHON', code: '1' } }, { text: 'b' }],
        },
        { role: 'user', parts: [{ text: 'c' }] },
      ],
    },
    'the response of a function': {
      tools: [{ functionDeclarations: [{ name: 'f', response: { type: 'OBJECT' } }] }],
    },
    'a hosted tool': { tools: [{ ...DECLARED, googleSearch: {} }] },
  },
};

interface Policies {
  readonly onUnsupported?: 'refuse' | 'drop';
  readonly hosted?: 'refuse' | 'drop';
}

/** Whoever wants nothing dropped. */
const STRICT: Policies = { onUnsupported: 'refuse', hosted: 'refuse' };

/** Translates a request as a route does. */
function translate(
  client: Format,
  to: Format,
  more: object,
  { onUnsupported, hosted: policy }: Policies,
) {
  const { decodeRequest, fields } = dialectNamed(client);
  const body: Loose = structuredClone({ ...PLAIN[client], ...more });
  const request = decodeRequest(body, { model: 'm', stream: false });
  const inspection = new Inspection();
  fields.check(request.body, inspection, request.body);
  const model = { tools: { hosted: policy } } as TextModel;
  const hosted = HostedTools.of(request, inspection, model, 'm');
  const left = hosted?.withoutNative(request, (part) => refusalOf(part, to));
  const target = {
    ...{ dialect: to, provider: 'p', model: to === 'gemini' ? 'gemini-3-pro' : 'up', rules: null },
    ...{ reasons: true, maxOutputTokens: null },
  };
  const route = { onUnsupported } as TextRoute;
  const encoded = encodeFor(left?.request ?? request, target, { route, model, id: 'm' });
  return { ...encoded, dropped: [...(left?.dropped ?? []), ...encoded.dropped] };
}

/** The refusal of a request; null for one that is translated. Anything else is a defect. */
function refusalFor(...call: Parameters<typeof translate>): Failure | null {
  try {
    translate(...call);
    return null;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Fields with a meaning of a format, each in a request of its own. */
function samplesOf(client: Format): readonly (readonly [string, object])[] {
  const rows = fieldRows(dialectNamed(client).fields).filter(
    ({ class: kind, path, types }) =>
      VALUES[client][path] !== undefined ||
      (kind !== 'advice' && !types && !/\[\]|^tool_choice\./.test(path) && !ELSEWHERE.has(path)),
  );
  const fields = rows.map(({ path, upstreams }) => {
    const value = VALUES[client][path];
    if (value !== undefined) return [path, value] as const;
    if (upstreams === 'all') throw new Error(`no value for ${client}: ${path}`);
    const [first = '', second] = path.split('.');
    return [path, { [first]: second === undefined ? 'x' : { [second]: 'x' } }] as const;
  });
  return [...fields, ...Object.entries(LISTS[client])];
}

const PAIRS = FORMATS.flatMap((client) =>
  FORMATS.filter((to) => to !== client).map((to) => [client, to] as const),
);

/** Whether a failure is that of a request which no upstream could be sent. */
const isInvalid = ({ code }: Failure) => code !== 'not_supported_by_model';

describe.each(PAIRS)('a request of %s for an upstream of %s', (client, to) => {
  const samples = samplesOf(client);

  it.each(samples)('%s: is translated, or refused by path, format and remedy', (path, body) => {
    const failure = refusalFor(client, to, body, STRICT);
    if (failure === null) return;
    expect(failure).toMatchObject({ type: 'invalid_request', status: 400 });
    const { param, message } = failure;
    expect(Object.keys(body)).toContain(param!.split(/[.[]/)[0]!);
    if (path.includes('.')) expect(path).toContain(param!.replace(/\[\d+\]/g, '[]').split('.')[0]);
    expect(message.startsWith(`${param}: `)).toBe(true);
    if (isInvalid(failure)) return;
    expect(message).toMatch(
      /of this model's upstream|this upstream|the upstream of this model|this provider|the arguments/,
    );
    expect(message).toMatch(/models\.m\.(?:onUnsupported: \[|tools\.hosted: drop)|never left out/);
  });

  it.each(samples)('%s: is dropped and named, or its refusal says why not', (_, body) => {
    const refused = refusalFor(client, to, body, STRICT);
    const drop = { onUnsupported: 'drop', hosted: 'drop' } as const;
    const failure = refusalFor(client, to, body, drop);
    if (failure !== null) {
      if (!isInvalid(failure)) expect(failure.message).toContain('never left out');
      return;
    }
    const { dropped } = translate(client, to, body, drop);
    expect(dropped.length > 0).toBe(refused !== null);
    if (refused !== null) expect(dropped).toContain(refused.param);
  });

  it('of its hints are dropped and named by default', () => {
    const hints = fieldRows(dialectNamed(client).fields).filter((row) => row.class === 'hint');
    expect(hints.length).toBeGreaterThan(2);
    for (const { path } of hints) {
      const [, body] = samples.find(([name]) => name === path)!;
      const { dropped } = translate(client, to, body, {});
      expect(dropped).toEqual(refusalFor(client, to, body, STRICT) === null ? [] : [path]);
    }
  });

  it('two of them at once are dropped and named', () => {
    const drop = { onUnsupported: 'drop', hosted: 'drop' } as const;
    // Of two settings of reasoning one counts.
    const droppable = samples.filter(
      ([path, body]) =>
        !/^(?:thinking|output_config|reasoning)/.test(path) &&
        refusalFor(client, to, body, STRICT) &&
        !refusalFor(client, to, body, drop),
    );
    for (const [index, [, first]] of droppable.entries()) {
      const [, second] = droppable[(index + 1) % droppable.length]!;
      const both = { ...first, ...second };
      const names = translate(client, to, both, drop).dropped;
      for (const name of Object.keys(both)) {
        const alone = { [name]: (both as Loose)[name] };
        const param = refusalFor(client, to, alone, STRICT)?.param;
        if (param) expect(names).toContain(param);
      }
    }
  });
});
