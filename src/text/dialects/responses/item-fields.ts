import { isObject } from '../../../schema/untrusted.ts';
import {
  advice,
  byType,
  echo,
  type Fields,
  FieldTable,
  gated,
  meaning,
  named,
  native,
  object,
  read,
} from '../fields.ts';
import { address, all, type Check, feature, media, reference } from '../inspection.ts';
import { CACHE_MARKS } from '../shared-fields.ts';
import { isReference } from './items.ts';
import { OWN_REASONING } from './reasoning.ts';
import { environments, tools } from './tool-fields.ts';

const FILE: Fields = {
  file_id: meaning('Identifier of a stored file.', { check: reference('file_id') }),
};

const text = new FieldTable({
  ...read('type', 'text'),
  ...CACHE_MARKS,
  ...named(echo(), 'annotations', 'logprobs'),
});

const image = new FieldTable({
  ...read('type', 'detail'),
  ...CACHE_MARKS,
  ...FILE,
  image_url: meaning('Address or data.', { check: address }),
});

const PARTS: Readonly<Record<string, FieldTable>> = {
  input_text: text,
  output_text: text,
  text,
  refusal: new FieldTable(read('type', 'refusal')),
  input_image: image,
  input_file: new FieldTable({
    ...read('type', 'filename', 'detail'),
    ...CACHE_MARKS,
    ...FILE,
    file_data: meaning('Base64 or data.', { check: media }),
    file_url: meaning('Address.', { check: address }),
  }),
};

/** Parts of a message that are translated, by type. */
export const partTables: ReadonlyMap<unknown, FieldTable> = new Map(Object.entries(PARTS));

const parts = byType(
  {
    ...Object.fromEntries(Object.entries(PARTS).map(([type, { check }]) => [type, check])),
    summary_text: text.check,
    reasoning_text: text.check,
    computer_screenshot: image.check,
    input_audio: object({
      ...read('type'),
      input_audio: meaning('The audio.', {
        check: object({ ...read('format'), data: meaning('Base64.', { check: media }) }),
      }),
    }),
  },
  { translated: Object.keys(PARTS) },
);

/** What every item may have. */
const ITEM: Fields = {
  ...read('type', 'call_id', 'name', 'role'),
  ...named(echo(), 'id', 'status'),
  caller: advice('What called the tool.', {
    feature: 'code_interpreter',
    neutral: {
      words: '{"type": "direct"}',
      test: (value) => isObject(value) && value['type'] === 'direct',
    },
  }),
  namespace: meaning('The namespace of the tool.'),
  phase: advice('Whether the message is the final answer.'),
};

const callItem = new FieldTable({
  ...ITEM,
  ...read('arguments', 'input', 'action'),
  execution: native('Where the search runs.'),
});
const outputItem = new FieldTable({
  ...ITEM,
  output: meaning('Text or parts.', { items: parts }),
});

/** Items that are translated, by type. */
export const itemTables = {
  message: new FieldTable({ ...ITEM, content: meaning('Text or parts.', { items: parts }) }),
  function_call: callItem,
  function_call_output: outputItem,
  reasoning: new FieldTable({ ...ITEM, ...read('summary', 'content', 'encrypted_content') }),
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

const storedItem = object({
  ...read('type'),
  id: meaning('Identifier of a stored item.', { check: reference('item_reference') }),
});

const withContent = (...names: readonly string[]) => object({ ...ITEM, ...read(...names) });

/** The items of an input that are not references. */
export const items = byType(
  {
    message: itemTables.message.check,
    function_call: callItem.check,
    custom_tool_call: callItem.check,
    local_shell_call: callItem.check,
    tool_search_call: callItem.check,
    shell_call: object({
      ...ITEM,
      ...read('action'),
      environment: meaning('Where it runs.', { check: environments }),
    }),
    apply_patch_call: withContent('operation'),
    function_call_output: outputItem.check,
    custom_tool_call_output: outputItem.check,
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
    const check = isObject(item) && isReference(item) ? storedItem : items;
    inspection.within(index, check, item, owner);
  }
};
