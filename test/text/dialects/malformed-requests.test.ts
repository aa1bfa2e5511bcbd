import '../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { failureOf } from '../request.ts';

/** A path of a valid request, an invalid value to put there, the message, and the refused path if it is another one. */
type Row = readonly [path: string, value: unknown, message: string, param?: string];

const IMAGE = 'data:image/png;base64,AAAA';
const SCHEMA = { type: 'object' };

const CHAT = {
  model: 'm',
  messages: [
    { role: 'user', content: 'Hello' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
      reasoning_details: [{}],
    },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: { url: IMAGE } },
        { type: 'video_url', video_url: { url: IMAGE } },
        { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } },
        { type: 'file', file: { file_id: 'x' } },
      ],
    },
  ],
  tools: [{ type: 'function', function: { name: 'f' } }],
  tool_choice: { type: 'function', function: { name: 'f' } },
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
  stop: ['x'],
};

const CHAT_ROWS: readonly Row[] = [
  ['model', 5, "expected a model's name, received 5"],
  ['model', '', "expected a model's name"],
  ['messages', [], 'expected a list of one message at least, received an empty list'],
  ['messages', 'Hello', 'expected a list of one message at least'],
  ['messages', {}, 'received an object'],
  ['messages[1]', null, 'expected an object, received null'],
  ['messages[1]', [], 'expected an object, received a list'],
  [
    'messages[0].role',
    'robot',
    'expected one of system, developer, user, assistant, tool, function, received "robot"',
  ],
  ['messages[0].role', undefined, 'is required'],
  ['messages[0].role', '__proto__', 'expected one of'],
  ['messages[0].content', undefined, 'is required: a text or a list of parts'],
  ['messages[0].content', null, 'received null'],
  ['messages[0].content', 7, 'expected a text or a list of parts, received 7'],
  ['messages[0]', { role: 'system' }, 'is required: a text or a list', 'messages[0].content'],
  ['messages[2].tool_call_id', undefined, 'is required: a text'],
  ['messages[3].content[0].text', undefined, 'is required: a text'],
  ['messages[3].content[0].type', undefined, 'is required: a text'],
  ['messages[3].content[1].image_url', ['http://a/b'], 'expected an object'],
  [
    'messages[3].content[1].image_url.url',
    'ftp://a/b',
    'expected a URL of http:, https: or data:, or ms://…, received "ftp://a/b"',
  ],
  ['messages[3].content[1].image_url.url', 'data:image/png,xyz', 'expected data:<media type>;base'],
  ['messages[3].content[1].image_url.url', 'data:;base64,xyz', 'media type'],
  ['messages[3].content[2].video_url.url', 'file:///etc/passwd', 'expected a URL'],
  ['messages[3].content[3].input_audio.format', undefined, 'is required'],
  ['messages[3].content[4].file', {}, 'expected file_data or file_id'],
  [
    'messages[1].tool_calls[0].function.arguments',
    '{"a"',
    'expected the text of a JSON object, received "{\\"a\\""',
  ],
  ['messages[1].tool_calls[0].function.arguments', '[1]', 'expected the text of a JSON object'],
  ['messages[1].tool_calls[0].function.arguments', {}, 'expected a text, received an object'],
  ['messages[1].tool_calls[0].id', undefined, "is required: the call's id"],
  [
    'messages[1].tool_calls[0]',
    { type: 'custom', custom: { name: 'f', input: 'x' } },
    'is required: a text',
    'messages[1].tool_calls[0].id',
  ],
  ['messages[1].reasoning_details[0]', null, 'expected an object, received null'],
  ['temperature', 2.1, 'expected a number from 0 to 2, received 2.1'],
  ['top_p', -0.1, 'expected a number from 0 to 1'],
  ['max_tokens', 0, 'expected an integer of at least 1, received 0'],
  ['max_completion_tokens', 1_048_577, 'expected an integer from 1 to 1048576'],
  ['reasoning_effort', 'some', 'one of none, minimal, low, medium, high, xhigh, max, received'],
  ['thinking', true, 'expected an object, received true'],
  ['thinking', { type: 'maybe' }, 'expected one of enabled, disabled', 'thinking.type'],
  ['stop', ['1', '2', '3', '4', '5'], 'up to 4 texts, received a list'],
  ['stop[0]', 1, 'expected a text, received 1'],
  ['stop', 1, 'expected a text or a list of up to 4 texts, received 1'],
  ['n', 0, 'expected an integer of at least 1'],
  ['frequency_penalty', 3, 'from -2 to 2'],
  ['seed', 1.5, 'expected an integer'],
  ['top_logprobs', 21, 'from 0 to 20'],
  ['logprobs', 1, 'expected true or false'],
  ['logit_bias', [], 'expected an object, received a list'],
  ['response_format.type', 'xml', 'expected one of text, json_object, json_schema, received "xml"'],
  ['response_format.json_schema', undefined, 'is required: an object'],
  ['tools', {}, 'expected a list, received an object'],
  ['tools[0].function', undefined, 'is required: an object'],
  ['tools[0].function.name', '', "expected the function's name"],
  ['tools[0].function.parameters', [], 'received a list'],
  ['tool_choice', 'perhaps', 'expected one of auto, none, required, received "perhaps"'],
  ['tool_choice.function', undefined, 'is required: an object'],
  ['stream', 'yes', 'expected true or false, received "yes"'],
  ['user', 5, 'expected a text'],
];

