import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason, TextEvent } from '../../canonical/events.ts';
import { truncatedAnswer } from '../answer-errors.ts';
import { answeredInput, callIdOnWire } from '../calls.ts';
import type { EncodeContext } from '../dialect.ts';
import { type AnswerBlock, foldAnswer } from '../fold-answer.ts';
import { isBare } from '../reasoning-signature.ts';
import { citationObject, stopOf } from './answer.ts';
import { hidesReasoning, redactedOf, signatureField, signatureWith } from './reasoning.ts';
import { usageObject } from './usage.ts';

/** Folds events into a message, as the official client folds a stream. */
export function foldEvents(
  { request, estimatedUsage }: EncodeContext,
  [events = []]: readonly (readonly TextEvent[])[],
): Json {
  const { model, blocks, usage, finish } = foldAnswer(events);
  if (finish === null) throw truncatedAnswer();
  const isHidden = hidesReasoning(request);
  const refusal = blocks.map((block) => (block.type === 'refusal' ? block.text : '')).join('');
  return {
    id: answerId('msg'),
    type: 'message',
    role: 'assistant',
    model: model ?? request.model,
    content: blocks.flatMap((block) => contentOf(block, finish.reason, isHidden) ?? []),
    ...stopOf(finish, refusal),
    usage: usageObject(usage ?? estimatedUsage?.(0) ?? null),
  };
}

/** The content for a block; null for one that is empty. */
function contentOf(block: AnswerBlock, reason: FinishReason, isHidden: boolean): Json | null {
  switch (block.type) {
    case 'text': {
      const citations = block.citations.map(citationObject);
      if (block.text === '' && citations.length === 0) return null;
      return { type: 'text', text: block.text, ...(citations.length > 0 && { citations }) };
    }
    case 'refusal':
      return block.text === '' ? null : { type: 'text', text: block.text };
    case 'reasoning': {
      const text = isHidden ? '' : block.text;
      const signature = signatureWith(isHidden ? block.text : null, block.signature);
      const data = text === '' ? redactedOf(signature) : null;
      if (data !== null) return { type: 'redacted_thinking', data };
      if (text === '' && (signature === null || isBare(signature))) return null;
      const field = signature === null ? '' : signatureField(signature);
      return { type: 'thinking', thinking: text, signature: field };
    }
    case 'call': {
      const { id, name, text: json } = block;
      const input = answeredInput('messages', { name, json }, reason === 'length');
      return { type: 'tool_use', id: callIdOnWire(id), name, input };
    }
    case 'native':
      return block.value as Json;
  }
}
