import * as v from 'valibot';
import { openChoiceBy, openObject, wordOrObject } from '../../../schema/choice.ts';
import { isObject, objectsOf } from '../../../schema/untrusted.ts';
import { byType, fieldTable, gated, object } from '../field-table.ts';
import { advice, content, meaning, native, read } from '../fields.ts';
import { address, type Check, feature, reference } from '../inspection.ts';
import { functionName, LOADING } from '../shared-fields.ts';

const containerFields = object({
  ...read('type', 'memory_limit', 'network_policy'),
  file_ids: meaning('Stored files.', { check: reference('file_id') }),
  skills: meaning('Skills.', { feature: 'skills' }),
});

/** Where a shell runs. */
export const environments = byType({
  local: object(read('type', 'skills')),
  container_auto: gated(feature('code_interpreter'), containerFields),
  container_reference: object({
    ...read('type'),
    container_id: meaning('A stored container.', { check: reference('container') }),
  }),
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
const CLIENT_TOOLS = { apply_patch: null, custom: null, local_shell: null, tool_search: null };

export const functionTool = fieldTable({
  ...content({
    type: v.literal('function'),
    name: functionName,
    description: v.nullish(v.string()),
    parameters: v.nullish(openObject({})),
    strict: v.nullish(v.boolean()),
  }),
  cache_control: advice('Mark of a prompt cache.'),
  allowed_callers: native('What may call the tool.', {
    neutral: {
      words: '["direct"]',
      test: (value) => Array.isArray(value) && value.every((caller) => caller === 'direct'),
    },
  }),
  ...LOADING,
  output_schema: native('JSON Schema of the results.'),
});

const nested: Check = (value, found, owner) => tools(value, found, owner);

export const tools: Check = byType(
  {
    ...CLIENT_TOOLS,
    ...HOSTED,
    function: functionTool,
    namespace: object({
      ...read('type', 'name', 'description'),
      tools: meaning('The tools.', { items: nested }),
    }),
    shell: object({
      ...read('type', 'allowed_callers'),
      environment: meaning('Where it runs.', { check: environments }),
    }),
    file_search: gated(
      feature('file_search'),
      object({
        ...read('type', 'filters', 'max_num_results', 'ranking_options'),
        vector_store_ids: meaning('Stored files.', { check: reference('vector_store_ids') }),
      }),
    ),
    code_interpreter: gated(
      feature('code_interpreter'),
      object({
        ...read('type', 'allowed_callers'),
        container: meaning('Where it runs.', {
          check: (value, found, owner) => {
            if (isObject(value)) containerFields(value, found, owner);
            else reference('container')(value, found, owner);
          },
        }),
      }),
    ),
    image_generation: gated(
      feature('image_generation'),
      object({
        ...read('type', 'action', 'background', 'input_fidelity', 'model', 'moderation', 'n'),
        ...read('output_compression', 'output_format', 'partial_images', 'quality', 'size'),
        input_image_mask: meaning('The mask.', {
          check: object({
            file_id: meaning('A stored file.', { check: reference('file_id') }),
            image_url: meaning('Address or data.', { check: address }),
          }),
        }),
      }),
    ),
  },
  { translated: ['function', 'custom', 'namespace', 'tool_search'] },
);

/** A tool that only the provider knows, or a choice of one. */
const other = openObject({ type: v.string() });

export const toolList = v.array(openChoiceBy('type', { function: functionTool.schema }, other));

const functionChoice = fieldTable(content({ type: v.literal('function'), name: v.string() }));

export const toolChoiceSchema = wordOrObject(
  ['auto', 'none', 'required'],
  openChoiceBy('type', { function: functionChoice.schema }, other),
);

export const toolChoice: Check = byType({
  ...CLIENT_TOOLS,
  ...HOSTED,
  function: functionChoice,
  shell: null,
  allowed_tools: object({
    ...read('type', 'mode'),
    tools: meaning('The tools.', {
      check: (value, found, owner) => toolChoice(value, found, owner),
    }),
  }),
});

/** Types of tools that the client runs: `max_tool_calls` limits calls of others. */
const RUN_BY_CLIENT = new Set<unknown>([...Object.keys(CLIENT_TOOLS), 'function']);

/** Whether a list has tools that the provider runs. */
export function hasHostedTools(list: unknown): boolean {
  return objectsOf(list).some(({ type, tools: inner }) =>
    type === 'namespace' ? hasHostedTools(inner) : !RUN_BY_CLIENT.has(type),
  );
}