const RESPONSES = {
  model: 'm',
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: IMAGE },
        { type: 'input_file', file_id: 'x' },
      ],
    },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
    { type: 'reasoning', id: 'rs_1', summary: [] },
  ],
  tools: [{ type: 'function', name: 'f' }],
  tool_choice: { type: 'function', name: 'f' },
  text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA } },
  include: ['x'],
};

const RESPONSES_ROWS: readonly Row[] = [
  ['model', undefined, "is required: a model's name"],
  ['model', '', 'expected a model\'s name, received ""'],
  ['input', undefined, 'is required: a text or a list of items'],
  ['input', 3, 'expected a text or a list of items, received 3'],
  ['input', {}, 'expected a text or a list of items, received an object'],
  ['input[0]', 3, 'expected an object, received 3'],
  ['input[0]', [], 'expected an object, received a list'],
  ['input[0]', null, 'expected an object, received null'],
  ['input[0].role', 'robot', 'one of user, assistant, system, developer, received "robot"'],
  ['input[0].content', undefined, 'is required: a text or a list of parts'],
  ['input[0].type', 3, 'expected a text, received 3'],
  ['input[3].id', {}, 'expected a text, received an object'],
  ['input[0].content[0].type', undefined, 'is required: a text'],
  ['input[0].content[0].text', 1, 'expected a text, received 1'],
  ['input[0].content[1].image_url', undefined, 'is required: a URL here or a file_id'],
  ['input[0].content[1].image_url', { url: 'x' }, 'expected a text, received an object'],
  [
    'input[0].content[1].image_url',
    'ftp://x',
    'expected a URL of http:, https: or data:, or ms://…, received "ftp://x"',
  ],
  [
    'input[0].content[1].image_url',
    'data:image/png,abc',
    'expected data:<media type>;base64,<data>, received "data:image/png,abc"',
  ],
  [
    'input[0].content[2].file_id',
    undefined,
    'is required: data here, a file_url or a file_id',
    'input[0].content[2].file_data',
  ],
  ['input[1].arguments', '{"a":', 'expected the text of a JSON object, received "{\\"a\\":"'],
  ['input[1].arguments', '[1]', 'expected the text of a JSON object, received "[1]"'],
  ['input[1].call_id', undefined, 'is required: a text'],
  ['input[2].output', undefined, 'is required: a text or a list of parts'],
  ['max_output_tokens', 0, 'expected an integer of at least 1, received 0'],
  ['temperature', 2.1, 'expected a number from 0 to 2, received 2.1'],
  ['stream', 'yes', 'expected true or false, received "yes"'],
  ['reasoning', { effort: 'huge' }, 'xhigh, max, received "huge"', 'reasoning.effort'],
  ['reasoning', [], 'expected an object, received a list'],
  ['tools[0].name', undefined, "is required: the function's name"],
  ['tools[0].parameters', 'x', 'expected an object, received a text'],
  ['tools[0].type', undefined, 'is required: a text'],
  ['tool_choice', 'any', 'expected one of auto, none, required, received "any"'],
  ['tool_choice.name', undefined, 'is required: a text'],
  ['text.format.schema', undefined, 'is required: an object'],
  ['include[0]', 1, 'expected a text, received 1'],
];

const MESSAGES = {
  model: 'm',
  max_tokens: 100,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'redacted_thinking', data: 'x' },
        { type: 'tool_use', id: 'a', name: 'b', input: {} },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'x' }] }],
    },
  ],
  tools: [{ name: 'b', input_schema: SCHEMA }],
  tool_choice: { type: 'tool', name: 'b' },
  stop_sequences: ['a', 'b'],
  output_config: { format: { type: 'json_schema', schema: SCHEMA } },
};

