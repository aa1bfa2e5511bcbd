import * as v from 'valibot';
import { choice, openObject, selectBy } from '../../../schema/choice.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { byType, type FieldTable, fieldTable, gated, object, schemasOf } from '../field-table.ts';
import { ANY, advice, content, echo, meaning, named, native, read } from '../fields.ts';
import { address, all, type Check, feature, media, reference } from '../inspection.ts';
import {
  CACHE_MARKS,
  directCaller,
  optionalText,
  otherKind,
  text,
  textOrParts,
} from '../shared-fields.ts';
import { OWN_REASONING } from './reasoning.ts';
import { environments, tools } from './tool-fields.ts';

const FILE = {
  file_id: meaning('Identifier of a stored file.', { value: text, check: reference('file_id') }),
};

const textPart = fieldTable({
  ...content({ type: v.picklist(['input_text', 'output_text', 'text']), text }),
  ...CACHE_MARKS,
  ...named(echo, 'annotations', 'logprobs'),
});

const image = fieldTable({
  ...content({ type: v.literal('input_image'), detail: optionalText }),
  ...CACHE_MARKS,
  ...FILE,
  image_url: meaning('Address or data.', { value: text, check: address }),
});

const PARTS = {
  input_text: textPart,
  output_text: textPart,
  text: textPart,
  refusal: fieldTable(content({ type: v.literal('refusal'), refusal: text })),
  input_image: image,
  input_file: fieldTable({
    ...content({ type: v.literal('input_file'), filename: optionalText }),
    ...read('detail'),
    ...CACHE_MARKS,
    ...FILE,
    file_data: meaning('Base64 or data.', { value: text, check: media }),
    file_url: meaning('Address.', { value: text, check: address }),
  }),
};

/** Parts of a message that are translated, by type. */
export const partTables: ReadonlyMap<unknown, FieldTable> = new Map(
  Object.entries<FieldTable>(PARTS),
);

const parts = byType(
  {
    ...PARTS,
    summary_text: textPart,
    reasoning_text: textPart,
    computer_screenshot: image,
    input_audio: object({
      ...read('type'),
      input_audio: meaning('The audio.', {
        check: object({ ...read('format'), data: meaning('Base64.', { check: media }) }),
      }),
    }),
  },
  { translated: Object.keys(PARTS) },
);

const itemContent = textOrParts(PARTS);

/** What every item may have. */
const ITEM = {
  ...read('type', 'call_id', 'name', 'role'),
  ...named(echo, 'id', 'status'),
  caller: advice('What called the tool.', {
    feature: 'code_interpreter',
    neutral: directCaller,
  }),
  namespace: meaning('The namespace of the tool.'),
  phase: advice('Whether the message is the final answer.'),
};

const callItem = fieldTable({
  ...ITEM,
  ...read('arguments', 'input', 'action'),
  execution: native('Where the search runs.'),
});
const outputItem = fieldTable({
  ...ITEM,
  output: meaning('Text or parts.', { required: itemContent, items: parts }),
});

const reasoningParts = v.nullish(v.array(openObject({ type: text, text })));

/** Items that are translated, by type. */
export const itemTables = {
  message: fieldTable({
    ...ITEM,
    ...content({
      type: v.nullish(v.literal('message')),
      role: v.picklist(['user', 'assistant', 'system', 'developer']),
    }),
    content: meaning('Text or parts.', { required: itemContent, items: parts }),
  }),
  function_call: callItem,
  function_call_output: outputItem,
  reasoning: fieldTable({
    ...ITEM,
    ...content({
      type: v.literal('reasoning'),
      summary: reasoningParts,
      content: reasoningParts,
      encrypted_content: optionalText,
    }),
    id: native('Part of an earlier answer, sent back.', { value: text, neutral: ANY }),
  }),
} as const;

const searched = object({
  ...ITEM,
  ...read('execution'),
  tools: meaning('The tools.', { items: tools }),
});

