import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import {
  isObject,
  nonEmptyTextOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../../schema/untrusted.ts';
import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason, TextEvent } from '../../canonical/events.ts';
import { AnswerDecoder } from '../answer-decoder.ts';
import { invalidAnswer } from '../answer-errors.ts';
import { wholeCall } from '../calls.ts';
import type { DecodeContext } from '../dialect.ts';
import { argumentsText, CallDecoder } from './decode-call.ts';
import { MessageDecoder } from './decode-message.ts';
import { ReasoningDecoder } from './decode-reasoning.ts';
import { isNativeCall } from './decode-turns.ts';
import type { BlockSink, ItemDecoder } from './item-decoder.ts';
import { matchItems } from './match-items.ts';
import { failureIn } from './observe.ts';
import { usageOf } from './usage.ts';

const ADDED = 'response.output_item.added';
const DONE = 'response.output_item.done';

/** One item of the answer, found by its output_index: some providers change ids within an answer. */
interface Item {
  /** The item of the `added` event. */
  readonly first: Json;
  decoder: ItemDecoder | null;
  /** Events that arrived while an earlier item was open. */
  readonly queued: Json[];
  done: boolean;
}

/** The type of item that an event implies without an `added` event; null for none. */
function impliedType(type: string, event: Json): string | null {
  if (type === DONE) return nonEmptyTextOf(objectOf(event['item'])['type']);
  if (type.startsWith('response.function_call_arguments.')) return 'function_call';
  if (type.startsWith('response.custom_tool_call_input.')) return 'custom_tool_call';
  if (type.startsWith('response.reasoning')) return 'reasoning';
  if (type.startsWith('response.content_part.')) {
    return objectOf(event['part'])['type'] === 'reasoning_text' ? 'reasoning' : 'message';
  }
  const isMessage =
    type.startsWith('response.output_text.') || type.startsWith('response.refusal.');
  return isMessage ? 'message' : null;
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
    id: nonEmptyTextOf(id) ?? answerId('call'),
    name: textOf(name),
    json: argumentsText(item['arguments']),
  });
}

/** An item in which a call has the client's name of its tool. */
function withClientName(item: Json, { toolName }: DecodeContext): Json {
  if (item['type'] !== 'function_call') return item;
  return { ...item, name: toolName(textOf(item['name'])) };
}

/** Decodes the events of a responses stream, or a response, into TextEvents. */
export class ResponsesDecoder extends AnswerDecoder {
  readonly #blocks: BlockSink;
  readonly #items: Item[] = [];
  readonly #byIndex = new Map<unknown, Item>();
  /** Position in #items of the first item that is not done. */
  #head = 0;
  #hasCalls = false;

