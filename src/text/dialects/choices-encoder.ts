import { Failure } from '../../failure.ts';
import type { TextEvent, Usage } from '../canonical/events.ts';
import type { EncodeContext, EventEncoder } from './dialect.ts';
import { sumOf } from './usage.ts';

type FinishEvent = TextEvent & { readonly type: 'finish' };

/** An event in the course of one answer. */
export type CourseEvent = Exclude<TextEvent, { readonly type: 'finish' | 'error' }>;

/** One of the `n` answers in a stream. */
export class Choice {
  readonly index: number;
  isFinished = false;
  /** Null until its end, and where the provider reports none. */
  usage: Usage | null = null;

  constructor(index: number) {
    this.index = index;
  }
}

/** Encodes the streams of a format that can have several answers in one stream. */
export abstract class ChoicesEncoder<One extends Choice> implements EventEncoder {
  protected readonly context: EncodeContext;
  /** The model that the answers name. */
  protected model: string;
  readonly #choices = new Map<number, One>();
  #ended = false;

  constructor(context: EncodeContext) {
    this.context = context;
    this.model = context.request.model;
  }

  protected abstract newChoice(index: number): One;

  /** @throws Failure for output that the format cannot express */
  protected abstract encode(event: CourseEvent, choice: One): string;

  /** Returns the frames that end an answer. @param isLast whether they end the stream too */
  protected abstract finish(event: FinishEvent, choice: One, isLast: boolean): string;

  /** Returns the last frames of a stream that failed: without a finish reason, so that it does not look complete. */
  protected abstract fail(failure: Failure): string;

  /** The usage of all answers together; null where no provider reported any. */
  protected usageOfAll(): Usage | null {
    return sumOf(Array.from(this.#choices.values(), ({ usage }) => usage));
  }

  push(event: TextEvent, index = 0): string {
    if (this.#ended) return '';
    try {
      if (event.type === 'error') throw event.failure;
      if (event.type === 'start') this.model = event.model ?? this.model;
      const choice = this.#choices.get(index) ?? this.#begin(index);
      if (choice.isFinished) return '';
      if (event.type !== 'finish') return this.encode(event, choice);
      choice.isFinished = true;
      choice.usage = event.usage;
      const choices = [...this.#choices.values()];
      const hasAll = choices.length >= (this.context.request.n ?? 1);
      this.#ended = hasAll && choices.every(({ isFinished }) => isFinished);
      return this.finish(event, choice, this.#ended);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#ended = true;
      return this.fail(error);
    }
  }

  #begin(index: number): One {
    const choice = this.newChoice(index);
    this.#choices.set(index, choice);
    return choice;
  }
}
