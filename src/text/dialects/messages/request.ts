import * as v from 'valibot';
import { choice, choiceBy, openObject, selectBy, textOrList } from '../../../schema/choice.ts';
import { field, integer, number } from '../../../schema/fields.ts';
import { isObject } from '../../../schema/untrusted.ts';

const text = (expects: string) => v.pipe(v.string(), v.nonEmpty(), v.metadata({ expects }));

const list = <const Schema extends v.GenericSchema>(schema: Schema, expects: string) =>
  v.pipe(v.array(schema), v.metadata({ expects }));

/** Types of blocks that are decoded; all others are native. */
const DECODED_TYPES = [
  'text',
  'image',
  'document',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
];

const nativeBlock = openObject({ type: v.string() });

/** Blocks of the given types and native blocks. Refuses decoded types that are not given. */
function blocks<const Known extends Readonly<Record<string, v.GenericSchema>>>(known: Known) {
  const misplaced = openObject({ type: v.picklist(Object.keys(known)) });
  const elsewhere = Object.fromEntries(DECODED_TYPES.map((type) => [type, misplaced]));
  const options = [...Object.values(known), nativeBlock] as (
    | Known[keyof Known]
    | typeof nativeBlock
  )[];
  return choice('a block', options, selectBy('type', { ...elsewhere, ...known }, nativeBlock));
}

const textBlock = openObject({ type: v.literal('text'), text: v.string() });

const base64 = openObject({
  type: v.literal('base64'),
  media_type: text('a media type such as image/png'),
  data: text('Base64'),
});
const url = openObject({ type: v.literal('url'), url: text('an address') });
const file = openObject({ type: v.literal('file'), file_id: text('the identifier of a file') });

const imageBlock = openObject({
  type: v.literal('image'),
  source: choiceBy('type', { base64, url, file }),
});

const documentBlock = openObject({
  type: v.literal('document'),
  source: choiceBy('type', {
    base64,
    url,
    file,
    text: openObject({ type: v.literal('text'), data: v.string() }),
    content: openObject({
      type: v.literal('content'),
      content: textOrList(
        'a text or a list of blocks',
        v.array(choiceBy('type', { text: textBlock, image: imageBlock })),
      ),
    }),
  }),
  title: v.nullish(v.string()),
});

const toolUseBlock = openObject({
  type: v.literal('tool_use'),
  id: text('the identifier of the call'),
  name: text('the name of a tool'),
  input: openObject({}),
});

const toolResultBlock = openObject({
  type: v.literal('tool_result'),
  tool_use_id: text('the identifier of a call'),
  content: v.nullish(
    textOrList(
      'a text or a list of blocks',
      v.array(blocks({ text: textBlock, image: imageBlock, document: documentBlock })),
    ),
  ),
  is_error: v.nullish(v.boolean()),
});

const thinkingBlock = openObject({
  type: v.literal('thinking'),
  thinking: v.string(),
  signature: v.nullish(v.string()),
});

const redactedThinkingBlock = openObject({
  type: v.literal('redacted_thinking'),
  data: text('a text'),
});

const content = <const Block extends v.GenericSchema>(block: Block) =>
  textOrList('a text or a list of content blocks', v.array(block));

const message = choiceBy('role', {
  user: openObject({
    role: v.literal('user'),
    content: content(
      blocks({
        text: textBlock,
        image: imageBlock,
        document: documentBlock,
        tool_result: toolResultBlock,
      }),
    ),
  }),
  assistant: openObject({
    role: v.literal('assistant'),
    content: content(
      blocks({
        text: textBlock,
        thinking: thinkingBlock,
        redacted_thinking: redactedThinkingBlock,
        tool_use: toolUseBlock,
      }),
    ),
  }),
  system: openObject({
    role: v.literal('system'),
    content: content(choiceBy('type', { text: textBlock })),
  }),
});

const customTool = openObject({
  type: v.nullish(v.literal('custom')),
  name: text('a name'),
  description: v.nullish(v.string()),
  input_schema: field(openObject({}), 'JSON Schema of the input.'),
  strict: v.nullish(v.boolean()),
});

