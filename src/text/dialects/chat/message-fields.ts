import * as v from 'valibot';
import { choice, choiceBy, openChoiceBy, openObject } from '../../../schema/choice.ts';
import { isObject } from '../../../schema/untrusted.ts';
import {
  byType,
  type Fields,
  fieldTable,
  listedAs,
  type NeutralValues,
  object,
} from '../field-table.ts';
import {
  ANY,
  advice,
  content,
  echo,
  hint,
  meaning,
  named,
  native,
  read,
  untranslated,
  values,
} from '../fields.ts';
import { address, type Check, feature, media, reference } from '../inspection.ts';
import {
  CACHE_MARKS,
  FUNCTION,
  HOSTED,
  LOADING,
  nonEmptyText,
  optionalText,
  otherKind,
  text,
  textOrParts,
  toolChoiceBy,
} from '../shared-fields.ts';

/** Properties that other gateways and providers add to answers for their own use. */
const FOREIGN = named(
  advice("Another provider's or gateway's property of an earlier answer."),
  'extra_content',
  'phase',
  'provider_specific_fields',
  'reasoning_signature',
  'thinking_blocks',
  'thought_signature',
);

const ECHOED = named(echo, 'annotations', 'id', 'index', 'object', 'parsed', 'status');

export const functionCall = fieldTable({
  ...content({ name: text, arguments: optionalText }),
  ...FOREIGN,
  ...ECHOED,
});

export const call = fieldTable({
  ...ECHOED,
  ...CACHE_MARKS,
  ...FOREIGN,
  ...content({
    id: nonEmptyText("the call's id"),
    type: v.nullish(v.literal('function')),
  }),
  function: meaning('The call of a function.', { required: functionCall }),
});

const customCall = fieldTable({
  ...content({ type: text }),
  ...read('custom'),
  ...ECHOED,
  ...FOREIGN,
  id: native('Part of an earlier answer, sent back.', { required: text, neutral: ANY }),
});

const calls = byType({ function: call, custom: customCall }, { usual: 'function' });

const toolCall = choice('a tool call', [call.schema, customCall.schema], (value) => {
  // Old clients send function calls without a type.
  const type = isObject(value) ? (value['type'] ?? 'function') : 'function';
  return type === 'function' ? call.schema : customCall.schema;
});

/** What a message has as an answer of the assistant. */
const ANSWER = {
  ...ECHOED,
  ...FOREIGN,
  ...read('reasoning'),
  ...content({
    reasoning_content: optionalText,
    reasoning_details: v.nullish(v.array(openObject({ type: optionalText }))),
    refusal: optionalText,
  }),
  tool_calls: meaning('Tool calls of the answer.', { value: v.array(toolCall), items: calls }),
  function_call: meaning('The former name of tool_calls.', {
    value: openObject({ name: text, arguments: optionalText }),
  }),
};

export const textPart = fieldTable({
  ...CACHE_MARKS,
  ...content({ type: v.literal('text'), text }),
  ...named(echo, 'annotations', 'citations', 'logprobs'),
});

/** A text part that repeats the whole answer. */
export const echoedPart = fieldTable({
  ...CACHE_MARKS,
  ...ANSWER,
  ...read('type', 'text', 'role', 'name', 'content'),
});

export const refusalPart = fieldTable(content({ type: v.literal('refusal'), refusal: text }));

/** A part with media, which are an object with the name of its type. */
function mediaPart<const Own extends Fields>(type: string, own: Own) {
  return fieldTable({
    ...CACHE_MARKS,
    ...content({ type: v.literal(type) }),
    [type]: meaning('The media.', { required: fieldTable(own) }),
  });
}

/** Parts with media, by type. */
export const mediaParts = {
  image_url: mediaPart('image_url', {
    url: meaning('Address or data.', { required: text, check: address }),
    ...content({ detail: optionalText }),
    ...read('format'),
  }),
  video_url: mediaPart('video_url', {
    url: meaning('Address or data.', { required: text, check: address }),
    fps: meaning('Sampling.'),
  }),
  input_audio: mediaPart('input_audio', {
    data: meaning('Base64.', { required: text, check: media }),
    ...content({ format: text }),
  }),
  file: mediaPart('file', {
    file_data: meaning('Base64 or address.', { value: text, check: media }),
    file_id: meaning('Identifier of a stored file.', { value: text, check: reference('file_id') }),
    ...content({ filename: optionalText }),
    ...read('format'),
  }),
} as const;

