import * as v from 'valibot';
import { choice, choiceBy, openObject, selectBy, textOrList } from '../../../schema/choice.ts';
import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Feature } from '../../../store/features.ts';
import { byType, type FieldTable, fieldTable, gated, object, schemasOf } from '../field-table.ts';
import { advice, content, echo, meaning, named, native, read } from '../fields.ts';
import { address, type Check, feature, reference } from '../inspection.ts';
import { directCaller, nonEmptyText, optionalText, otherKind } from '../shared-fields.ts';
import { CACHE_MARK, tools } from './tool-fields.ts';

const nested: Check = (value, found, owner) => blocks(value, found, owner);

const SOURCES = {
  base64: fieldTable(
    content({
      type: v.literal('base64'),
      media_type: nonEmptyText('a media type such as image/png'),
      data: nonEmptyText('Base64'),
    }),
  ),
  url: fieldTable({
    ...content({ type: v.literal('url') }),
    url: meaning('Address.', { required: nonEmptyText('an address'), check: address }),
  }),
  file: fieldTable({
    ...content({ type: v.literal('file') }),
    file_id: meaning('Identifier of a stored file.', {
      required: nonEmptyText('the identifier of a file'),
      check: reference('file_id'),
    }),
  }),
};

const imageSource = choiceBy('type', schemasOf(SOURCES));

/** Citations are off, or those of an earlier answer, which are only for display. */
const citationsOff = {
  words: '{"enabled": false}',
  test: (value: unknown) =>
    isObject(value) ? value['enabled'] === false : listOf(value).length === 0,
};

const CALLER = {
  caller: advice('What called the tool.', { feature: 'code_interpreter', neutral: directCaller }),
  toolset_name: native('The toolset that has the tool.'),
};

const textBlock = fieldTable({
  ...content({ type: v.literal('text'), text: v.string() }),
  ...CACHE_MARK,
  citations: advice('Citations of an earlier answer, for display.', { neutral: citationsOff }),
});

const contentSource = fieldTable({
  ...content({ type: v.literal('content') }),
  content: meaning('Blocks.', {
    required: textOrList(
      'a text or a list of blocks',
      v.array(
        choiceBy('type', {
          text: textBlock.schema,
          image: openObject({ type: v.literal('image'), source: imageSource }),
        }),
      ),
    ),
    check: nested,
  }),
});
const textSource = fieldTable({
  ...content({ type: v.literal('text'), data: v.string() }),
  ...read('media_type'),
});
const DOCUMENT_SOURCES = { ...SOURCES, text: textSource, content: contentSource };
const source = byType(DOCUMENT_SOURCES);

const imageBlock = fieldTable({
  ...content({ type: v.literal('image') }),
  ...CACHE_MARK,
  transformations: advice('Transformations of an earlier image.'),
  source: meaning('The image.', { required: imageSource, check: source }),
});

const documentBlock = fieldTable({
  ...content({ type: v.literal('document'), title: optionalText }),
  ...CACHE_MARK,
  context: native('Words about the document that are not cited.'),
  citations: native('Whether the answer cites the document.', { neutral: citationsOff }),
  source: meaning('The document.', {
    required: choiceBy('type', schemasOf(DOCUMENT_SOURCES)),
    check: source,
  }),
});

const RESULT_BLOCKS = { text: textBlock, image: imageBlock, document: documentBlock };

/** Types of blocks that are decoded; all others are native. */
const DECODED_TYPES = [
  ...['text', 'image', 'document', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result'],
];

/** A text, or blocks of the given types and native blocks. Refuses decoded types that are not given. */
function textOrBlocks<const Known extends Readonly<Record<string, v.GenericSchema>>>(
  expects: string,
  known: Known,
) {
  const misplaced = openObject({ type: v.picklist(Object.keys(known)) });
  const elsewhere = Object.fromEntries(DECODED_TYPES.map((type) => [type, misplaced]));
  const options = [...Object.values(known), otherKind] as (Known[keyof Known] | typeof otherKind)[];
  const select = selectBy('type', { ...elsewhere, ...known }, otherKind);
  return textOrList(expects, v.array(choice('a block', options, select)));
}

/** Blocks that are translated, by type. */
const BLOCKS = {
  ...RESULT_BLOCKS,
  thinking: fieldTable({
    ...content({ type: v.literal('thinking'), thinking: v.string(), signature: optionalText }),
    ...CACHE_MARK,
  }),
  redacted_thinking: fieldTable({
    ...content({ type: v.literal('redacted_thinking'), data: nonEmptyText('a text') }),
    ...CACHE_MARK,
  }),
  tool_use: fieldTable({
    ...content({
      type: v.literal('tool_use'),
      id: nonEmptyText('the identifier of the call'),
      name: nonEmptyText('the name of a tool'),
      input: openObject({}),
    }),
    ...CACHE_MARK,
    ...CALLER,
  }),
  tool_result: fieldTable({
    ...content({
      type: v.literal('tool_result'),
      tool_use_id: nonEmptyText('the identifier of a call'),
      is_error: v.nullish(v.boolean()),
    }),
    ...CACHE_MARK,
    ...CALLER,
    ...named(echo, 'id', 'name'),
    content: meaning('Text or blocks.', {
      value: textOrBlocks('a text or a list of blocks', schemasOf(RESULT_BLOCKS)),
      items: nested,
    }),
  }),
};

type Of<Type extends keyof typeof BLOCKS> = v.InferInput<(typeof BLOCKS)[Type]['schema']>;
export type ImageBlock = Of<'image'>;
export type DocumentBlock = Of<'document'>;
export type ToolResultBlock = Of<'tool_result'>;
export type ThinkingBlock = Of<'thinking'>;
export type Block = { [Type in keyof typeof BLOCKS]: Of<Type> }[keyof typeof BLOCKS];

/** Blocks that are translated, by type. */
export const blockTables: ReadonlyMap<unknown, FieldTable> = new Map(
  Object.entries<FieldTable>(BLOCKS),
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
    ...BLOCKS,
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

export const messageFields = fieldTable({
  role: meaning('Author of the message.'),
  content: meaning('Text or blocks.', { items: blocks }),
});

const CONTENT = 'a text or a list of content blocks';

/** A list of texts, such as instructions are. */
export const textOrTexts = (expects: string) =>
  textOrList(expects, v.array(choiceBy('type', { text: textBlock.schema })));

/** A message, with the blocks that its role may have. */
export const messageSchema = choiceBy('role', {
  user: openObject({
    role: v.literal('user'),
    content: textOrBlocks(
      CONTENT,
      schemasOf({ ...RESULT_BLOCKS, tool_result: BLOCKS.tool_result }),
    ),
  }),
  assistant: openObject({
    role: v.literal('assistant'),
    content: textOrBlocks(
      CONTENT,
      schemasOf({
        text: textBlock,
        thinking: BLOCKS.thinking,
        redacted_thinking: BLOCKS.redacted_thinking,
        tool_use: BLOCKS.tool_use,
      }),
    ),
  }),
  system: openObject({ role: v.literal('system'), content: textOrTexts(CONTENT) }),
});

export type Message = v.InferInput<typeof messageSchema>;
