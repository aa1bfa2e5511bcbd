import { answerText } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Citation, FinishReason, TextEvent } from '../../canonical/events.ts';
import { type AnsweredReasoning, detailsOf } from './reasoning.ts';

const ID_LENGTH = 29;

/** An id in the form of OpenAI's. */
export function newCompletionId(prefix: 'chatcmpl' | 'cmpl'): string {
  return `${prefix}-${answerText(ID_LENGTH)}`;
}

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'content_filter',
  // The format has only the four reasons above.
  pause: 'stop',
  other: 'stop',
};

/** @param hasFunctions whether the answer has a `function_call` in place of tool calls */
export function finishReasonOf(reason: FinishReason, hasFunctions = false): string {
  return hasFunctions && reason === 'tool-calls' ? 'function_call' : REASONS[reason];
}

/**
 * Positions of blocks within a chat message, which has all its text in one string and all its tool
 * calls in one list.
 */
export class MessageLayout {
  /** Tool calls so far: the index of the next one. */
  calls = 0;
  /** Characters of text so far. */
  #textLength = 0;
  /** Offset of the current text block in the text. */
  #textStart = 0;
  readonly #reasoning: AnsweredReasoning[] = [];
  #reasoningText = '';

  startText(): void {
    this.#textStart = this.#textLength;
  }

  addText(text: string): void {
    this.#textLength += text.length;
  }

  startReasoning(): void {
    this.#reasoningText = '';
  }

  addReasoning(text: string): void {
    this.#reasoningText += text;
  }

  endReasoning({ signature }: TextEvent & { readonly type: 'reasoning-end' }): void {
    this.#reasoning.push({ text: this.#reasoningText, signature, after: this.calls });
  }

  /** `reasoning_details` of the answer; null if the plain text suffices. */
  get details(): readonly Json[] | null {
    return detailsOf(this.#reasoning);
  }

  /** A citation without positions covers its block so far. */
  annotation(citation: Citation): Json {
    const { start, end } = citation;
    const range = { start: start ?? 0, end: end ?? this.#textLength - this.#textStart };
    return annotationOf({ ...citation, ...range }, this.#textStart);
  }
}

/** A citation as chat has it. @param textStart the offset of its block in the text of the message */
export function annotationOf(
  { url, title, start, end }: Citation & { readonly start: number; readonly end: number },
  textStart: number,
): Json {
  return {
    type: 'url_citation',
    url_citation: {
      start_index: textStart + start,
      end_index: textStart + end,
      url,
      title: title ?? url,
    },
  };
}
