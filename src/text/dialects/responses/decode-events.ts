import type { Failure } from '../../../failure.ts';
import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { tryParseJson } from '../../../schema/json.ts';
import {
  isObject,
  nonEmptyTextOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { FinishReason, Json, TextEvent } from '../../canonical.ts';
import { invalidAnswer, truncatedAnswer } from '../answer-errors.ts';
import type { DecodeContext, EventDecoder } from '../dialect.ts';
import { wholeCall } from '../whole-call.ts';
import type { Blocks, ItemReader } from './blocks.ts';
import { isOwnCall } from './decode-turns.ts';
import { matchItems } from './match-items.ts';
import { failureIn } from './observe.ts';
import { argumentsOf, CallReader } from './read-call.ts';
import { MessageReader } from './read-message.ts';
import { ReasoningReader } from './read-reasoning.ts';
import { usageOf } from './usage.ts';

const ADDED = 'response.output_item.added';
const DONE = 'response.output_item.done';

/** One item of the answer, known by its place: identifiers change within some answers. */
interface Item {
  /** As it was when it was added. */
  readonly first: Json;
  reader: ItemReader | null;
  /** Events that came while another item was being told. */
  readonly waiting: Json[];
  done: boolean;
}

/** The kind of item that an event belongs to whose item nobody announced. */
function impliedType(type: string, event: Json): string | null {
  if (type === DONE) return nonEmptyTextOf(objectOf(event['item'])['type']);
  if (type.startsWith('response.function_call_arguments.')) return 'function_call';
  if (type.startsWith('response.reasoning')) return 'reasoning';
  if (type.startsWith('response.content_part.')) {
    return objectOf(event['part'])['type'] === 'reasoning_text' ? 'reasoning' : 'message';
  }
  const said = type.startsWith('response.output_text.') || type.startsWith('response.refusal.');
  return said ? 'message' : null;
}

/**
 * The events that stand for a native item in other dialects: none for a program at the provider and its
 * output, a tool call for its calls of the client's tools. Null for any other item, which ends the
 * answer for clients of other dialects.
 */
function translationOf(item: Json, block: number): TextEvent[] | null {
  const { type, namespace, call_id: id, name } = item;
  if (type === 'program' || type === 'program_output') return [];
  if (type !== 'function_call' || (namespace ?? null) !== null) return null;
  return wholeCall(block, {
    id: nonEmptyTextOf(id) ?? newId('call'),
    name: textOf(name),
    json: argumentsOf(item['arguments']),
  });
}

/** A call with the client's name of its tool. */
function named(item: Json, { toolName }: DecodeContext): Json {
  if (item['type'] !== 'function_call') return item;
  return { ...item, name: toolName(textOf(item['name'])) };
}

/** Makes TextEvents of the events of a responses upstream, or of its whole answer. */
export class ResponsesDecoder implements EventDecoder {
  readonly #emit: (event: TextEvent) => void;
  readonly #blocks: Blocks;
  readonly #items: Item[] = [];
  readonly #places = new Map<unknown, Item>();
  /** Where in the items the one is that is being told; all before it are done. */
  #head = 0;
  #started = false;
  #over = false;
  #called = false;

  constructor(context: DecodeContext, emit: (event: TextEvent) => void) {
    this.#emit = emit;
    let block = 0;
    this.#blocks = {
      context,
      emit,
      next: () => block++,
      called: () => {
        this.#called = true;
      },
    };
  }

  push(data: string): void {
    if (this.#over || data === '[DONE]') return;
    const event = tryParseJson(data);
    if (!isObject(event)) {
      this.#fail(invalidAnswer('an event that is no JSON object'));
      return;
    }
    this.#take(textOf(event['type']), event);
  }

  whole(body: unknown): void {
    if (this.#over) return;
    if (!isObject(body)) {
      this.#fail(invalidAnswer('an answer that is no JSON object'));
      return;
    }
    if (!Array.isArray(body['output'])) {
      if (body['error']) {
        this.#fail(upstreamFailure(null, body));
        return;
      }
      this.#fail(invalidAnswer('an answer without output'));
      return;
    }
    this.#start(body);
    this.#conclude(textOf(body['status']) || 'completed', body);
  }

  end(): void {
    if (this.#over) return;
    this.#fail(truncatedAnswer());
  }

  #take(type: string, event: Json): void {
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        this.#start(objectOf(event['response']));
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled': {
        const response = objectOf(event['response']);
        this.#start(response);
        this.#conclude(type.slice('response.'.length), response);
        return;
      }
      case 'error':
        this.#fail(failureIn(event));
        return;
      case ADDED:
        this.#add(event);
        return;
      default: {
        const item = this.#locate(type, event);
        if (!item || item.done) return;
        if (item !== this.#items[this.#head]) item.waiting.push(event);
        else {
          this.#apply(item, type, event);
          if (item.done) this.#advance();
        }
      }
    }
  }

  #start(response: Json): void {
    if (this.#started) return;
    this.#started = true;
    this.#emit({
      type: 'start',
      id: nonEmptyTextOf(response['id']),
      model: nonEmptyTextOf(response['model']),
    });
  }

  /** A new item. One that stood in its place is over, whether it said so or not. */
  #add(event: Json): void {
    const place = event['output_index'];
    const former = this.#places.get(place);
    if (former && !former.done) this.#settle(former, null);
    this.#enter(place, objectOf(event['item']));
  }

  #enter(place: unknown, first: Json): Item {
    this.#start({});
    const item: Item = { first, reader: null, waiting: [], done: false };
    this.#items.push(item);
    this.#places.set(place, item);
    if (this.#items[this.#head] === item) this.#open(item);
    return item;
  }

  #locate(type: string, event: Json): Item | null {
    const place = event['output_index'];
    const known = this.#places.get(place);
    if (known) return known;
    const last = this.#items.at(-1);
    if (typeof place !== 'number' && last && !last.done) return last;
    const implied = impliedType(type, event);
    if (implied === null) return null;
    return this.#enter(place, { ...objectOf(event['item']), type: implied });
  }

  #open(item: Item): ItemReader {
    item.reader ??= this.#readerOf(item.first);
    return item.reader;
  }

  #readerOf(first: Json): ItemReader {
    switch (first['type']) {
      case 'message':
        return new MessageReader(this.#blocks);
      case 'reasoning':
        return new ReasoningReader(this.#blocks);
      case 'function_call':
        if (!isOwnCall(first)) return new CallReader(this.#blocks, first);
    }
    const { emit, next, context } = this.#blocks;
    if (first['type'] === 'function_call') this.#called = true;
    return {
      take: () => undefined,
      finish: (item) => {
        const value = named(item ?? first, context);
        const block = next();
        const translation = translationOf(value, block);
        emit({
          type: 'native',
          block,
          dialect: 'responses',
          value,
          ...(translation && { translation }),
        });
      },
    };
  }

  #apply(item: Item, type: string, event: Json): void {
    const reader = this.#open(item);
    if (type !== DONE) {
      reader.take(type, event);
      return;
    }
    item.done = true;
    reader.finish(isObject(event['item']) ? event['item'] : null);
  }

  /** Goes on with the items after the one that is done, as far as they have come. */
  #advance(): void {
    while (this.#items[this.#head]?.done) {
      this.#head += 1;
      const item = this.#items[this.#head];
      if (!item) return;
      this.#open(item);
      for (const event of item.waiting.splice(0)) {
        if (!item.done) this.#apply(item, textOf(event['type']), event);
      }
    }
  }

  /** Ends an item that did not say so itself. */
  #settle(item: Item, final: Json | null): void {
    const event = { type: DONE, item: final };
    if (item !== this.#items[this.#head]) {
      item.waiting.push(event);
      return;
    }
    this.#apply(item, DONE, event);
    this.#advance();
  }

  #conclude(status: string, response: Json): void {
    if (status === 'completed' || status === 'incomplete') {
      this.#catchUp(objectsOf(response['output']));
      if (!this.#over) this.#finish(status, response);
      return;
    }
    const usage = usageOf(response['usage']);
    if (usage) this.#emit({ type: 'usage', usage });
    this.#fail(
      status === 'failed'
        ? upstreamFailure(null, { error: response['error'] })
        : invalidAnswer(`an answer that is ${status}`),
    );
  }

  /** What only the whole answer tells: items that did not end, and items that nobody heard of. */
  #catchUp(output: readonly Json[]): void {
    const open = this.#items.slice(this.#head).some(({ done }) => !done);
    if (!open && this.#items.length >= output.length) return;
    const { finals, unheard } = matchItems(
      this.#items.map(({ first }) => first),
      output,
    );
    this.#items.slice().forEach((item, index) => {
      const ending = item.waiting.some(({ type }) => type === DONE);
      if (!item.done && !ending) this.#settle(item, finals[index] ?? null);
    });
    for (const final of unheard) {
      this.#settle(this.#enter(Symbol('unheard'), final), final);
    }
  }

  #finish(status: 'completed' | 'incomplete', response: Json): void {
    const why = nonEmptyTextOf(objectOf(response['incomplete_details'])['reason']);
    let reason: FinishReason = this.#called ? 'tool-calls' : 'stop';
    if (status === 'incomplete') {
      reason = 'other';
      if (why === 'max_output_tokens') reason = 'length';
      if (why === 'content_filter') reason = 'refusal';
    }
    this.#over = true;
    this.#emit({
      type: 'finish',
      reason,
      raw: why ?? status,
      stopSequence: null,
      usage: usageOf(response['usage']),
    });
  }

  #fail(failure: Failure): void {
    this.#over = true;
    this.#emit({ type: 'error', failure });
  }
}
