import type { ServerEvent } from '../../../api/events.ts';
import type { ErrorFields } from '../../../api/request.ts';
import { countOf, type Json, objectOf, stringOf } from './json.ts';

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

/** An error in the shape that all formats have: message, type, code and param. */
function errorOf(value: unknown): AnswerError {
  const error = objectOf(value);
  return {
    message: stringOf(error['message']) || 'The answer failed.',
    type: stringOf(error['type']) || 'unknown',
    code: stringOf(error['code']) || null,
    param: stringOf(error['param']) || null,
  };
}

/** Usage of OpenAI's formats, which differ in their names of input and output. */
export function openAiUsage(value: unknown, input: string, output: string): TokenUsage {
  const usage = objectOf(value);
  const inputDetails = objectOf(usage[`${input}_tokens_details`]);
  const outputDetails = objectOf(usage[`${output}_tokens_details`]);
  return {
    input: countOf(usage[`${input}_tokens`]),
    cached: countOf(inputDetails['cached_tokens']),
    cacheWritten: countOf(inputDetails['cache_write_tokens']),
    output: countOf(usage[`${output}_tokens`]),
    reasoning: countOf(outputDetails['reasoning_tokens']),
  };
}

/** Reads the stream of one answer. */
export abstract class AnswerReader {
  /** The answer so far. */
  answer = NO_ANSWER;
  /** Index of each call in the parts, by its key within the stream. */
  readonly #calls = new Map<string, number>();

  abstract read(event: ServerEvent): void;

  /** A complete answer as the format sends it back in the next request, with the signatures of its reasoning. */
  abstract replay(): readonly Json[];

  protected set(change: Partial<Answer>): void {
    this.answer = { ...this.answer, ...change };
  }

  protected fail(error: unknown): void {
    this.set({ error: errorOf(error) });
  }

  #add(part: Part): void {
    this.set({ parts: [...this.answer.parts, part] });
  }

  protected addText(type: TextPart['type'], value: unknown): void {
    const text = stringOf(value);
    const last = this.answer.parts.at(-1);
    if (text === '') return;
    if (last?.type !== type) this.#add({ type, text });
    else this.set({ parts: this.answer.parts.with(-1, { type, text: last.text + text }) });
  }

  protected addOther(name: string): void {
    this.#add({ type: 'other', name });
  }

  protected addCall(key: string, id: unknown, name: unknown): void {
    this.#calls.set(key, this.answer.parts.length);
    this.#add({ type: 'call', id: stringOf(id), name: stringOf(name), arguments: '' });
  }

  protected hasCall(key: string): boolean {
    return this.#calls.has(key);
  }

  /** @param isAll whether they replace the arguments that came in pieces */
  protected addArguments(key: string, text: unknown, isAll = false): void {
    const { parts } = this.answer;
    const index = this.#calls.get(key) ?? -1;
    const call = parts[index];
    if (call?.type !== 'call') return;
    const before = isAll ? '' : call.arguments;
    this.set({ parts: parts.with(index, { ...call, arguments: before + stringOf(text) }) });
  }
}

/** All texts of one kind in an answer. */
export function textOf({ parts }: Answer, type: TextPart['type'] = 'text'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

export function callsOf(answer: Answer): readonly ToolCall[] {
  return answer.parts.filter((part) => part.type === 'call');
}