/** A tool that Anthropic runs, or has a schema for. */
const nativeTool = openObject({ type: v.string() });

const tool = choice('a tool', [customTool, nativeTool], (value) => {
  const type = isObject(value) ? (value['type'] ?? 'custom') : 'custom';
  return type === 'custom' ? customTool : nativeTool;
});

const parallel = { disable_parallel_tool_use: v.nullish(v.boolean()) };

const toolChoice = choiceBy('type', {
  auto: openObject({ type: v.literal('auto'), ...parallel }),
  any: openObject({ type: v.literal('any'), ...parallel }),
  tool: openObject({ type: v.literal('tool'), name: text('the name of a tool'), ...parallel }),
  none: openObject({ type: v.literal('none') }),
});

const thinking = choiceBy('type', {
  enabled: openObject({ type: v.literal('enabled'), budget_tokens: integer(1) }),
  disabled: openObject({ type: v.literal('disabled') }),
  adaptive: openObject({ type: v.literal('adaptive') }),
  between_tools: openObject({ type: v.literal('between_tools') }),
});

/** Without `none`: messages switches reasoning off by `thinking`. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

const outputFormat = choiceBy('type', {
  json_schema: openObject({ type: v.literal('json_schema'), schema: openObject({}) }),
});

const outputConfig = openObject({
  effort: v.nullish(field(v.picklist(EFFORTS), 'Reasoning effort.')),
  format: v.nullish(outputFormat),
});

/** A request in the format of Anthropic's messages. */
export const messagesRequest = openObject({
  model: field(v.pipe(v.string(), v.nonEmpty()), 'The public identifier of a model.', {
    expects: 'the identifier of a model',
  }),
  messages: field(v.pipe(v.array(message), v.nonEmpty()), 'The conversation so far.', {
    expects: 'a list of one message at least',
  }),
  max_tokens: field(integer(1), 'Maximum output tokens, including reasoning.'),
  system: v.nullish(
    field(
      textOrList('a text or a list of text blocks', v.array(choiceBy('type', { text: textBlock }))),
      'Instructions.',
    ),
  ),
  temperature: v.nullish(field(number(0, 1), 'Sampling temperature.')),
  top_p: v.nullish(
    field(number(0, 1), 'Nucleus sampling: the share of probability to choose from.'),
  ),
  top_k: v.nullish(field(integer(0), 'Number of most likely tokens to choose from.')),
  stop_sequences: v.nullish(
    field(list(text('a text of one character at least'), 'a list of texts'), 'Stop sequences.', {
      expects: 'a list of texts',
    }),
  ),
  stream: v.nullish(field(v.boolean(), 'Whether to stream the answer as server-sent events.')),
  tools: v.nullish(
    field(v.array(tool), 'Tools that the model may call.', {
      expects: 'a list of tools',
    }),
  ),
  tool_choice: v.nullish(toolChoice),
  thinking: v.nullish(thinking),
  output_config: v.nullish(outputConfig),
  output_format: v.nullish(outputFormat),
  metadata: v.nullish(openObject({ user_id: v.nullish(v.string()) })),
  service_tier: v.nullish(field(v.string(), 'Advice to the provider.')),
});

export type MessagesRequest = v.InferInput<typeof messagesRequest>;
export type Message = v.InferInput<typeof message>;
export type CustomTool = v.InferInput<typeof customTool>;
export type ImageBlock = v.InferInput<typeof imageBlock>;
export type DocumentBlock = v.InferInput<typeof documentBlock>;
export type ToolResultBlock = v.InferInput<typeof toolResultBlock>;
export type ToolUseBlock = v.InferInput<typeof toolUseBlock>;
export type ThinkingBlock = v.InferInput<typeof thinkingBlock>;
export type Block =
  | v.InferInput<typeof textBlock>
  | ImageBlock
  | DocumentBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | v.InferInput<typeof redactedThinkingBlock>;
