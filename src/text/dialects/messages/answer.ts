import type { Citation, FinishReason, Json, TextEvent } from '../../canonical.ts';

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
 * How an answer ended, in the words of messages.
 *
 * @param refusal text of the refusal; empty where the answer has none
 */
export function stopOf({ reason, raw, stopSequence }: Finish, refusal: string): Json {
  const refused = refusal !== '';
  return {
    stop_reason: stopReason(reason, raw, stopSequence, refused),
    stop_sequence: stopSequence,
    // The content holds only text that the model wrote as its answer.
    stop_details: refused ? { type: 'refusal', category: null, explanation: refusal } : null,
  };
}

function stopReason(
  reason: FinishReason,
  raw: string | null,
  sequence: string | null,
  refused: boolean,
): string {
  if (reason === 'stop' && refused) return REASONS.refusal;
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
    // The place in a provider's search results, which only messages upstreams have.
    encrypted_index: '',
  };
}
