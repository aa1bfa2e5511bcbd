import { isObject } from '../../../schema/untrusted.ts';
import {
  address,
  all,
  any,
  byType,
  type Check,
  feature,
  LABELS,
  media,
  object,
  ROUTING,
  reference,
  SAMPLING,
} from '../inspection.ts';
import { isReference } from './items.ts';
import { OWN_REASONING } from './reasoning.ts';

const file = { file_id: reference('file_id') };
const text = object(
  any('type', 'text', 'annotations', 'logprobs', 'prompt_cache_breakpoint', 'cache_control'),
);
const image = object({
  ...any('type', 'detail', 'prompt_cache_breakpoint'),
  ...file,
  image_url: address,
});

const parts = byType({
  input_text: text,
  output_text: text,
  text,
  summary_text: text,
  reasoning_text: text,
  refusal: object(any('type', 'refusal')),
  input_image: image,
  computer_screenshot: image,
  input_file: object({
    ...any('type', 'filename', 'detail', 'prompt_cache_breakpoint'),
    ...file,
    file_data: media,
    file_url: address,
  }),
  input_audio: object({ type: null, input_audio: object({ data: media, format: null }) }),
});

const CONTAINER = {
  ...any('type', 'memory_limit', 'network_policy'),
  file_ids: reference('file_id'),
  skills: feature('skills'),
};

const environments = byType({
  local: object(any('type', 'skills')),
  container_auto: all(feature('code_interpreter'), object(CONTAINER)),
  container_reference: object({ type: null, container_id: reference('container') }),
});

const HOSTED = {
  code_interpreter: feature('code_interpreter'),
  computer: feature('computer_use'),
  computer_use: feature('computer_use'),
  computer_use_preview: feature('computer_use'),
  file_search: feature('file_search'),
  image_generation: feature('image_generation'),
  mcp: feature('mcp'),
  programmatic_tool_calling: feature('code_interpreter'),
  web_search: feature('web_search'),
  web_search_preview: feature('web_search'),
} as const;

/** Tools that the client runs. */
const CLIENT_TOOLS = any('apply_patch', 'custom', 'local_shell', 'tool_search');

const tools: Check = byType({
  ...CLIENT_TOOLS,
  ...HOSTED,
  function: object(
    any(
      'type',
      'name',
      'description',
      'parameters',
      'strict',
      'allowed_callers',
      'cache_control',
      'defer_loading',
      'output_schema',
    ),
  ),
  namespace: object({
    ...any('type', 'name', 'description'),
    tools: (value, found) => tools(value, found),
  }),
  shell: object({ ...any('type', 'allowed_callers'), environment: environments }),
  file_search: all(
    feature('file_search'),
    object({
      ...any('type', 'filters', 'max_num_results', 'ranking_options'),
      vector_store_ids: reference('vector_store_ids'),
    }),
  ),
  code_interpreter: all(
    feature('code_interpreter'),
    object({
      ...any('type', 'allowed_callers'),
      container: (value, found) => {
        if (isObject(value)) object(CONTAINER)(value, found);
        else reference('container')(value, found);
      },
    }),
  ),
  image_generation: all(
    feature('image_generation'),
    object({
      ...any(
        'type',
        'action',
        'background',
        'input_fidelity',
        'model',
        'moderation',
        'n',
        'output_compression',
        'output_format',
        'partial_images',
        'quality',
        'size',
      ),
      input_image_mask: object({ ...file, image_url: address }),
    }),
  ),
});

const choices: Check = byType({
  ...CLIENT_TOOLS,
  ...HOSTED,
  function: object(any('type', 'name')),
  shell: null,
  allowed_tools: object({
    ...any('type', 'mode'),
    tools: (value, found) => choices(value, found),
  }),
});

const ITEM = any('type', 'id', 'status', 'call_id', 'caller', 'namespace', 'name', 'role', 'phase');

const message = object({ ...ITEM, content: parts });
const output = object({ ...ITEM, output: parts });
const found = object({ ...ITEM, execution: null, tools });
const call = object({ ...ITEM, ...any('arguments', 'input', 'action', 'execution') });

/** A reasoning item without encrypted content refers to one that the provider stores. */
const reasoning: Check = (value, inspection) => {
  const item = value as Readonly<Record<string, unknown>>;
  object({ ...ITEM, ...any('summary', 'content', 'encrypted_content') })(item, inspection);
  const { id, encrypted_content: content } = item;
  if (typeof content === 'string' && content !== '') return;
  if (typeof id !== 'string' || id.startsWith(OWN_REASONING)) return;
  inspection.within('id', reference('item_reference'), id);
};

const storedItem = object({ type: null, id: reference('item_reference') });

const items = byType(
  {
    message,
    function_call: call,
    custom_tool_call: call,
    local_shell_call: call,
    tool_search_call: call,
    shell_call: object({ ...ITEM, action: null, environment: environments }),
    apply_patch_call: object({ ...ITEM, operation: null }),
    function_call_output: output,
    custom_tool_call_output: output,
    local_shell_call_output: object({ ...ITEM, output: null }),
    shell_call_output: object({ ...ITEM, ...any('output', 'max_output_length') }),
    apply_patch_call_output: object({ ...ITEM, output: null }),
    // Both contain tools.
    tool_search_output: found,
    additional_tools: found,
    reasoning,
    compaction: object({ ...ITEM, encrypted_content: null }),
    compaction_summary: object({ ...ITEM, encrypted_content: null }),
    code_interpreter_call: feature('code_interpreter'),
    program: feature('code_interpreter'),
    program_output: feature('code_interpreter'),
    computer_call: feature('computer_use'),
    computer_call_output: all(
      feature('computer_use'),
      object({ ...ITEM, acknowledged_safety_checks: null, output: parts }),
    ),
    file_search_call: feature('file_search'),
    image_generation_call: all(feature('image_generation'), reference('item_reference')),
    mcp_approval_request: feature('mcp'),
    mcp_approval_response: feature('mcp'),
    mcp_call: feature('mcp'),
    mcp_list_tools: feature('mcp'),
    web_search_call: feature('web_search'),
  },
  'message',
);

const input: Check = (value, inspection) => {
  if (!Array.isArray(value)) return;
  for (const [index, item] of value.entries()) {
    const check = isObject(item) && isReference(item) ? storedItem : items;
    inspection.within(index, check, item);
  }
};

/** The properties of a responses request, and the features that they need. */
export const inspect: Check = object({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  ...any(
    'include',
    'instructions',
    'max_output_tokens',
    'max_tool_calls',
    'model',
    'parallel_tool_calls',
    'store',
    'stream',
    'temperature',
    'top_logprobs',
    'top_p',
    'truncation',
  ),
  input,
  reasoning: object({
    ...any('context', 'effort', 'generate_summary', 'summary'),
    // `pro` runs several models for one answer.
    mode: feature('service_tier', 'standard'),
  }),
  text: object(any('format', 'verbosity')),
  stream_options: object(any('include_obfuscation')),
  tools,
  tool_choice: choices,
  background: feature('background', false),
  service_tier: feature('service_tier', 'auto', 'default'),
  context_management: feature('compaction'),
  conversation: reference('conversation'),
  previous_response_id: reference('previous_response_id'),
  prompt: reference('prompt'),
});
