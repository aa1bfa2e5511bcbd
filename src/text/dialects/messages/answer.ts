import type { Json } from '../../canonical/canonical.ts';
import type { Citation, FinishReason, TextEvent } from '../../canonical/events.ts';

type Finish = Extract<TextEvent, { readonly type: 'finish' }>;

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'refusal',
  pause: 'pause_turn',
  other: 'end_turn',
};

/**
 * The stop fields of a message.
 *
 * @param refusal the text of the refusal; empty for none
 */
export function stopOf({ reason, raw, stopSequence }: Finish, refusal: string): Json {
  const isRefusal = refusal !== '';
  return {
    stop_reason: stopReason(reason, raw, stopSequence, isRefusal),
    stop_sequence: stopSequence,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: refusal } : null,
  };
}

function stopReason(
  reason: FinishReason,
  raw: string | null,
  sequence: string | null,
  isRefusal: boolean,
): string {
  if (reason === 'stop' && isRefusal) return REASONS.refusal;
  if (reason === 'stop' && sequence !== null) return 'stop_sequence';
  if (raw === 'model_context_window_exceeded') return raw;
  return REASONS[reason];
}

export function citationObject({ url, title, quote }: Citation): Json {
  return {
    type: 'web_search_result_location',
    url,
    title,
    cited_text: quote ?? '',
    // The index in Anthropic's search results, which other providers do not have.
    encrypted_index: '',
  };
}
