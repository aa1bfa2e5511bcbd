import * as v from 'valibot';
import { field, integer, number } from '../../schema.ts';
import { anyObject } from '../request-body.ts';

const text = (expects: string) => v.pipe(v.string(), v.nonEmpty(), v.metadata({ expects }));

const list = <const Schema extends v.GenericSchema>(schema: Schema, expects: string) =>
  v.pipe(v.array(schema), v.metadata({ expects }));

/** What else than these has a type is for Anthropic alone, and goes there as it came. */
const SPOKEN = [
  'text',
  'image',
  'document',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
];

const nativeBlock = v.looseObject({
  type: v.pipe(v.string(), v.regex(new RegExp(`^(?!(?:${SPOKEN.join('|')})$)`))),
});

const textBlock = v.looseObject({ type: v.literal('text'), text: v.string() });

const base64 = v.looseObject({
  type: v.literal('base64'),
  media_type: text('a media type such as image/png'),
  data: text('Base64'),
});
const url = v.looseObject({ type: v.literal('url'), url: text('an address') });
const file = v.looseObject({ type: v.literal('file'), file_id: text('the identifier of a file') });

const imageBlock = v.looseObject({
  type: v.literal('image'),
  source: v.variant('type', [base64, url, file]),
});

const documentBlock = v.looseObject({
  type: v.literal('document'),
  source: v.variant('type', [
    base64,
    url,
    file,
    v.looseObject({ type: v.literal('text'), data: v.string() }),
    v.looseObject({
      type: v.literal('content'),
      content: v.pipe(
        v.union([v.string(), v.array(v.variant('type', [textBlock, imageBlock]))]),
        v.metadata({ expects: 'a text or a list of blocks' }),
      ),
    }),
  ]),
  title: v.nullish(v.string()),
});

const toolUseBlock = v.looseObject({
  type: v.literal('tool_use'),
  id: text('the identifier of the call'),
  name: text('the name of a tool'),
  input: anyObject(),
});

const toolResultBlock = v.looseObject({
  type: v.literal('tool_result'),
  tool_use_id: text('the identifier of a call'),
  content: v.nullish(
    v.pipe(
      v.union([
        v.string(),
        v.array(v.variant('type', [textBlock, imageBlock, documentBlock, nativeBlock])),
      ]),
      v.metadata({ expects: 'a text or a list of blocks' }),
    ),
  ),
  is_error: v.nullish(v.boolean()),
});

const thinkingBlock = v.looseObject({
  type: v.literal('thinking'),
  thinking: v.string(),
  signature: v.nullish(v.string()),
});

const redactedThinkingBlock = v.looseObject({
  type: v.literal('redacted_thinking'),
  data: text('a text'),
});

const CONTENT = 'a text or a list of content blocks';

const content = <const Blocks extends v.GenericSchema>(blocks: Blocks) =>
  v.pipe(v.union([v.string(), v.array(blocks)]), v.metadata({ expects: CONTENT }));

const message = v.variant('role', [
  v.looseObject({
    role: v.literal('user'),
    content: content(
      v.variant('type', [textBlock, imageBlock, documentBlock, toolResultBlock, nativeBlock]),
    ),
  }),
  v.looseObject({
    role: v.literal('assistant'),
    content: content(
      v.variant('type', [
        textBlock,
        thinkingBlock,
        redactedThinkingBlock,
        toolUseBlock,
        nativeBlock,
      ]),
    ),
  }),
  v.looseObject({
    role: v.literal('system'),
    content: content(v.variant('type', [textBlock])),
  }),
]);

const customTool = v.looseObject({
  type: v.nullish(v.literal('custom')),
  name: text('a name'),
  description: v.nullish(v.string()),
  input_schema: field(anyObject(), 'JSON Schema of the input.', { expects: 'an object' }),
  strict: v.nullish(v.boolean()),
});

/** A tool that Anthropic runs, or has a schema for. */
const nativeTool = v.looseObject({
  type: v.pipe(v.string(), v.regex(/^(?!custom$)/)),
});

const parallel = { disable_parallel_tool_use: v.nullish(v.boolean()) };

const toolChoice = v.variant('type', [
  v.looseObject({ type: v.literal('auto'), ...parallel }),
  v.looseObject({ type: v.literal('any'), ...parallel }),
  v.looseObject({ type: v.literal('tool'), name: text('the name of a tool'), ...parallel }),
  v.looseObject({ type: v.literal('none') }),
]);

const thinking = v.variant('type', [
  v.looseObject({ type: v.literal('enabled'), budget_tokens: integer(1) }),
  v.looseObject({ type: v.literal('disabled') }),
  v.looseObject({ type: v.literal('adaptive') }),
  v.looseObject({ type: v.literal('between_tools') }),
]);

/** Reasoning is turned off by `thinking` here. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;

const outputConfig = v.looseObject({
  effort: v.nullish(field(v.picklist(EFFORTS), 'How much the model reasons.')),
  format: v.nullish(
    v.variant('type', [v.looseObject({ type: v.literal('json_schema'), schema: anyObject() })]),
  ),
});

/** A request in the format of Anthropic's messages (interface part 4.3). */
export const messagesRequest = v.looseObject({
  model: field(v.pipe(v.string(), v.nonEmpty()), 'The public identifier of a model.', {
    expects: 'the identifier of a model',
  }),
  messages: field(v.pipe(v.array(message), v.nonEmpty()), 'The conversation so far.', {
    expects: 'a list of one message at least',
  }),
  max_tokens: field(integer(1), 'The most tokens to write, reasoning included.'),
  system: v.nullish(
    field(v.union([v.string(), v.array(v.variant('type', [textBlock]))]), 'Instructions.', {
      expects: 'a text or a list of text blocks',
    }),
  ),
  temperature: v.nullish(field(number(0, 1), 'How freely the model chooses words.')),
  top_p: v.nullish(field(number(0, 1), 'The share of likely words that it chooses from.')),
  top_k: v.nullish(field(integer(0), 'How many likely words it chooses from.')),
  stop_sequences: v.nullish(
    field(list(text('a text of one character at least'), 'a list of texts'), 'Texts to stop at.', {
      expects: 'a list of texts',
    }),
  ),
  stream: v.nullish(field(v.boolean(), 'Whether the answer comes as an event stream.')),
  tools: v.nullish(
    field(v.array(v.variant('type', [customTool, nativeTool])), 'What the model may call.', {
      expects: 'a list of tools',
    }),
  ),
  tool_choice: v.nullish(toolChoice),
  thinking: v.nullish(thinking),
  output_config: v.nullish(outputConfig),
  metadata: v.nullish(v.looseObject({ user_id: v.nullish(v.string()) })),
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
