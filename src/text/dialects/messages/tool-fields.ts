import * as v from 'valibot';
import { choice, openObject } from '../../../schema/choice.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { byType, fieldTable } from '../field-table.ts';
import { advice, content, empty, native, read, values } from '../fields.ts';
import { feature } from '../inspection.ts';
import { directCaller, LOADING, nonEmptyText, optionalText, otherKind } from '../shared-fields.ts';

export const CACHE_MARK = { cache_control: advice('Mark of a prompt cache.') };

/** Whether a tool searches for further tools at the provider. */
export function isToolSearch(name: unknown): boolean {
  return typeof name === 'string' && name.startsWith('tool_search_tool_');
}

/** A tool that the client runs. */
export const clientTool = fieldTable({
  ...content({
    type: v.nullish(v.literal('custom')),
    name: nonEmptyText('a name'),
    description: optionalText,
    input_schema: openObject({}),
    strict: v.nullish(v.boolean()),
  }),
  ...CACHE_MARK,
  eager_input_streaming: advice('Whether arguments are streamed before they are whole.', {
    neutral: values(false),
  }),
  allowed_callers: native('What may call the tool.', { neutral: directCaller }),
  ...LOADING,
  ...read('input_examples', 'max_characters'),
  configs: native('Setting of the tool.', { neutral: empty }),
});

/** The client's tools, and tools that Anthropic runs or has a schema for. */
export const toolList = v.pipe(
  v.array(
    choice('a tool', [clientTool.schema, otherKind], (value) => {
      const type = isObject(value) ? (value['type'] ?? 'custom') : 'custom';
      return type === 'custom' ? clientTool.schema : otherKind;
    }),
  ),
  v.metadata({ expects: 'a list of tools' }),
);

export const tools = byType(
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
  { usual: 'custom', translated: ['custom'] },
);
