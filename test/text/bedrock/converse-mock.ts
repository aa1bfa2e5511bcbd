import * as v from 'valibot';
import { frame } from './aws-frames.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of two formats
type Loose = any;

const text = v.pipe(v.string(), v.regex(/\S/, 'The text field is blank'));
const name = v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/));
const base64 = v.pipe(v.string(), v.base64());
const optional = <Schema extends v.GenericSchema>(schema: Schema) => v.optional(schema);

/** One member of a union of AWS's. */
const union = (members: Record<string, v.GenericSchema>) =>
  v.union(Object.entries(members).map(([key, schema]) => v.strictObject({ [key]: schema })));

const cachePoint = v.strictObject({
  type: v.literal('default'),
  ttl: optional(v.picklist(['5m', '1h'])),
});
const image = v.strictObject({
  format: v.picklist(['png', 'jpeg', 'gif', 'webp']),
  source: union({ bytes: base64 }),
});
const document = v.strictObject({
  format: v.picklist(['pdf', 'txt']),
  name: v.pipe(v.string(), v.regex(/^[\p{L}\p{N}()[\]-]+(?: [\p{L}\p{N}()[\]-]+)*$/u)),
  source: union({ bytes: base64, text }),
});
const reasoningText = v.strictObject({ text: v.string(), signature: optional(v.string()) });
const block = union({
  ...{ text, image, document, cachePoint },
  toolUse: v.strictObject({ toolUseId: name, name, input: v.record(v.string(), v.unknown()) }),
  toolResult: v.strictObject({
    toolUseId: name,
    content: v.array(union({ text, image, document })),
    status: v.picklist(['success', 'error']),
  }),
  reasoningContent: union({ reasoningText, redactedContent: v.string() }),
});
const toolSpec = v.strictObject({
  name,
  description: optional(text),
  inputSchema: v.strictObject({ json: v.looseObject({ type: v.literal('object') }) }),
  strict: optional(v.boolean()),
});

/** A request by AWS's model of its service, as far as Oriel uses it. */
const request = v.strictObject({
  system: optional(v.array(union({ text, cachePoint }))),
  messages: v.array(
    v.strictObject({
      role: v.picklist(['user', 'assistant']),
      content: v.pipe(v.array(block), v.minLength(1)),
    }),
  ),
  inferenceConfig: optional(
    v.strictObject({
      maxTokens: optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
      temperature: optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
      topP: optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
      stopSequences: optional(v.array(v.string())),
    }),
  ),
  toolConfig: optional(
    v.strictObject({
      tools: v.pipe(v.array(union({ toolSpec, cachePoint })), v.minLength(1)),
      toolChoice: optional(
        union({
          auto: v.strictObject({}),
          any: v.strictObject({}),
          tool: v.strictObject({ name }),
        }),
      ),
    }),
  ),
  outputConfig: optional(
    v.strictObject({
      effort: optional(v.picklist(['low', 'medium', 'high', 'xhigh', 'max'])),
      textFormat: optional(
        v.strictObject({
          type: v.literal('json_schema'),
          structure: union({ jsonSchema: v.strictObject({ schema: v.string(), name }) }),
        }),
      ),
    }),
  ),
});

/** Why AWS refuses a request; null for a valid one. */
export function converseFault(body: Loose): string | null {
  const checked = v.safeParse(request, body);
  if (!checked.success) return JSON.stringify(v.flatten(checked.issues));
  const roles = body.messages.map(({ role }: Loose) => role);
  if (roles.some((role: string, at: number) => role !== (at % 2 === 0 ? 'user' : 'assistant')))
    return 'A conversation must alternate between user and assistant roles.';
  const isUsed = /"tool(?:Use|Result)":/.test(JSON.stringify(body.messages));
  return isUsed && !body.toolConfig ? 'The toolConfig field must be defined' : null;
}

