import { isObject } from '../../../schema/untrusted.ts';
import {
  address,
  any,
  byType,
  type Check,
  feature,
  object,
  ROUTING,
  reference,
} from '../inspection.ts';

const source: Check = byType({
  base64: object(any('type', 'media_type', 'data')),
  text: object(any('type', 'media_type', 'data')),
  url: object({ type: null, url: address }),
  file: object({ type: null, file_id: reference('file_id') }),
  content: object({ type: null, content: (value, found) => blocks(value, found) }),
});

const citedBlock = object({
  ...any('type', 'title', 'context', 'cache_control'),
  // Citations of an earlier answer, or whether to cite.
  citations: null,
  source,
});

const CLIENT_TOOL = any(
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'allowed_callers',
  'cache_control',
  'configs',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
  'max_characters',
);

const clientTool = object(CLIENT_TOOL);

const tools = byType(
  {
    custom: clientTool,
    bash: clientTool,
    memory: clientTool,
    text_editor: clientTool,
    tool_search_tool_bm25: clientTool,
    tool_search_tool_regex: clientTool,
    advisor: feature('advisor'),
    browser_toolset: feature('computer_use'),
    code_execution: feature('code_interpreter'),
    computer: feature('computer_use'),
    computer_toolset: feature('computer_use'),
    mcp_toolset: feature('mcp'),
    web_fetch: feature('web_fetch'),
    web_search: feature('web_search'),
  },
  'custom',
);

const changedTool = byType({
  tool_reference: null,
  mcp_tool_reference: feature('mcp'),
  mcp_toolset_reference: feature('mcp'),
  tool_definition: object({
    type: null,
    definition: tools,
  }),
});

const NAMED = any('type', 'id', 'name', 'cache_control', 'tool_use_id', 'toolset_name', 'caller');

const blocks: Check = byType({
  text: object(any('type', 'text', 'cache_control', 'citations')),
  image: object({ ...any('type', 'cache_control', 'transformations'), source }),
  document: citedBlock,
  search_result: object({
    ...any('type', 'source', 'title', 'cache_control', 'citations'),
    content: (value, found) => blocks(value, found),
  }),
  thinking: object(any('type', 'thinking', 'signature', 'cache_control')),
  redacted_thinking: object(any('type', 'data', 'cache_control')),
  tool_use: object({ ...NAMED, input: null }),
  tool_result: object({
    ...NAMED,
    is_error: null,
    content: (value, found) => blocks(value, found),
  }),
  tool_reference: object(any('type', 'tool_name', 'cache_control')),
  // A call that the provider made in an earlier answer; only its result may have more than text.
  server_tool_use: object({ ...NAMED, input: null }),
  tool_search_tool_result: object({ ...NAMED, content: null }),
  tool_addition: object({ ...any('type', 'cache_control'), tool: changedTool }),
  tool_removal: object({ ...any('type', 'cache_control'), tool: changedTool }),
  compaction: object(any('type', 'content', 'encrypted_content', 'cache_control')),
  advisor_tool_result: feature('advisor'),
  bash_code_execution_tool_result: feature('code_interpreter'),
  code_execution_tool_result: feature('code_interpreter'),
  text_editor_code_execution_tool_result: feature('code_interpreter'),
  container_upload: object({ ...any('type', 'cache_control'), file_id: reference('file_id') }),
  fallback: feature('routing'),
  mcp_tool_listing: feature('mcp'),
  mcp_tool_result: feature('mcp'),
  mcp_tool_use: feature('mcp'),
  web_fetch_tool_result: feature('web_fetch'),
  web_search_tool_result: feature('web_search'),
});

/** The reported usage does not include the tokens of compaction. */
const contextEdits = byType({
  clear_thinking: null,
  clear_tool_uses: null,
  compact: feature('compaction'),
});

const container: Check = (value, found) => {
  if (!isObject(value)) return reference('container')(value, found);
  object({ id: reference('container'), skills: feature('skills') })(value, found);
};

/** The properties of a messages request, and the features that they need. */
export const inspect: Check = object({
  ...ROUTING,
  ...any(
    'cache_control',
    'max_tokens',
    'model',
    'output_format',
    'stop_sequences',
    'stream',
    'temperature',
    'top_k',
    'top_p',
  ),
  metadata: object(any('user_id')),
  thinking: object(any('type', 'block_binding', 'budget_tokens', 'display')),
  tool_choice: object(any('type', 'name', 'disable_parallel_tool_use')),
  output_config: object(any('effort', 'format', 'task_budget')),
  system: blocks,
  messages: object({ role: null, content: blocks }),
  tools,
  compaction: feature('compaction'),
  container,
  context_management: object({ edits: contextEdits }),
  inference_geo: feature('service_tier', 'global'),
  mcp_servers: feature('mcp'),
  service_tier: feature('service_tier', 'auto', 'default', 'standard', 'standard_only'),
  speed: feature('service_tier', 'standard'),
  anthropic_beta: feature('betas'),
  betas: feature('betas'),
});
