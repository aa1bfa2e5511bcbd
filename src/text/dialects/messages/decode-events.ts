import { codedFailure } from '../../../failure.ts';
import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason, TextEvent, Usage } from '../../canonical/events.ts';
import { AnswerDecoder } from '../answer-decoder.ts';
import { invalidAnswer } from '../answer-errors.ts';
import type { DecodeContext } from '../dialect.ts';
import { type BlockDecoder, type BlockSink, impliedBlock, startBlock } from './block-decoders.ts';
import { usageOf } from './usage.ts';

const REASONS = new Map<unknown, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool-calls'],
  ['refusal', 'refusal'],
  ['pause_turn', 'pause'],
]);

const DELTA = 'content_block_delta';

/** Decodes messages answers, streamed or not. */
export class MessagesDecoder extends AnswerDecoder {
  readonly #sink: BlockSink;
  #id: unknown;
  #usage: Usage | null = null;
  #blocks = 0;
  #hasCalls = false;
  /** Index of the open block. */
  #index: unknown;
  #open: BlockDecoder | null = null;
  /** Events of blocks that started before the end of the open one, by index. */
  readonly #queued = new Map<unknown, Json[]>();
  #stop: Json = {};

  constructor(context: DecodeContext, emit: (event: TextEvent) => void) {
    super(emit);
    this.#sink = {
      context,
      emit: (event) => {
        if (event.type === 'tool-start') this.#hasCalls = true;
        this.emit(event);
      },
      nextBlock: () => this.#blocks++,
    };
  }

  protected decodeAnswer(body: Json): void {
    if (!Array.isArray(body['content'])) throw upstreamFailure(null, body);
    this.#start(body);
    this.#finish();
  }

  protected decodeEvent(event: Json): void {
    switch (event['type']) {
      case DELTA:
      case 'content_block_start':
      case 'content_block_stop':
        this.start(null, null);
        this.#block(event);
        return;
      case 'message_start':
        this.#start(isObject(event['message']) ? event['message'] : {});
        return;
      case 'message_delta':
        this.start(null, null);
        this.#usage = usageOf(event['usage'], this.#usage);
        if (isObject(event['delta'])) this.#readStop(event['delta']);
        return;
      case 'message_stop':
        this.start(null, null);
        this.#finish();
        return;
      case 'error':
        throw upstreamFailure(null, event);
      default:
      // Anthropic asks clients to ignore pings and event types that they do not know.
    }
  }

  #start(message: Json): void {
    if (this.isStarted && message['id'] === this.#id) return;
    if (this.#blocks > 0 || this.#open !== null) {
      // The client already has a part of the first answer.
      const text = 'The provider restarted its answer after a part of it was sent';
      throw codedFailure('stream_restarted', text);
    }
    this.start(message['id'], message['model']);
    this.#id = message['id'];
    this.#usage = usageOf(message['usage']);
    if (this.#usage) this.emit({ type: 'usage', usage: this.#usage });
    this.#stop = {};
    this.#readStop(message);
    const { content } = message;
    // Calls by a program at Anthropic are complete in message_start.
    for (const block of Array.isArray(content) ? content : []) this.#completeBlock(block);
  }

  #completeBlock(block: unknown): void {
    if (!isObject(block)) throw invalidAnswer('a block that is no object');
    startBlock(block, this.#sink).end();
  }

  #readStop(fields: Json): void {
    if (typeof fields['stop_reason'] === 'string') this.#stop = fields;
  }

  #block(event: Json): void {
    const { type, index } = event;
    if (this.#open !== null && index !== this.#index) {
      const queued = this.#queued.get(index);
      if (queued) queued.push(event);
      else if (type !== 'content_block_stop') this.#queued.set(index, [event]);
      return;
    }
    if (type === 'content_block_stop') {
      this.#close();
      this.#decodeQueued(false);
    } else if (type === DELTA) {
      this.#delta(event);
    } else {
      this.#close();
      const { content_block: block } = event;
      if (!isObject(block)) throw invalidAnswer('a block that is no object');
      this.#index = index;
      this.#open = startBlock(block, this.#sink);
    }
  }

  #delta({ delta, index }: Json): void {
    if (!isObject(delta)) throw invalidAnswer('a delta that is no object');
    if (this.#open === null) {
      const implied = impliedBlock(delta);
      if (implied === null) throw invalidAnswer('a delta of a block without its start');
      this.#index = index;
      this.#open = startBlock(implied, this.#sink);
    }
    this.#open.delta(delta);
  }

  #close(): void {
    const open = this.#open;
    this.#open = null;
    open?.end();
  }

  /** Decodes queued blocks. @param all whether also those that have not ended */
  #decodeQueued(all: boolean): void {
    while (this.#open === null || all) {
      this.#close();
      const [first] = this.#queued;
      if (first === undefined) return;
      const [index, events] = first;
      this.#queued.delete(index);
      for (const event of events) {
        if (event['type'] === 'content_block_stop') this.#close();
        else this.#block(event);
      }
    }
  }

  #finish(): void {
    this.#decodeQueued(true);
    const { stop_reason: raw, stop_sequence: sequence, stop_details: details } = this.#stop;
    const explanation = isObject(details) ? details['explanation'] : null;
    if (raw === 'refusal' && typeof explanation === 'string' && explanation !== '') {
      this.emitRefusal(this.#blocks++, explanation);
    }
    const reason = REASONS.get(raw) ?? 'other';
    this.emit({
      type: 'finish',
      reason: this.#hasCalls && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason,
      raw: typeof raw === 'string' ? raw : null,
      stopSequence: typeof sequence === 'string' ? sequence : null,
      usage: this.#usage,
    });
  }
}
