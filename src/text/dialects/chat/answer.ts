import { randomText } from '../../../store/identifier.ts';
import type { Citation, FinishReason, Json, TextEvent } from '../../canonical.ts';
import { type AnsweredReasoning, detailsOf } from './reasoning.ts';

const ID_LENGTH = 29;

/** As OpenAI's look. */
export function newCompletionId(): string {
  return `chatcmpl-${randomText(ID_LENGTH)}`;
}

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'content_filter',
  // The dialect has four reasons: what none of them says is that the model came to its end.
  pause: 'stop',
  other: 'stop',
};

export function finishReasonOf(reason: FinishReason): string {
  return REASONS[reason];
}

/** Where the blocks of one answer stand in its one message, which has all its text in one piece. */
export class MessageLayout {
  /** Tool calls so far, which is the index of the next one. */
  calls = 0;
  /** Characters of text so far. */
  #written = 0;
  /** Where the block of text that is being written began. */
  #textStart = 0;
  readonly #reasoning: AnsweredReasoning[] = [];
  #thought = '';

  startText(): void {
    this.#textStart = this.#written;
  }

  text(text: string): void {
    this.#written += text.length;
  }

  startReasoning(): void {
    this.#thought = '';
  }

  think(text: string): void {
    this.#thought += text;
  }

  endReasoning({ signature }: TextEvent & { readonly type: 'reasoning-end' }): void {
    this.#reasoning.push({ text: this.#thought, signature, after: this.calls });
  }

  /** `reasoning_details`, once all is said; null where plain text says it all. */
  get details(): readonly Json[] | null {
    return detailsOf(this.#reasoning);
  }

  /** Where nobody says what a citation is for, it is for all of its block so far. */
  annotation({ url, title, start, end }: Citation): Json {
    return {
      type: 'url_citation',
      url_citation: {
        start_index: this.#textStart + (start ?? 0),
        end_index: end === null ? this.#written : this.#textStart + end,
        url,
        title: title ?? url,
      },
    };
  }
}
