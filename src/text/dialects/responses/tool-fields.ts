import * as v from 'valibot';
import { openChoiceBy, openObject } from '../../../schema/choice.ts';
import { isObject, objectsOf } from '../../../schema/untrusted.ts';
import { byType, fieldTable, gated, object } from '../field-table.ts';
import { advice, content, meaning, native, read } from '../fields.ts';
import { address, type Check, feature, reference } from '../inspection.ts';
import {
  directCaller,
  FUNCTION,
  HOSTED,
  LOADING,
  otherKind,
  toolChoiceBy,
} from '../shared-fields.ts';

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

const OWN_HOSTED = {
  ...HOSTED,
  computer: feature('computer_use'),
  computer_use: feature('computer_use'),
  programmatic_tool_calling: feature('code_interpreter'),
} as const;

/** Tools that the client runs. */
const CLIENT_TOOLS = { apply_patch: null, custom: null, local_shell: null, tool_search: null };

export const functionTool = fieldTable({
  ...content({ type: v.literal('function') }),
  ...FUNCTION,
  cache_control: advice('Mark of a prompt cache.'),
  allowed_callers: native('What may call the tool.', {
    neutral: directCaller,
  }),
  ...LOADING,
  output_schema: meaning('JSON Schema of the results.', { value: openObject({}) }),
});

const nested: Check = (value, found, owner) => tools(value, found, owner);

export const tools: Check = byType(
  {
    ...CLIENT_TOOLS,
    ...OWN_HOSTED,
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

export const toolList = v.array(openChoiceBy('type', { function: functionTool.schema }, otherKind));

const functionChoice = fieldTable(content({ type: v.literal('function'), name: v.string() }));

export const toolChoiceSchema = toolChoiceBy(functionChoice.schema);

export const toolChoice: Check = byType({
  ...CLIENT_TOOLS,
  ...OWN_HOSTED,
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
