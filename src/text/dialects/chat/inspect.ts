import {
  address,
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

const CACHED = any('cache_control', 'prompt_cache_breakpoint');

/** Properties of answers that clients send back in messages. */
const ANSWERED = any(
  'annotations',
  'extra_content',
  'function_call',
  'id',
  'index',
  'object',
  'parsed',
  'partial',
  'phase',
  'prefix',
  'provider_specific_fields',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'reasoning_signature',
  'refusal',
  'status',
  'thinking_blocks',
);

const CALL_EXTRAS = any('extra_content', 'index', 'provider_specific_fields', 'thought_signature');

const calls = byType(
  {
    function: object({
      ...any('id', 'type', 'cache_control'),
      ...CALL_EXTRAS,
      function: object({ ...any('name', 'arguments'), ...CALL_EXTRAS }),
    }),
    custom: object({ ...any('id', 'type'), ...CALL_EXTRAS, custom: object(any('name', 'input')) }),
  },
  'function',
);

const parts = byType({
  text: object({
    ...any('type', 'text', 'role', 'name', 'citations'),
    ...CACHED,
    ...ANSWERED,
    tool_calls: calls,
  }),
  refusal: object(any('type', 'refusal')),
  thinking: object(any('type', 'thinking', 'signature', 'closed')),
  image_url: object({
    type: null,
    ...CACHED,
    image_url: object({ url: address, ...any('detail', 'format') }),
  }),
  video_url: object({ type: null, ...CACHED, video_url: object({ url: address, fps: null }) }),
  input_audio: object({
    type: null,
    ...CACHED,
    input_audio: object({ data: media, format: null }),
  }),
  file: object({
    type: null,
    ...CACHED,
    file: object({
      file_data: media,
      file_id: reference('file_id'),
      ...any('filename', 'format'),
    }),
  }),
});

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

const tools = byType({
  function: object({
    ...any('type', 'allowed_callers', 'defer_loading', 'eager_input_streaming', 'strict'),
    ...CACHED,
    function: object(any('name', 'description', 'parameters', 'strict')),
  }),
  custom: object({ type: null, custom: object(any('name', 'description', 'format')) }),
  ...HOSTED,
});

const choices: Check = byType({
  function: object({ type: null, function: object(any('name')) }),
  custom: object({ type: null, custom: object(any('name')) }),
  allowed_tools: object({
    type: null,
    allowed_tools: object({
      mode: null,
      tools: (value, found) => choices(value, found),
    }),
  }),
  ...HOSTED,
});

/** Modalities that are not metered as text. */
const modalities: Check = (value, found) => {
  if (!Array.isArray(value)) return;
  for (const kind of value) {
    if (kind !== 'text') found.use(kind === 'image' ? 'image_generation' : 'audio');
  }
};

/** The properties of a chat request, and the features that they need. */
export const inspect: Check = object({
  ...SAMPLING,
  ...LABELS,
  ...ROUTING,
  ...any(
    'cache_control',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'max_tokens',
    'model',
    'n',
    'parallel_tool_calls',
    'prediction',
    'reasoning',
    'reasoning_effort',
    'response_format',
    'seed',
    'stop',
    'store',
    'stream',
    'temperature',
    'thinking',
    'top_logprobs',
    'top_p',
    'verbosity',
  ),
  stream_options: object(any('continuous_usage_stats', 'include_obfuscation', 'include_usage')),
  messages: object({
    ...any('role', 'name', 'tool_call_id'),
    ...CACHED,
    ...ANSWERED,
    content: parts,
    tool_calls: calls,
    tools,
    audio: reference('file_id'),
  }),
  tools,
  tool_choice: choices,
  modalities,
  audio: feature('audio'),
  service_tier: feature('service_tier', 'auto', 'default', 'standard'),
  web_search_options: feature('web_search'),
  search_parameters: feature('web_search'),
});
