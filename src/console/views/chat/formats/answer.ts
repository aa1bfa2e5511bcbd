import type { ServerEvent } from '../../../api/events.ts';

/** JSON of a server that is not checked. */
export type Json = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
}

/** One piece of an answer, in the order in which the model wrote it. */
export type Part =
  | { readonly type: 'text' | 'reasoning' | 'refusal'; readonly text: string }
  | ToolCall
  /** Something that this page shows by its name alone, such as a hosted tool's call. */
  | { readonly type: 'other'; readonly name: string };

export interface TokenUsage {
  /** All input, with what was read from and written to caches. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly output: number;
  /** Part of the output. */
  readonly reasoning: number;
}

/** Fields of an error, as `ApiError` takes them. */
export interface AnswerError {
  readonly message: string;
  readonly status?: number;
  readonly type?: string;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly requestId?: string | null;
  readonly retryAfter?: number | null;
}

/** Why an answer ended: `stop`, `length`, `calls`, `refusal`, or the provider's own word. */
export type StopReason = string;

/** What the events of a stream mean, in any format. */
export type AnswerEvent =
  | { readonly type: 'text' | 'reasoning' | 'refusal'; readonly text: string }
  /** @property key identifies the call within the stream */
  | { readonly type: 'call'; readonly key: string; readonly id: string; readonly name: string }
  | { readonly type: 'arguments'; readonly key: string; readonly text: string }
  /** All arguments of a call, which replace those that came in pieces. */
  | { readonly type: 'all-arguments'; readonly key: string; readonly text: string }
  | { readonly type: 'other'; readonly name: string }
  | { readonly type: 'usage'; readonly usage: TokenUsage }
  | { readonly type: 'stop'; readonly reason: StopReason }
  | { readonly type: 'error'; readonly error: AnswerError }
  /** The stream is complete. */
  | { readonly type: 'end' };

/** Reads the stream of one answer. */
export interface AnswerDecoder {
  decode(event: ServerEvent): readonly AnswerEvent[];
  /**
   * The answer as the format sends it back in the next request, with the signatures of its reasoning;
   * null if the stream did not end.
   */
  replay(): readonly Json[] | null;
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
  #answer = NO_ANSWER;
  /** Index of each call in the parts, by its key. */
  readonly #calls = new Map<string, number>();

  get answer(): Answer {
    return this.#answer;
  }

  add(event: AnswerEvent): void {
    const { parts } = this.#answer;
    switch (event.type) {
      case 'text':
      case 'reasoning':
      case 'refusal': {
        if (event.text === '') return;
        const last = parts.at(-1);
        this.#set({
          parts:
            last?.type === event.type
              ? parts.with(-1, { type: event.type, text: last.text + event.text })
              : [...parts, { type: event.type, text: event.text }],
        });
        return;
      }
      case 'call':
        this.#calls.set(event.key, parts.length);
        this.#set({
          parts: [...parts, { type: 'call', id: event.id, name: event.name, arguments: '' }],
        });
        return;
      case 'arguments':
        this.#change(event.key, (call) => call.arguments + event.text);
        return;
      case 'all-arguments':
        this.#change(event.key, () => event.text);
        return;
      case 'other':
        this.#set({ parts: [...parts, event] });
        return;
      case 'usage':
        this.#set({ usage: event.usage });
        return;
      case 'stop':
        this.#set({ stop: event.reason });
        return;
      case 'error':
        this.#set({ error: event.error });
        return;
      case 'end':
        this.#set({ isComplete: true });
    }
  }

  #set(change: Partial<Answer>): void {
    this.#answer = { ...this.#answer, ...change };
  }

  #change(key: string, argumentsOf: (call: ToolCall) => string): void {
    const index = this.#calls.get(key);
    const call = index === undefined ? undefined : this.#answer.parts[index];
    if (index === undefined || call?.type !== 'call') return;
    const changed = { ...call, arguments: argumentsOf(call) };
    this.#set({ parts: this.#answer.parts.with(index, changed) });
  }
}

export function textOf(answer: Answer): string {
  return answer.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

export function callsOf(answer: Answer): readonly ToolCall[] {
  return answer.parts.filter((part) => part.type === 'call');
}
