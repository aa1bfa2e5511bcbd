import type { ServerEvent } from '../../../api/events.ts';
import type { ErrorFields } from '../../../api/request.ts';

/** JSON of a server that is not checked. */
export type Json = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
}

interface TextPart {
  readonly type: 'text' | 'reasoning' | 'refusal';
  readonly text: string;
}

/** Something that this page shows by its name alone, such as the call of a hosted tool. */
interface OtherPart {
  readonly type: 'other';
  readonly name: string;
}

/** One piece of an answer, in the order in which the model wrote it. */
export type Part = TextPart | ToolCall | OtherPart;

export interface TokenUsage {
  /** All input, with what was read from and written to caches. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly output: number;
  /** Part of the output. */
  readonly reasoning: number;
}

export interface AnswerError extends ErrorFields {
  readonly message: string;
}

/** Why an answer ended: `stop`, `length`, `calls`, `refusal`, or the provider's own word. */
export type StopReason = string;

/** What the events of a stream mean, in any format. */
export type AnswerEvent =
  | TextPart
  | OtherPart
  /** @property key identifies the call within the stream */
  | { readonly type: 'call'; readonly key: string; readonly id: string; readonly name: string }
  | { readonly type: 'arguments'; readonly key: string; readonly text: string }
  /** All arguments of a call, which replace those that came in pieces. */
  | { readonly type: 'all-arguments'; readonly key: string; readonly text: string }
  | { readonly type: 'usage'; readonly usage: TokenUsage }
  | { readonly type: 'stop'; readonly reason: StopReason }
  | { readonly type: 'error'; readonly error: AnswerError }
  /** The stream is complete. */
  | { readonly type: 'end' };

/** Reads the stream of one answer. */
export interface AnswerDecoder {
  decode(event: ServerEvent): readonly AnswerEvent[];
  /** A complete answer as the format sends it back in the next request, with the signatures of its reasoning. */
  replay(answer: Answer): readonly Json[];
}

/** An answer as far as it came. */
export interface Answer {
  readonly parts: readonly Part[];
  readonly usage: TokenUsage | null;
  readonly stop: StopReason | null;
  readonly error: AnswerError | null;
  readonly isComplete: boolean;
}

export const NO_ANSWER: Answer = {
  parts: [],
  usage: null,
  stop: null,
  error: null,
  isComplete: false,
};

/** Adds events to an answer. Calls are found by the keys of their stream. */
export class AnswerFolder {
  answer = NO_ANSWER;
  /** Index of each call in the parts, by its key. */
  readonly #calls = new Map<string, number>();

  add(event: AnswerEvent): void {
    this.answer = { ...this.answer, ...this.#changeBy(event) };
  }

  #changeBy(event: AnswerEvent): Partial<Answer> {
    const { parts } = this.answer;
    switch (event.type) {
      case 'text':
      case 'reasoning':
      case 'refusal': {
        if (event.text === '') return {};
        const last = parts.at(-1);
        if (last?.type !== event.type) return { parts: [...parts, event] };
        return { parts: parts.with(-1, { type: event.type, text: last.text + event.text }) };
      }
      case 'call': {
        const { id, name } = event;
        this.#calls.set(event.key, parts.length);
        return { parts: [...parts, { type: 'call', id, name, arguments: '' }] };
      }
      case 'arguments':
        return this.#withArguments(event.key, (before) => before + event.text);
      case 'all-arguments':
        return this.#withArguments(event.key, () => event.text);
      case 'other':
        return { parts: [...parts, event] };
      case 'usage':
        return { usage: event.usage };
      case 'stop':
        return { stop: event.reason };
      case 'error':
        return { error: event.error };
      case 'end':
        return { isComplete: true };
    }
  }

  #withArguments(key: string, change: (before: string) => string): Partial<Answer> {
    const { parts } = this.answer;
    const index = this.#calls.get(key) ?? -1;
    const call = parts[index];
    if (call?.type !== 'call') return {};
    return { parts: parts.with(index, { ...call, arguments: change(call.arguments) }) };
  }
}

/** All texts of one kind in an answer. */
export function textOf({ parts }: Answer, type: TextPart['type'] = 'text'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

export function callsOf(answer: Answer): readonly ToolCall[] {
  return answer.parts.filter((part) => part.type === 'call');
}