  constructor(context: DecodeContext, emit: (event: TextEvent) => void) {
    super(emit);
    let block = 0;
    this.#blocks = {
      context,
      emit: this.emit,
      nextBlock: () => block++,
      noteCall: () => {
        this.#hasCalls = true;
      },
    };
  }

  protected decodeAnswer(body: Json): void {
    if (!Array.isArray(body['output'])) {
      throw body['error'] ? upstreamFailure(null, body) : invalidAnswer('an answer without output');
    }
    this.start(body['id'], body['model']);
    this.#conclude(textOf(body['status']) || 'completed', body);
  }

  protected decodeEvent(event: Json): void {
    const type = textOf(event['type']);
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued': {
        const { id, model } = objectOf(event['response']);
        this.start(id, model);
        return;
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled': {
        const response = objectOf(event['response']);
        this.start(response['id'], response['model']);
        this.#conclude(type.slice('response.'.length), response);
        return;
      }
      case 'error':
        throw failureIn(event);
      case ADDED:
        this.#add(event);
        return;
      default: {
        const item = this.#find(type, event);
        if (!item || item.done) return;
        if (item !== this.#items[this.#head]) item.queued.push(event);
        else {
          this.#apply(item, type, event);
          if (item.done) this.#advance();
        }
      }
    }
  }

  /** Adds an item, which ends the former item of its output_index. */
  #add(event: Json): void {
    const outputIndex = event['output_index'];
    const former = this.#byIndex.get(outputIndex);
    if (former && !former.done) this.#complete(former, null);
    this.#enter(outputIndex, objectOf(event['item']));
  }

  #enter(outputIndex: unknown, first: Json): Item {
    this.start(null, null);
    const item: Item = { first, decoder: null, queued: [], done: false };
    this.#items.push(item);
    this.#byIndex.set(outputIndex, item);
    if (this.#items[this.#head] === item) this.#open(item);
    return item;
  }

  #find(type: string, event: Json): Item | null {
    const outputIndex = event['output_index'];
    const known = this.#byIndex.get(outputIndex);
    if (known) return known;
    const last = this.#items.at(-1);
    if (typeof outputIndex !== 'number' && last && !last.done) return last;
    const implied = impliedType(type, event);
    if (implied === null) return null;
    return this.#enter(outputIndex, { ...objectOf(event['item']), type: implied });
  }

  #open(item: Item): ItemDecoder {
    item.decoder ??= this.#decoderFor(item.first);
    return item.decoder;
  }

  #decoderFor(first: Json): ItemDecoder {
    switch (first['type']) {
      case 'message':
        return new MessageDecoder(this.#blocks);
      case 'reasoning':
        return new ReasoningDecoder(this.#blocks);
      case 'function_call':
      case 'custom_tool_call':
        if (!isNativeCall(first)) return new CallDecoder(this.#blocks, first, first['type']);
    }
    const { emit, nextBlock, context } = this.#blocks;
    if (first['type'] === 'function_call') this.#hasCalls = true;
    return {
      push: () => undefined,
      finish: (item) => {
        const value = withClientName(item ?? first, context);
        const block = nextBlock();
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
    const decoder = this.#open(item);
    if (type !== DONE) {
      decoder.push(type, event);
      return;
    }
    item.done = true;
    decoder.finish(isObject(event['item']) ? event['item'] : null);
  }

  /** Decodes the queued events of the items after one that is done. */
  #advance(): void {
    while (this.#items[this.#head]?.done) {
      this.#head += 1;
      const item = this.#items[this.#head];
      if (!item) return;
      this.#open(item);
      for (const event of item.queued.splice(0)) {
        if (!item.done) this.#apply(item, textOf(event['type']), event);
      }
    }
  }

  /** Ends an item that has no `done` event. */
  #complete(item: Item, final: Json | null): void {
    const event = { type: DONE, item: final };
    if (item !== this.#items[this.#head]) {
      item.queued.push(event);
      return;
    }
    this.#apply(item, DONE, event);
    this.#advance();
  }

  #conclude(status: string, response: Json): void {
    if (status === 'completed' || status === 'incomplete') {
      this.#completeFrom(objectsOf(response['output']));
      this.#finish(status, response);
      return;
    }
    const usage = usageOf(response['usage']);
    if (usage) this.emit({ type: 'usage', usage });
    throw status === 'failed'
      ? upstreamFailure(null, { error: response['error'] })
      : invalidAnswer(`an answer that is ${status}`);
  }

  /** Completes items by the output of the last event, and adds items that only it has. */
  #completeFrom(output: readonly Json[]): void {
    const hasOpen = this.#items.slice(this.#head).some(({ done }) => !done);
    if (!hasOpen && this.#items.length >= output.length) return;
    const { finals, unmatched } = matchItems(
      this.#items.map(({ first }) => first),
      output,
    );
    this.#items.slice().forEach((item, index) => {
      const isEnding = item.queued.some(({ type }) => type === DONE);
      if (!item.done && !isEnding) this.#complete(item, finals[index] ?? null);
    });
    for (const final of unmatched) {
      this.#complete(this.#enter(Symbol('unmatched'), final), final);
    }
  }

  #finish(status: 'completed' | 'incomplete', response: Json): void {
    const raw = nonEmptyTextOf(objectOf(response['incomplete_details'])['reason']);
    let reason: FinishReason = this.#hasCalls ? 'tool-calls' : 'stop';
    if (status === 'incomplete') {
      reason = 'other';
      if (raw === 'max_output_tokens') reason = 'length';
      if (raw === 'content_filter') reason = 'refusal';
    }
    this.emit({
      type: 'finish',
      reason,
      raw: raw ?? status,
      stopSequence: null,
      usage: usageOf(response['usage']),
    });
  }
}
