import { isObject } from '../../../schema/untrusted.ts';
import {
  advice,
  byType,
  echo,
  type Fields,
  FieldTable,
  listedAs,
  meaning,
  type NeutralValues,
  named,
  native,
  object,
  read,
  untranslated,
  values,
} from '../fields.ts';
import { address, type Check, feature, media, reference } from '../inspection.ts';
import { CACHE_MARKS, LOADING } from '../shared-fields.ts';

/** Properties that other gateways and providers add to answers for their own use. */
const FOREIGN: Fields = named(
  advice("Another provider's or gateway's property of an earlier answer."),
  'extra_content',
  'phase',
  'provider_specific_fields',
  'reasoning_signature',
  'thinking_blocks',
  'thought_signature',
);

const ECHOED: Fields = named(echo(), 'annotations', 'id', 'index', 'object', 'parsed', 'status');

export const functionCall = new FieldTable({ ...read('name', 'arguments'), ...FOREIGN, ...ECHOED });

export const call = new FieldTable({
  ...ECHOED,
  ...CACHE_MARKS,
  ...FOREIGN,
  ...read('id', 'type'),
  function: meaning('The call of a function.', { check: functionCall.check }),
});

const calls = byType(
  {
    function: call.check,
    custom: object({ ...read('id', 'type', 'custom'), ...ECHOED, ...FOREIGN }),
  },
  { usual: 'function' },
);

/** What a message has as an answer of the assistant. */
const ANSWER: Fields = {
  ...ECHOED,
  ...FOREIGN,
  ...read('reasoning', 'reasoning_content', 'reasoning_details', 'refusal'),
  tool_calls: meaning('Tool calls of the answer.', { items: calls }),
  function_call: meaning('The former name of tool_calls.'),
};

const content = (type: string, check: Check) =>
  new FieldTable({
    ...CACHE_MARKS,
    type: meaning('Kind of the part.'),
    [type]: meaning('Content.', { check }),
  });

export const textPart = new FieldTable({
  ...CACHE_MARKS,
  ...read('type', 'text'),
  ...named(echo(), 'annotations', 'citations', 'logprobs'),
});

/** A text part that repeats the whole answer. */
export const echoedPart = new FieldTable({
  ...CACHE_MARKS,
  ...ANSWER,
  ...read('type', 'text', 'role', 'name', 'content'),
});

export const refusalPart = new FieldTable(read('type', 'refusal'));

/** Parts with media, by type. */
export const mediaParts: Readonly<Record<string, FieldTable>> = {
  image_url: content(
    'image_url',
    object({
      url: meaning('Address or data.', { check: address }),
      ...read('detail', 'format'),
    }),
  ),
  video_url: content(
    'video_url',
    object({ url: meaning('Address or data.', { check: address }), fps: meaning('Sampling.') }),
  ),
  input_audio: content(
    'input_audio',
    object({ data: meaning('Base64.', { check: media }), ...read('format') }),
  ),
  file: content(
    'file',
    object({
      file_data: meaning('Base64 or address.', { check: media }),
      file_id: meaning('Identifier of a stored file.', { check: reference('file_id') }),
      ...read('filename', 'format'),
    }),
  ),
};

const checksOf = (tables: Readonly<Record<string, FieldTable>>) =>
  Object.fromEntries(Object.entries(tables).map(([name, { check }]) => [name, check]));

/** Every part of a message's content, by type. */
const parts = byType(
  {
    text: listedAs(textPart.check, echoedPart.check),
    refusal: refusalPart.check,
    thinking: object({ ...read('type', 'thinking', 'signature'), closed: echo() }),
    // Of Mistral, in answers that clients send back.
    reference: object(read('type', 'reference_ids')),
    ...checksOf(mediaParts),
  },
  { translated: ['text', 'refusal', ...Object.keys(mediaParts)] },
);

const HOSTED = {
  browser_search: feature('web_search'),
  // Moonshot's own tools, whose searches are billed per call.
  builtin_function: feature('web_search'),
  code_execution: feature('code_interpreter'),
  code_interpreter: feature('code_interpreter'),
  computer_use_preview: feature('computer_use'),
  file_search: feature('file_search'),
  image_generation: feature('image_generation'),
  live_search: feature('web_search'),
  mcp: feature('mcp'),
  web_search: feature('web_search'),
  web_search_preview: feature('web_search'),
  x_search: feature('web_search'),
} as const;

export const functionFields = new FieldTable(read('name', 'description', 'parameters', 'strict'));

const nameOfFunction: NeutralValues = {
  words: 'the name of its function',
  test: (value, owner) => isObject(owner['function']) && value === owner['function']['name'],
};

export const functionTool = new FieldTable({
  ...CACHE_MARKS,
  type: meaning('Kind of the tool.'),
  function: meaning('The function.', { check: functionFields.check }),
  // Codex repeats it here.
  name: native('Name of the function, again.', { neutral: nameOfFunction }),
  strict: native('Whether arguments follow the schema.', { neutral: values(false) }),
  allowed_callers: native('What may call the tool.'),
  ...LOADING,
  eager_input_streaming: advice('Whether arguments are streamed before they are whole.'),
});

export const tools = byType(
  { function: functionTool.check, custom: object(read('type', 'custom')), ...HOSTED },
  { translated: ['function', 'custom'] },
);

const byName = object(read('name'));

export const toolChoice: Check = byType({
  function: object({ ...read('type'), function: meaning('The function.', { check: byName }) }),
  custom: object({ ...read('type'), custom: meaning('The tool.', { check: byName }) }),
  allowed_tools: object({
    ...read('type'),
    allowed_tools: meaning('The tools.', {
      check: object({
        ...read('mode'),
        tools: meaning('The tools.', {
          check: (value, found, owner) => toolChoice(value, found, owner),
        }),
      }),
    }),
  }),
  ...HOSTED,
});

/** What a message of any role has. */
const EVERY: Fields = {
  ...CACHE_MARKS,
  ...ECHOED,
  ...read('role', 'tool_call_id', 'partial', 'prefix'),
  content: meaning('Text or parts.', { items: parts }),
  name: meaning("The participant's name."),
  tools: meaning('Tools that the message adds.', { items: tools }),
};

/** Messages of every role but the assistant's. */
export const prompt = new FieldTable(EVERY);

/** Messages of any role. */
export const message = new FieldTable({
  ...EVERY,
  ...ANSWER,
  audio: untranslated('Audio of an earlier answer, by its identifier.', {
    kept: 'content',
    check: reference('file_id'),
  }),
});
