import { codedFailure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { type TextRequest, turnOf } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { JsonEnd } from '../dialects/json-end.ts';
import { pathOf } from '../dialects/request-settings.ts';
import type { EmulatedAnswer, RequestEmulation, TakeEvent } from './emulation.ts';

const INSTRUCTION =
  'Answer with one valid JSON object and nothing else: no text before it or after it, no code fence.';

/** An answer that is any JSON object: the model is instructed, and its answer is checked. */
export function emulateJsonObject(request: TextRequest): RequestEmulation | null {
  if (request.format?.type !== 'json-object') return null;
  const path = pathOf(request, 'format');
  const instruction = turnOf('system', path, [{ type: 'text', path, text: INSTRUCTION }]);
  const { turns } = request;
  const first = turns.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const position = first === -1 ? turns.length : first;
  return {
    request: {
      ...request,
      format: null,
      turns: [...turns.slice(0, position), instruction, ...turns.slice(position)],
    },
    filter: (answer) => jsonObjectFilter(path, answer),
  };
}

/** Passes on the object of an answer, without the code fence around it. @param path the field that asks for it */
function jsonObjectFilter(path: string, { emit }: EmulatedAnswer): TakeEvent {
  const reader = new ObjectReader();
  /** Events since the beginning of a text that is no object; null where there is none. */
  let held: TextEvent[] | null = null;
  let hasCalls = false;
  let isOver = false;
  const release = () => {
    const events = held ?? [];
    held = null;
    for (const event of events) emit(event);
  };
  const fail = (what: string) => {
    isOver = true;
    const message = `${path} asks for a JSON object, but the model ${what}`;
    const failure = codedFailure('invalid_json_output', message);
    emit({ type: 'error', failure });
  };
  const read = (event: TextEvent & { readonly type: 'text-delta' }) => {
    const text = reader.push(event.text);
    const { fault, leading } = reader;
    if (fault === 'start') {
      held = [{ ...event, text: leading }];
      return;
    }
    if (text !== '') emit({ type: 'text-delta', block: event.block, text });
    if (fault !== null) fail(`wrote ${fault}`);
  };
  const finish = (event: TextEvent & { readonly type: 'finish' }) => {
    const { reason, stopSequence, usage } = event;
    // The client's own limit, its stop sequence or a refusal may end any answer.
    const isCut = reason === 'length' || stopSequence !== null;
    const isExcused = hasCalls || reason === 'refusal';
    // An answer that fails is charged all the same.
    if (usage !== null) emit({ type: 'usage', usage });
    if (held !== null && !isExcused) fail('wrote other text');
    else if (!reader.isComplete && !isExcused && !isCut) fail('wrote no whole object');
    else {
      release();
      emit(event);
      isOver = true;
    }
  };
  return (event) => {
    if (isOver) return;
    if (event.type === 'tool-start') {
      // Words before a call are no answer yet.
      hasCalls = true;
      release();
    }
    if (event.type === 'finish') finish(event);
    else if (event.type === 'error' || event.type === 'usage') emit(event);
    else if (held !== null) held.push(event);
    else if (event.type === 'text-delta' && !hasCalls) read(event);
    else emit(event);
  };
}

/** Characters of the largest object: it is parsed at once. */
const MAX_LENGTH = 4 * 1024 * 1024;

/** The first line of a code fence, and what may become one. */
const FENCE = /^\s*```[ \t]*(json)?[ \t]*\r?\n/i;
const PARTIAL_FENCE = /^\s*(`{1,2}|```[ \t]*(j|js|jso|json)?[ \t]*\r?)?$/i;
/** Longest beginning that is waited for: more is blanks without end. */
const MAX_LEADING = 1000;

/** Reads one JSON object from a streamed text, which may be within a code fence. */
export class ObjectReader {
  /** Text before the object. */
  leading = '';
  /** What is wrong with the text: `start` where it does not begin with an object; null for nothing. */
  fault: string | null = null;
  /** Whether the object has come, and is valid. */
  isComplete = false;
  #text = '';
  #isFenced = false;
  #isOpen = false;
  readonly #end = new JsonEnd();
  /** Text after the object. */
  #trailing = '';

  /** Returns the part of the object that a piece of text adds. */
  push(text: string): string {
    if (this.fault !== null) return '';
    if (this.isComplete) {
      this.#readEnd(text);
      return '';
    }
    return this.#isOpen ? this.#read(text) : this.#begin(text);
  }

  #begin(text: string): string {
    this.leading += text;
    const fence = FENCE.exec(this.leading);
    const inner = fence === null ? this.leading : this.leading.slice(fence[0].length);
    const rest = inner.trimStart();
    if (rest.startsWith('{')) {
      this.#isFenced = fence !== null;
      this.#isOpen = true;
      return this.#read(rest);
    }
    const isWaiting = rest === '' || (fence === null && PARTIAL_FENCE.test(inner));
    if (!isWaiting || this.leading.length > MAX_LEADING) this.fault = 'start';
    return '';
  }

  #read(text: string): string {
    for (let index = 0; index < text.length; index += 1) {
      if (!this.#end.isAt(text.charCodeAt(index))) continue;
      const own = text.slice(0, index + 1);
      this.#text += own;
      this.isComplete = tryParseJson(this.#text) !== undefined;
      this.#text = '';
      if (!this.isComplete) this.fault = 'invalid JSON';
      else this.#readEnd(text.slice(index + 1));
      return own;
    }
    this.#text += text;
    if (this.#text.length > MAX_LENGTH) this.fault = `more than ${MAX_LENGTH} characters of JSON`;
    return text;
  }

  /** After the object only the end of its fence may come. */
  #readEnd(text: string): void {
    const rest = (this.#trailing + text).trim();
    this.#trailing = rest;
    const isExpected = this.#isFenced ? '```'.startsWith(rest) : rest === '';
    if (!isExpected) this.fault = 'more text after the object';
  }
}
