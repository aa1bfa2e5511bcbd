import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Feature } from '../../../store/features.ts';
import {
  advice,
  byType,
  echo,
  empty,
  type Fields,
  FieldTable,
  gated,
  meaning,
  named,
  native,
  object,
  read,
  values,
} from '../fields.ts';
import { address, type Check, feature, reference } from '../inspection.ts';
import { LOADING } from '../shared-fields.ts';

const CACHE_MARK: Fields = { cache_control: advice('Mark of a prompt cache.') };

const nested: Check = (value, found, owner) => blocks(value, found, owner);

const source: Check = byType({
  base64: object(read('type', 'media_type', 'data')),
  text: object(read('type', 'media_type', 'data')),
  url: object({ ...read('type'), url: meaning('Address.', { check: address }) }),
  file: object({
    ...read('type'),
    file_id: meaning('Identifier of a stored file.', { check: reference('file_id') }),
  }),
  content: object({ ...read('type'), content: meaning('Blocks.', { check: nested }) }),
});

/** Only the model itself calls the tool, which is the default. */
const directCaller = {
  words: 'direct',
  test: (value: unknown) =>
    isObject(value)
      ? value['type'] === 'direct'
      : Array.isArray(value) && value.every((one) => one === 'direct'),
};

/** Citations are off, or those of an earlier answer, which are only for display. */
const citationsOff = {
  words: '{"enabled": false}',
  test: (value: unknown) =>
    isObject(value) ? value['enabled'] === false : listOf(value).length === 0,
};

const CALLER: Fields = {
  caller: advice('What called the tool.', {
    feature: 'code_interpreter',
    neutral: directCaller,
  }),
  toolset_name: native('The toolset that has the tool.'),
};

const BLOCKS: Readonly<Record<string, FieldTable>> = {
  text: new FieldTable({
    ...read('type', 'text'),
    ...CACHE_MARK,
    citations: advice('Citations of an earlier answer, for display.', { neutral: citationsOff }),
  }),
  image: new FieldTable({
    ...read('type'),
    ...CACHE_MARK,
    transformations: advice('Transformations of an earlier image.'),
    source: meaning('The image.', { check: source }),
  }),
  document: new FieldTable({
    ...read('type', 'title'),
    ...CACHE_MARK,
    context: native('Words about the document that are not cited.'),
    citations: native('Whether the answer cites the document.', { neutral: citationsOff }),
    source: meaning('The document.', { check: source }),
  }),
  thinking: new FieldTable({ ...read('type', 'thinking', 'signature'), ...CACHE_MARK }),
  redacted_thinking: new FieldTable({ ...read('type', 'data'), ...CACHE_MARK }),
  tool_use: new FieldTable({ ...read('type', 'id', 'name', 'input'), ...CACHE_MARK, ...CALLER }),
  tool_result: new FieldTable({
    ...read('type', 'tool_use_id', 'is_error'),
    ...CACHE_MARK,
    ...CALLER,
    ...named(echo(), 'id', 'name'),
    content: meaning('Text or blocks.', { items: nested }),
  }),
};

/** Whether a tool searches for further tools at the provider. */
export function isToolSearch(name: unknown): boolean {
  return typeof name === 'string' && name.startsWith('tool_search_tool_');
}

/** Blocks that are translated, by type. */
export const blockTables: ReadonlyMap<unknown, FieldTable> = new Map(Object.entries(BLOCKS));

/** A tool that the client runs. */
export const clientTool = new FieldTable({
  ...read('type', 'name', 'description', 'input_schema', 'strict'),
  ...CACHE_MARK,
  eager_input_streaming: advice('Whether arguments are streamed before they are whole.', {
    neutral: values(false),
  }),
  allowed_callers: native('What may call the tool.', { neutral: directCaller }),
  ...LOADING,
  ...read('input_examples', 'max_characters'),
  configs: native('Setting of the tool.', { neutral: empty }),
});

const { check: client } = clientTool;

export const tools = byType(
  {
    custom: client,
    bash: client,
    memory: client,
    text_editor: client,
    tool_search_tool_bm25: client,
    tool_search_tool_regex: client,
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

const changedTool = byType({
  tool_reference: null,
  mcp_tool_reference: feature('mcp'),
  mcp_toolset_reference: feature('mcp'),
  tool_definition: object({ ...read('type'), definition: meaning('The tool.', { check: tools }) }),
});

/** Tools whose calls by the provider are in earlier answers. */
const RAN_BY_PROVIDER = new Map<unknown, Feature>([
  ['advisor', 'advisor'],
  ['bash_code_execution', 'code_interpreter'],
  ['code_execution', 'code_interpreter'],
  ['text_editor_code_execution', 'code_interpreter'],
  ['web_fetch', 'web_fetch'],
  ['web_search', 'web_search'],
]);

const NAMED = {
  ...read('type', 'id', 'name', 'tool_use_id'),
  ...CACHE_MARK,
  ...CALLER,
};

const toolChange = object({
  ...read('type'),
  ...CACHE_MARK,
  tool: meaning('The tool.', { check: changedTool }),
});

/** Every block of a message, by type. */
export const blocks: Check = byType(
  {
    ...Object.fromEntries(Object.entries(BLOCKS).map(([type, { check }]) => [type, check])),
    search_result: object({
      ...read('type', 'source', 'title', 'citations'),
      ...CACHE_MARK,
      content: meaning('Text.', { check: nested }),
    }),
    tool_reference: object({ ...read('type', 'tool_name'), ...CACHE_MARK }),
    server_tool_use: gated(
      (value, found) => {
        const name = isObject(value) ? RAN_BY_PROVIDER.get(value['name']) : undefined;
        if (name !== undefined) found.use(name);
      },
      object({ ...NAMED, ...read('input') }),
    ),
    tool_search_tool_result: object({ ...NAMED, ...read('content') }),
    tool_addition: toolChange,
    tool_removal: toolChange,
    compaction: object({ ...read('type', 'content', 'encrypted_content'), ...CACHE_MARK }),
    advisor_tool_result: feature('advisor'),
    bash_code_execution_tool_result: feature('code_interpreter'),
    code_execution_tool_result: feature('code_interpreter'),
    text_editor_code_execution_tool_result: feature('code_interpreter'),
    container_upload: object({
      ...read('type'),
      ...CACHE_MARK,
      file_id: meaning('Identifier of a stored file.', { check: reference('file_id') }),
    }),
    fallback: feature('routing'),
    mcp_tool_listing: feature('mcp'),
    mcp_tool_result: feature('mcp'),
    mcp_tool_use: feature('mcp'),
    web_fetch_tool_result: feature('web_fetch'),
    web_search_tool_result: feature('web_search'),
  },
  { translated: Object.keys(BLOCKS) },
);

export const messageFields = new FieldTable({
  role: meaning('Author of the message.'),
  content: meaning('Text or blocks.', { items: blocks }),
});