const PARTS = { text: textPart, refusal: refusalPart, ...mediaParts };

/** Every part of a message's content, by type. */
const parts = byType(
  {
    ...PARTS,
    text: listedAs(textPart.check, echoedPart.check),
    thinking: object({ ...read('type', 'thinking', 'signature'), closed: echo }),
    // Of Mistral, in answers that clients send back.
    reference: object(read('type', 'reference_ids')),
  },
  { translated: Object.keys(PARTS) },
);

const messageContent = textOrParts(PARTS);

const OWN_HOSTED = {
  ...HOSTED,
  browser_search: feature('web_search'),
  // Moonshot's own tools, whose searches are billed per call.
  builtin_function: feature('web_search'),
  code_execution: feature('code_interpreter'),
  live_search: feature('web_search'),
  x_search: feature('web_search'),
} as const;

/** A function that the model may call. */
export const functionFields = fieldTable(FUNCTION);

const nameOfFunction: NeutralValues = {
  words: 'the name of its function',
  test: (value, owner) => isObject(owner['function']) && value === owner['function']['name'],
};

export const functionTool = fieldTable({
  ...CACHE_MARKS,
  ...content({ type: v.literal('function') }),
  function: meaning('The function.', { required: functionFields }),
  // Codex repeats it here.
  name: native('Name of the function, again.', { neutral: nameOfFunction }),
  strict: native('Whether arguments follow the schema.', { neutral: values(false) }),
  allowed_callers: native('What may call the tool.'),
  ...LOADING,
  eager_input_streaming: advice('Whether arguments are streamed before they are whole.'),
});

export const tools = byType(
  { function: functionTool, custom: object(read('type', 'custom')), ...OWN_HOSTED },
  { translated: ['function', 'custom'] },
);

export const toolList = v.array(openChoiceBy('type', { function: functionTool.schema }, otherKind));

const byName = fieldTable(content({ name: text }));
const functionChoice = fieldTable({
  ...content({ type: v.literal('function') }),
  function: meaning('The function.', { required: byName }),
});

export const toolChoice: Check = byType({
  function: functionChoice,
  custom: object({ ...read('type'), custom: meaning('The tool.', { check: byName.check }) }),
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
  ...OWN_HOSTED,
});

export const toolChoiceSchema = toolChoiceBy(functionChoice.schema);

/** What a message of any role has. */
const EVERY = {
  ...CACHE_MARKS,
  ...ECHOED,
  ...read('role', 'prefix'),
  ...content({ tool_call_id: optionalText, partial: v.nullish(v.boolean()) }),
  content: meaning('Text or parts.', { value: messageContent, items: parts }),
  name: hint("The participant's name.", { value: text }),
  tools: meaning('Tools that the message adds.', { value: toolList, items: tools }),
};

/** Messages of every role but the assistant's. */
export const prompt = fieldTable(EVERY);

/** Messages of any role. */
export const message = fieldTable({
  ...EVERY,
  ...ANSWER,
  audio: untranslated('Audio of an earlier answer, by its identifier.', {
    kept: 'content',
    check: reference('file_id'),
  }),
});

const {
  content: anyContent,
  name,
  tools: added,
  tool_call_id,
  ...ofAnswer
} = message.schema.entries;
const system = openObject({
  role: v.picklist(['system', 'developer']),
  content: anyContent,
  name,
  tools: added,
});

/** A message, with what its role requires. */
export const messageSchema = choiceBy('role', {
  system,
  developer: system,
  user: openObject({ role: v.literal('user'), content: messageContent, name }),
  assistant: openObject({
    role: v.literal('assistant'),
    content: anyContent,
    name,
    ...ofAnswer,
  }),
  tool: openObject({ role: v.literal('tool'), content: messageContent, tool_call_id: text }),
  function: openObject({ role: v.literal('function'), name: text, content: anyContent }),
});
