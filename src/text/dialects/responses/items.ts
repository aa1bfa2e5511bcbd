import * as v from 'valibot';
import { choice, openChoiceBy, openObject, selectBy, textOrList } from '../../../schema/choice.ts';
import { isObject } from '../../../schema/untrusted.ts';

const text = v.string();

/** An item or a part that only the provider knows. */
const other = openObject({ type: text });

const textPart = openObject({ type: v.picklist(['input_text', 'output_text', 'text']), text });
const refusal = openObject({ type: v.literal('refusal'), refusal: text });
const image = openObject({
  type: v.literal('input_image'),
  image_url: v.nullish(text),
  file_id: v.nullish(text),
  detail: v.nullish(text),
});
const file = openObject({
  type: v.literal('input_file'),
  file_id: v.nullish(text),
  file_data: v.nullish(text),
  file_url: v.nullish(text),
  filename: v.nullish(text),
});

const part = openChoiceBy(
  'type',
  {
    input_text: textPart,
    output_text: textPart,
    text: textPart,
    refusal,
    input_image: image,
    input_file: file,
  },
  other,
);
const content = textOrList('a text or a list of parts', v.array(part));

const message = openObject({
  type: v.nullish(v.literal('message')),
  role: v.picklist(['user', 'assistant', 'system', 'developer']),
  content,
});
const functionCall = openObject({
  type: v.literal('function_call'),
  call_id: text,
  name: text,
  arguments: text,
});
const functionCallOutput = openObject({
  type: v.literal('function_call_output'),
  call_id: text,
  output: content,
});
const customToolCall = openObject({
  type: v.literal('custom_tool_call'),
  call_id: text,
  name: text,
  input: text,
});
const customToolCallOutput = openObject({
  type: v.literal('custom_tool_call_output'),
  call_id: text,
  output: content,
});
const reasoningPart = openObject({ type: text, text });
const reasoning = openObject({
  type: v.literal('reasoning'),
  id: v.nullish(text),
  summary: v.nullish(v.array(reasoningPart)),
  content: v.nullish(v.array(reasoningPart)),
  encrypted_content: v.nullish(text),
});
const reference = openObject({ type: v.nullish(v.literal('item_reference')), id: text });

const typed = selectBy(
  'type',
  {
    message,
    function_call: functionCall,
    function_call_output: functionCallOutput,
    custom_tool_call: customToolCall,
    custom_tool_call_output: customToolCallOutput,
    reasoning,
    item_reference: reference,
  },
  other,
);

/** Whether an item refers to another by its id, with or without the type `item_reference`. */
export function isReference(item: Readonly<Record<string, unknown>>): boolean {
  const type = item['type'] ?? null;
  return type === 'item_reference' || (type === null && item['role'] === undefined && 'id' in item);
}

/** One item of the input. The type of a message is optional. */
export const inputItem = choice(
  'an object with a type or a role',
  [
    message,
    functionCall,
    functionCallOutput,
    customToolCall,
    customToolCallOutput,
    reasoning,
    reference,
    other,
  ],
  (value) => {
    if (!isObject(value) || (value['type'] ?? null) !== null) return typed(value);
    return isReference(value) ? reference : message;
  },
);
