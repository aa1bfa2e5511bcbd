import { isObject, objectOf, objectsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { invalidAnswer } from '../answer-errors.ts';
import { MessagesDecoder } from '../messages/decode-events.ts';

/** Reasons that messages calls otherwise. */
const REASONS = new Map<unknown, string>([
  ['guardrail_intervened', 'refusal'],
  ['content_filtered', 'refusal'],
]);

/** Decodes answers of Converse as those of messages, whose blocks have other names. */
export class ConverseDecoder extends MessagesDecoder {
  /** The reason of the end, until the usage that comes after it. */
  #reason: unknown;

  protected override decodeAnswer(body: Json): void {
    const { output, stopReason, usage } = body;
    const content = objectOf(objectOf(output)['message'])['content'];
    if (!Array.isArray(content)) throw invalidAnswer('an answer without content');
    super.decodeAnswer({
      content: objectsOf(content).map(blockOf),
      stop_reason: reasonOf(stopReason),
      usage: usageOf(usage),
    });
  }

  protected override decodeEvent(event: Json): void {
    const [name, value] = Object.entries(event)[0] ?? [];
    const body = objectOf(value);
    if (name === 'messageStop') this.#reason = body['stopReason'];
    else if (name === 'metadata') this.#finish(body['usage']);
    else {
      const known = name === 'type' ? event : blockEventOf(name, body);
      if (known !== null) super.decodeEvent(known);
    }
  }

  /** The usage may be missing. */
  protected override decodeEnd(): void {
    if (this.#reason === undefined) super.decodeEnd();
    else this.#finish(undefined);
  }

  #finish(usage: unknown): void {
    const delta = { stop_reason: reasonOf(this.#reason) };
    super.decodeEvent({ type: 'message_delta', delta, usage: usageOf(usage) });
    if (this.#reason !== undefined) super.decodeEvent({ type: 'message_stop' });
  }
}

/** The event of messages for one of a block; null for an event that says nothing. */
function blockEventOf(name: string | undefined, body: Json): Json | null {
  const { contentBlockIndex: index, start, delta: given } = body;
  switch (name) {
    case 'contentBlockStart': {
      const { toolUse } = objectOf(start);
      if (!isObject(toolUse)) return null;
      const content_block = { ...blockOf({ toolUse }), input: {} };
      return { type: 'content_block_start', index, content_block };
    }
    case 'contentBlockDelta': {
      const { reasoningContent, ...others } = objectOf(given);
      const { redactedContent } = objectOf(reasoningContent);
      if (redactedContent !== undefined) {
        const content_block = blockOf({ reasoningContent });
        return { type: 'content_block_start', index, content_block };
      }
      const delta = deltaOf({ reasoningContent, ...others });
      return delta && { type: 'content_block_delta', index, delta };
    }
    case 'contentBlockStop':
      return { type: 'content_block_stop', index };
    default:
      return null;
  }
}

const reasonOf = (reason: unknown) => REASONS.get(reason) ?? reason;

function usageOf(usage: unknown): Json | undefined {
  if (!isObject(usage)) return undefined;
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens } = usage;
  const hour = objectsOf(usage['cacheDetails']).find(({ ttl }) => ttl === '1h');
  return {
    ...{ input_tokens: inputTokens, output_tokens: outputTokens },
    cache_read_input_tokens: cacheReadInputTokens,
    cache_creation_input_tokens: cacheWriteInputTokens,
    ...(hour && { cache_creation: { ephemeral_1h_input_tokens: hour['inputTokens'] } }),
  };
}

function blockOf({ text, toolUse, reasoningContent }: Json): Json {
  if (isObject(toolUse)) {
    const { toolUseId: id, name, input } = toolUse;
    return { type: 'tool_use', id, name, input };
  }
  if (isObject(reasoningContent)) {
    const { reasoningText, redactedContent: data } = reasoningContent;
    if (data !== undefined) return { type: 'redacted_thinking', data };
    const { text: thinking, signature = '' } = objectOf(reasoningText);
    return { type: 'thinking', thinking, signature };
  }
  return { type: 'text', text: text ?? '' };
}

function deltaOf({ text, toolUse, reasoningContent }: Json): Json | null {
  if (text !== undefined) return { type: 'text_delta', text };
  if (isObject(toolUse)) return { type: 'input_json_delta', partial_json: toolUse['input'] };
  if (!isObject(reasoningContent)) return null;
  const { text: thinking, signature } = reasoningContent;
  if (thinking !== undefined) return { type: 'thinking_delta', thinking };
  return signature === undefined ? null : { type: 'signature_delta', signature };
}