const MESSAGES_ROWS: readonly Row[] = [
  ['model', undefined, "is required: a model's name"],
  ['max_tokens', undefined, 'is required: an integer of at least 1'],
  ['max_tokens', 0, 'expected an integer of at least 1, received 0'],
  ['max_tokens', 1.5, 'expected an integer of at least 1, received 1.5'],
  ['messages', undefined, 'is required: a list of one message at least'],
  ['messages', [], 'expected a list of one message at least, received an empty list'],
  ['messages[0]', 'Hello', 'expected an object, received a text'],
  ['messages[0]', null, 'expected an object, received null'],
  ['messages[0].role', 'tool', 'expected one of user, assistant, system, received "tool"'],
  ['messages[0].content', 7, 'expected a text or a list of content blocks, received 7'],
  ['messages[0].content', undefined, 'is required: a text or a list of content blocks'],
  ['messages[0].content[0]', 'Hello', 'expected an object, received a text'],
  ['messages[0].content[0].text', undefined, 'is required: a text'],
  ['messages[0].content[0].text', null, 'expected a text, received null'],
  [
    'messages[0].content[0]',
    { type: 'tool_use', id: 'a', name: 'b', input: {} },
    'expected one of text, image, document, tool_result, received "tool_use"',
    'messages[0].content[0].type',
  ],
  ['messages[0].content[0].type', undefined, 'is required'],
  ['messages[0].content[1].source.data', 5, 'expected Base64, received 5'],
  ['messages[0].content[1].source.type', 'ftp', 'expected one of base64, url, file, received'],
  ['messages[2].content[0].content[0].text', 1, 'expected a text, received 1'],
  ['messages[1].content[1].input', [], 'expected an object, received a list'],
  ['messages[1].content[1].input', '{}', 'expected an object, received a text'],
  ['messages[1].content[0].data', undefined, 'is required: a text'],
  ['temperature', 1.1, 'expected a number from 0 to 1, received 1.1'],
  ['top_p', -1, 'expected a number from 0 to 1, received -1'],
  ['top_k', 'many', 'expected an integer of at least 0, received "many"'],
  ['stop_sequences', 'END', 'expected a list of texts, received "END"'],
  ['stop_sequences[1]', 2, 'received 2'],
  ['stream', 'yes', 'expected true or false, received "yes"'],
  ['system', 5, 'expected a text or a list of text blocks, received 5'],
  ['system', [{ type: 'image' }], 'expected one of text, received "image"', 'system[0].type'],
  ['tools', {}, 'expected a list of tools, received an object'],
  ['tools[0].name', undefined, 'is required: a name'],
  ['tools[0].input_schema', undefined, 'is required: an object'],
  ['tool_choice.type', 'required', 'expected one of auto, any, tool, none, received "required"'],
  ['tool_choice', 'auto', 'expected an object, received a text'],
  ['tool_choice.name', undefined, 'is required: the name of a tool'],
  ['thinking', { type: 'enabled' }, 'is required', 'thinking.budget_tokens'],
  ['output_config', { effort: 'some' }, 'received "some"', 'output_config.effort'],
  ['output_config.format.type', 'xml', 'received "xml"'],
  ['output_config.format.schema', undefined, 'is required'],
  ['metadata', { user_id: 1 }, 'expected a text, received 1', 'metadata.user_id'],
  ['thread', { id: 'thread_1' }, 'send the whole conversation in messages'],
];

const refusalOf = (dialect: string, body: unknown) =>
  failureOf(() => dialectNamed(dialect).decodeRequest(body));

/** A copy of a body with a value at a path. */
function withValue(body: object, path: string, value: unknown): unknown {
  const copy = structuredClone(body);
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  const last = keys.pop()!;
  let place = copy as Record<string, unknown>;
  for (const key of keys) place = place[key] as Record<string, unknown>;
  place[last] = value;
  return copy;
}

describe.each<[string, object, readonly Row[]]>([
  ['chat', CHAT, CHAT_ROWS],
  ['responses', RESPONSES, RESPONSES_ROWS],
  ['messages', MESSAGES, MESSAGES_ROWS],
])('a malformed request in the format of %s is refused', (dialect, body, rows) => {
  it('although the request that the rows change is valid', () => {
    expect(dialectNamed(dialect).decodeRequest(body)).toMatchObject({ dialect, model: 'm' });
  });

  const all = rows.map(([path, value, message, param = path]) => ({ path, value, message, param }));
  it.each(all)('naming $param, for $path: $value', ({ path, value, message, param }) => {
    const failure = refusalOf(dialect, withValue(body, path, value));
    expect(failure).toMatchObject({ type: 'invalid_request', status: 400, param });
    expect(failure.message.replace(' is required', '').startsWith(`${param}: `)).toBe(true);
    expect(failure.message).toContain(message);
  });

  it.each([null, undefined, 5, 'text', [], [body], true])('body %j', (other) => {
    expect(refusalOf(dialect, other)).toMatchObject({ type: 'invalid_request', param: null });
  });
});