/** A reasoning item without encrypted content refers to one that the provider stores. */
const reasoning: Check = (value, inspection, owner) => {
  const item = value as Readonly<Record<string, unknown>>;
  itemTables.reasoning.check(item, inspection, owner);
  const { id, encrypted_content: content } = item;
  if (typeof content === 'string' && content !== '') return;
  if (typeof id !== 'string' || id.startsWith(OWN_REASONING)) return;
  inspection.within('id', reference('item_reference'), id, item);
};

const storedItem = fieldTable({
  ...content({ type: v.nullish(v.literal('item_reference')) }),
  id: meaning('Identifier of a stored item.', {
    required: text,
    check: reference('item_reference'),
  }),
});

const withContent = (...names: readonly string[]) => object({ ...ITEM, ...read(...names) });

/** The items of an input that are not references. */
export const items = byType(
  {
    message: itemTables.message,
    function_call: callItem,
    custom_tool_call: callItem,
    local_shell_call: callItem,
    tool_search_call: callItem,
    shell_call: object({
      ...ITEM,
      ...read('action'),
      environment: meaning('Where it runs.', { check: environments }),
    }),
    apply_patch_call: withContent('operation'),
    function_call_output: outputItem,
    custom_tool_call_output: outputItem,
    local_shell_call_output: withContent('output'),
    shell_call_output: withContent('output', 'max_output_length'),
    apply_patch_call_output: withContent('output'),
    // Both contain tools.
    tool_search_output: searched,
    additional_tools: searched,
    reasoning,
    compaction: withContent('encrypted_content'),
    compaction_summary: withContent('encrypted_content'),
    code_interpreter_call: feature('code_interpreter'),
    program: feature('code_interpreter'),
    program_output: feature('code_interpreter'),
    computer_call: feature('computer_use'),
    computer_call_output: gated(
      feature('computer_use'),
      object({
        ...ITEM,
        ...read('acknowledged_safety_checks'),
        output: meaning('The screenshot.', { items: parts }),
      }),
    ),
    file_search_call: feature('file_search'),
    image_generation_call: all(feature('image_generation'), reference('item_reference')),
    mcp_approval_request: feature('mcp'),
    mcp_approval_response: feature('mcp'),
    mcp_call: feature('mcp'),
    mcp_list_tools: feature('mcp'),
    web_search_call: feature('web_search'),
  },
  {
    usual: 'message',
    translated: [
      ...['message', 'reasoning', 'additional_tools', 'function_call', 'function_call_output'],
      ...['custom_tool_call', 'custom_tool_call_output', 'tool_search_call', 'tool_search_output'],
    ],
  },
);

/** The items of an input. */
export const input: Check = (value, inspection, owner) => {
  if (!Array.isArray(value)) return;
  for (const [index, item] of value.entries()) {
    const check = isObject(item) && isReference(item) ? storedItem.check : items;
    inspection.within(index, check, item, owner);
  }
};

/** Whether an item refers to another by its id, with or without the type `item_reference`. */
export function isReference(item: Readonly<Record<string, unknown>>): boolean {
  const type = item['type'] ?? null;
  return type === 'item_reference' || (type === null && item['role'] === undefined && 'id' in item);
}

const call = { call_id: text, name: text };
const output = { call_id: text, output: itemContent };
const { message, reasoning: reasoningItem } = schemasOf(itemTables);

const ITEMS = {
  message,
  function_call: openObject({ type: v.literal('function_call'), ...call, arguments: text }),
  function_call_output: openObject({ type: v.literal('function_call_output'), ...output }),
  custom_tool_call: openObject({ type: v.literal('custom_tool_call'), ...call, input: text }),
  custom_tool_call_output: openObject({ type: v.literal('custom_tool_call_output'), ...output }),
  reasoning: reasoningItem,
  item_reference: storedItem.schema,
};
const typed = selectBy('type', ITEMS, otherKind);

/** One item of the input. A message may leave out its type. */
export const inputItem = choice(
  'an object with a type or a role',
  [...Object.values(ITEMS), otherKind],
  (value) => {
    if (!isObject(value) || (value['type'] ?? null) !== null) return typed(value);
    return isReference(value) ? storedItem.schema : message;
  },
);