/** The same request in the format of messages. */
export function messagesOf(body: Loose, model: string, stream: boolean): object {
  const { system, messages, inferenceConfig: settings = {}, toolConfig } = body;
  const tools = toolConfig?.tools.flatMap(({ toolSpec: spec }: Loose) =>
    spec ? [{ name: spec.name, input_schema: spec.inputSchema.json }] : [],
  );
  return {
    ...{ model, max_tokens: settings.maxTokens ?? 100, ...(stream && { stream }) },
    ...(system && { system: system.flatMap(blockOf) }),
    ...(tools && { tools }),
    messages: messages.map(({ role, content }: Loose) => ({
      role,
      content: content.flatMap(blockOf),
    })),
  };
}

function blockOf(one: Loose): Loose[] {
  const { toolUse, toolResult, reasoningContent } = one;
  if (one.text) return [{ type: 'text', text: one.text }];
  if (one.image) {
    const { format, source } = one.image;
    const data = { type: 'base64', media_type: `image/${format}`, data: source.bytes };
    return [{ type: 'image', source: data }];
  }
  if (toolUse) return [{ type: 'tool_use', id: toolUse.toolUseId, ...toolUse }];
  if (toolResult) {
    const content = toolResult.content.flatMap(blockOf);
    return [{ type: 'tool_result', tool_use_id: toolResult.toolUseId, content }];
  }
  if (reasoningContent?.reasoningText) {
    const { text: thinking, signature } = reasoningContent.reasoningText;
    return [{ type: 'thinking', thinking, signature }];
  }
  return [];
}

const usageOf = (usage: Loose) => ({
  inputTokens: usage.input_tokens,
  outputTokens: usage.output_tokens,
  totalTokens: usage.input_tokens + usage.output_tokens,
  cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
});

/** An answer of messages in the format of Converse. */
export function converseOf({ content, stop_reason: stopReason, usage }: Loose): object {
  const blocks = content.map((one: Loose) => {
    if (one.type === 'text') return { text: one.text };
    if (one.type === 'tool_use') {
      return { toolUse: { toolUseId: one.id, name: one.name, input: one.input } };
    }
    const { thinking, signature } = one;
    return { reasoningContent: { reasoningText: { text: thinking, signature } } };
  });
  const message = { role: 'assistant', content: blocks };
  return { output: { message }, stopReason, usage: usageOf(usage), metrics: { latencyMs: 1 } };
}

/** Turns the events of one stream of messages into frames of Converse. */
export function converseFrames(): (data: string) => Buffer {
  let [usage, stopReason]: Loose[] = [{}, null];
  return (data) => {
    const { type, index: contentBlockIndex, ...event } = JSON.parse(data);
    const own = (kind: string, more: object) => frame(kind, { contentBlockIndex, ...more });
    switch (type) {
      case 'message_start':
        usage = event.message.usage;
        return frame('messageStart', { role: 'assistant', p: 'abc' });
      case 'content_block_start': {
        const { type: kind, id, name: called } = event.content_block;
        if (kind !== 'tool_use') return Buffer.alloc(0);
        return own('contentBlockStart', { start: { toolUse: { toolUseId: id, name: called } } });
      }
      case 'content_block_delta': {
        const { text: said, thinking, signature, partial_json: input } = event.delta;
        const reasoningContent = thinking === undefined ? { signature } : { text: thinking };
        if (said !== undefined) return own('contentBlockDelta', { delta: { text: said } });
        const delta = input === undefined ? { reasoningContent } : { toolUse: { input } };
        return own('contentBlockDelta', { delta });
      }
      case 'content_block_stop':
        return own('contentBlockStop', {});
      case 'message_delta':
        usage = { ...usage, ...event.usage };
        stopReason = event.delta.stop_reason;
        return Buffer.alloc(0);
      case 'message_stop':
        return Buffer.concat([
          frame('messageStop', { stopReason }),
          frame('metadata', { usage: usageOf(usage), metrics: { latencyMs: 1 } }),
        ]);
      default:
        return Buffer.alloc(0);
    }
  };
}
