import { tryParseJson } from '../../schema/json.ts';
import { isObject, nonEmptyTextOf } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { decodingFailure, invalidAnswer, truncatedAnswer } from './answer-errors.ts';
import type { EventDecoder } from './dialect.ts';

/**
 * Decodes an answer whose events are JSON objects. A failure that a method of the dialect throws is emitted as `error`.
 * After it, as after `finish`, nothing more is emitted.
 */
export abstract class AnswerDecoder implements EventDecoder {
  readonly #receive: (event: TextEvent) => void;
  /** Whether `start` was emitted. */
  protected isStarted = false;
  #ended = false;

  constructor(emit: (event: TextEvent) => void) {
    this.#receive = emit;
  }

  /** Decodes one event of a stream. */
  protected abstract decodeEvent(event: Json): void;

  /** Decodes a whole response, and finishes. */
  protected abstract decodeAnswer(body: Json): void;

  /** Finishes at `[DONE]`, by which some formats end a stream. */
  protected decodeDone(): void {}

  /** Finishes at the end of the connection. @throws Failure where the response lacks its end */
  protected decodeEnd(): void {
    throw truncatedAnswer();
  }

  /** Emits `start` unless it was emitted. The provider may name the answer and its model. */
  protected start(id: unknown, model: unknown): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.emit({ type: 'start', id: nonEmptyTextOf(id), model: nonEmptyTextOf(model) });
  }

  /** Emits a refusal in one piece. */
  protected emitRefusal(block: number, text: string): void {
    this.emit({ type: 'refusal-start', block });
    this.emit({ type: 'refusal-delta', block, text });
    this.emit({ type: 'refusal-end', block });
  }

  protected readonly emit = (event: TextEvent): void => {
    if (this.#ended) return;
    if (event.type === 'finish' || event.type === 'error') this.#ended = true;
    this.#receive(event);
  };

  push(data: string): void {
    if (data !== '') this.#run(this.#decodeData, data);
  }

  whole(body: unknown): void {
    this.#run(this.#decodeWhole, body);
  }

  end(): void {
    this.#run(this.decodeEnd, undefined);
  }

  #run<Given>(decode: (given: Given) => void, given: Given): void {
    if (this.#ended) return;
    try {
      decode.call(this, given);
    } catch (error) {
      this.emit({ type: 'error', failure: decodingFailure(error) });
    }
  }

  #decodeData(data: string): void {
    if (data.startsWith('[DONE]')) {
      this.decodeDone();
      return;
    }
    const event = tryParseJson(data);
    if (!isObject(event)) throw invalidAnswer('an event that is no JSON object');
    this.decodeEvent(event);
  }

  #decodeWhole(body: unknown): void {
    if (!isObject(body)) throw invalidAnswer('an answer that is no JSON object');
    this.decodeAnswer(body);
  }
}
