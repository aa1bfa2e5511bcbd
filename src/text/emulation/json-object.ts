import { Failure } from '../../failure.ts';
import type { TextRequest, Turn } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { pathOf } from '../dialects/request-settings.ts';
import type { EmulatedAnswer, RequestEmulation } from './emulation.ts';
import { ObjectReader } from './object-reader.ts';

const INSTRUCTION =
  'Answer with one valid JSON object and nothing else: no text before it or after it, no code fence.';

/** An answer that is any JSON object: the model is instructed, and its answer is checked. */
export function emulateJsonObject(request: TextRequest): RequestEmulation | null {
  if (request.format?.type !== 'json-object') return null;
  const path = pathOf(request, 'format');
  const instruction: Turn = {
    role: 'system',
    path,
    parts: [{ type: 'text', path, text: INSTRUCTION }],
    name: null,
    partial: false,
    tools: null,
  };
  const { turns } = request;
  const first = turns.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const position = first === -1 ? turns.length : first;
  return {
    request: {
      ...request,
      format: null,
      turns: [...turns.slice(0, position), instruction, ...turns.slice(position)],
    },
    filter: (answer) => {
      const filter = new JsonObjectFilter(path, answer);
      return (event) => filter.push(event);
    },
  };
}

/** @param path the field that asks for the object */
function notAnObject(path: string, what: string): Failure {
  return new Failure('billable_error', `${path} asks for a JSON object, but the model ${what}`, {
    code: 'invalid_json_output',
  });
}

/** Passes on the object of an answer, without the code fence around it. */
class JsonObjectFilter {
  readonly #path: string;
  readonly #answer: EmulatedAnswer;
  readonly #reader = new ObjectReader();
  /** Events since the beginning of a text that is no object; null where there is none. */
  #held: TextEvent[] | null = null;
  #hasCalls = false;
  #isOver = false;

  constructor(path: string, answer: EmulatedAnswer) {
    this.#path = path;
    this.#answer = answer;
  }

  push(event: TextEvent): void {
    if (this.#isOver) return;
    if (event.type === 'tool-start') {
      // Words before a call are no answer yet.
      this.#hasCalls = true;
      this.#release();
    }
    if (event.type === 'finish') this.#finish(event);
    else if (event.type === 'error' || event.type === 'usage') this.#answer.emit(event);
    else if (this.#held !== null) this.#held.push(event);
    else if (event.type === 'text-delta') this.#read(event);
    else this.#answer.emit(event);
  }

  #read(event: TextEvent & { readonly type: 'text-delta' }): void {
    if (this.#hasCalls) {
      this.#answer.emit(event);
      return;
    }
    const text = this.#reader.push(event.text);
    const { fault } = this.#reader;
    if (fault === 'start') {
      this.#held = [{ ...event, text: this.#reader.leading }];
      return;
    }
    if (text !== '') this.#answer.emit({ type: 'text-delta', block: event.block, text });
    if (fault !== null) this.#fail(`wrote ${fault}`);
  }

  #finish(event: TextEvent & { readonly type: 'finish' }): void {
    const { reason, stopSequence } = event;
    // The client's own limit, its stop sequence or a refusal may end any answer.
    const isCut = reason === 'length' || stopSequence !== null;
    const isExcused = this.#hasCalls || reason === 'refusal';
    // An answer that fails is charged all the same.
    if (event.usage !== null) this.#answer.emit({ type: 'usage', usage: event.usage });
    if (this.#held !== null && !isExcused) this.#fail('wrote other text');
    else if (!this.#reader.isComplete && !isExcused && !isCut) this.#fail('wrote no whole object');
    else {
      this.#release();
      this.#answer.emit(event);
      this.#isOver = true;
    }
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const event of held) this.#answer.emit(event);
  }

  #fail(what: string): void {
    this.#isOver = true;
    this.#answer.emit({ type: 'error', failure: notAnObject(this.#path, what) });
  }
}
