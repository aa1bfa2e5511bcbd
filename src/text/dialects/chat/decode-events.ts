import { codedFailure } from '../../../failure.ts';
import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Citation, TextEvent, Usage } from '../../canonical/events.ts';
import { AnswerDecoder } from '../answer-decoder.ts';
import { invalidAnswer, truncatedAnswer } from '../answer-errors.ts';
import type { DecodeContext } from '../dialect.ts';
import { BlockQueue, joinFragment } from './block-queue.ts';
import { CallAssembler } from './call-assembler.ts';
import { FAILED_REASONS, finishReasonOf } from './finish-reasons.ts';
import { isFailed } from './observe.ts';
import { isSigned, textOfDetail } from './reasoning.ts';
import { ThinkTags } from './think-tags.ts';
import { usageIn, usageOf } from './usage.ts';

/** Properties of a delta that only chat has. */
const NATIVE = ['images', 'audio'] as const;

const AUDIO_TEXTS = new Set(['data', 'transcript']);

/** Decodes the chunks of a stream, or a completion, into TextEvents. */
export class ChatDecoder extends AnswerDecoder {
  readonly #blocks: BlockQueue;
  readonly #calls: CallAssembler;
  /** Whether a choice was received, also an empty one. */
  #hasChoice = false;
  #reason: string | null = null;
  #usage: Usage | null = null;
  /** Whether reasoning is sent as plain text, which details then repeat. */
  #plainReasoning = false;
  /** Characters of text so far, and the offset of the current text block. */
  #textLength = 0;
  #textStart = 0;
  #inText = false;
  #audio: Record<string, unknown> | null = null;
  readonly #custom = new Map<number, { readonly custom: { input: unknown } }>();
  /** Fragments of `function_call`. */
  #legacyFragments = 0;

  /** Null where tags are text. */
  readonly #thinkTags: ThinkTags | null;

  constructor({ provider, toolName, normalize }: DecodeContext, emit: (event: TextEvent) => void) {
    super(emit);
    this.#blocks = new BlockQueue(provider, this.emit);
    this.#calls = new CallAssembler(this.#blocks, toolName);
    this.#thinkTags = normalize
      ? new ThinkTags((kind, text) => {
          if (kind === 'text') this.#writeText(text, null);
          else this.#write(kind, text);
        })
      : null;
  }

  protected decodeEvent(chunk: Json): void {
    this.#read(chunk, false);
  }

  protected decodeAnswer(body: Json): void {
    this.#read(body, true);
    if (!this.#hasChoice) throw invalidAnswer('an answer without choices');
    this.decodeDone();
  }

  protected override decodeEnd(): void {
    if (this.#reason === null) throw truncatedAnswer();
    this.decodeDone();
  }

  #read(chunk: Json, whole: boolean): void {
    if (isFailed(chunk)) throw upstreamFailure(null, chunk);
    const choices = listOf(chunk['choices']);
    // Azure begins with a chunk about the prompt, without id and choices.
    if (chunk['id'] || choices.length > 0) this.start(chunk['id'], chunk['model']);
    for (const choice of choices) {
      // Requests for several choices are sent upstream as one request each.
      if (!isObject(choice) || (choice['index'] ?? 0) !== 0) continue;
      this.#choice(choice, whole);
    }
    const usage = usageIn(chunk);
    if (isObject(usage)) this.#emitUsage(usage);
  }

  #choice(choice: Json, whole: boolean): void {
    if (isObject(choice['error'])) throw upstreamFailure(null, { error: choice['error'] });
    this.#hasChoice = true;
    const { delta, message, finish_reason: reason } = choice;
    // Perplexity sends both: an empty delta in whole answers, the message so far in streams.
    const own = whole ? (message ?? delta) : (delta ?? message);
    if (isObject(own)) this.#delta(own, choice['logprobs'], whole);
    if (typeof reason !== 'string' || reason === '') return;
    const isEmpty = this.#textLength === 0 && !this.#calls.hasCalls;
    if (!whole && isEmpty && isObject(delta) && isObject(message)) {
      this.#delta({ content: message['content'], tool_calls: message['tool_calls'] }, null, true);
    }
    if (FAILED_REASONS.has(reason)) {
      const text = `The provider ended the answer with ${reason}`;
      throw codedFailure('upstream_error', text);
    }
    this.#reason = reason;
  }

  #delta(delta: Json, logprobs: unknown, whole: boolean): void {
    const { content, tool_calls: calls } = delta;
    this.#reasoning(delta);
    if (typeof content === 'string') {
      if (content !== '' || isObject(logprobs)) this.#text(content, logprobs);
    } else if (Array.isArray(content)) {
      for (const part of content) this.#part(part);
    }
    if (typeof delta['refusal'] === 'string') this.#write('refusal', delta['refusal']);
    if (Array.isArray(delta['annotations'])) this.#annotations(delta['annotations']);
    if (Array.isArray(calls)) {
      for (const [index, call] of calls.entries()) {
        if (isObject(call)) this.#call(call, whole ? index : null);
      }
    }
    if (isObject(delta['function_call'])) this.#legacyCall(delta['function_call'], whole);
    for (const name of NATIVE) {
      const value = delta[name];
      if (value === undefined || value === null) continue;
      if (name === 'audio' && isObject(value)) this.#appendAudio(value);
      else if (listOf(value).length > 0) this.#native({ [name]: value });
    }
  }

  #reasoning(delta: Json): void {
    const plain = delta['reasoning_content'] ?? delta['reasoning'];
    if (typeof plain === 'string' && plain !== '') {
      this.#plainReasoning = true;
      this.#write('reasoning', plain);
    }
    const details = listOf(delta['reasoning_details']).filter(isObject);
    if (details.length === 0) return;
    for (const detail of details) {
      const text = textOfDetail(detail);
      if (!this.#plainReasoning && text !== '') this.#write('reasoning', text);
      // Details that only repeat the plain text start no reasoning block.
      if (!isSigned(detail) && this.#plainReasoning) continue;
      this.#inText = false;
      this.#blocks.addDetail(detail);
    }
  }

  #write(kind: 'reasoning' | 'refusal', text: string): void {
    if (text === '') return;
    this.#inText = false;
    this.#blocks.write(kind, text, null);
  }

  #text(text: string, logprobs: unknown): void {
    const tags = this.#thinkTags;
    // Tokens of reasoning have no field for their probabilities.
    if (tags === null || tags.isOver) this.#writeText(text, logprobs);
    else tags.push(text);
  }

  #writeText(text: string, logprobs: unknown): void {
    const tokens = isObject(logprobs) ? listOf(logprobs['content']) : [];
    if (text === '' && tokens.length === 0) return;
    this.#enterText();
    this.#textLength += text.length;
    this.#blocks.write('text', text, tokens.length > 0 ? tokens : null);
  }

  #enterText(): void {
    if (this.#inText) return;
    this.#inText = true;
    this.#textStart = this.#textLength;
  }

  /** A content part, as Mistral sends them. */
  #part(part: unknown): void {
    if (typeof part === 'string') {
      this.#text(part, null);
      return;
    }
    if (!isObject(part)) return;
    const { type, text, thinking, refusal } = part;
    if (typeof text === 'string' && (type === 'reasoning' || type === 'thinking')) {
      this.#write('reasoning', text);
    } else if (typeof text === 'string') {
      this.#text(text, null);
    } else if (type === 'thinking') {
      const parts = typeof thinking === 'string' ? [{ text: thinking }] : listOf(thinking);
      for (const one of parts) if (isObject(one)) this.#write('reasoning', textOfDetail(one));
    } else if (typeof refusal === 'string') {
      this.#write('refusal', refusal);
    } else if (type !== 'reference') {
      // References of Mistral's name documents by numbers alone: no other format can express them.
      this.#native({ content: [part] });
    }
  }

  #annotations(annotations: readonly unknown[]): void {
    for (const annotation of annotations) {
      const own = isObject(annotation) ? annotation['url_citation'] : null;
      if (!isObject(own) || typeof own['url'] !== 'string') {
        if (isObject(annotation)) this.#native({ annotations: [annotation] });
        continue;
      }
      this.#enterText();
      const citation = this.#citation(own, own['url']);
      this.#blocks.annotate((block) => ({ type: 'citation', block, citation }));
    }
  }

  /** Chat counts positions from the start of the text, TextEvents from the start of the block. */
  #citation({ title, start_index: start, end_index: end }: Json, url: string): Citation {
    const offset = (index: unknown) =>
      typeof index === 'number' && index >= this.#textStart ? index - this.#textStart : null;
    return {
      url,
      title: typeof title === 'string' ? title : null,
      start: offset(start),
      end: offset(end),
      quote: null,
    };
  }

  #call(call: Json, listIndex: number | null): void {
    this.#inText = false;
    if (this.#customCall(call, listIndex)) return;
    const fault = this.#calls.push(call, listIndex);
    if (fault !== null) throw invalidAnswer(fault);
  }

  /** A call with free text as input, which only chat has: emitted as one native block. */
  #customCall(call: Json, listIndex: number | null): boolean {
    const { index, ...rest } = call;
    const key = typeof index === 'number' ? index : (listIndex ?? 0);
    const known = this.#custom.get(key);
    const own = isObject(call['custom']) ? call['custom'] : {};
    if (known === undefined) {
      if (call['type'] !== 'custom') return false;
      this.#custom.set(key, { ...rest, custom: { ...own, input: own['input'] ?? '' } });
      return true;
    }
    if (typeof own['input'] === 'string')
      known.custom.input = `${known.custom.input}${own['input']}`;
    return true;
  }

  /** A `function_call`, the predecessor of `tool_calls`. */
  #legacyCall(call: Json, whole: boolean): void {
    const index = -1;
    this.#legacyFragments += 1;
    this.#inText = false;
    const name = whole || this.#legacyFragments === 1 ? call['name'] : undefined;
    this.#calls.push({ index, function: { name, arguments: call['arguments'] } }, null);
  }

  #native(value: Json): void {
    this.#inText = false;
    this.#blocks.addNative(value);
  }

  /** Audio arrives in fragments and is emitted as one block. */
  #appendAudio(audio: Json): void {
    this.#audio ??= {};
    joinFragment(this.#audio, audio, AUDIO_TEXTS);
  }

  #emitUsage(reported: Json): void {
    this.#usage = usageOf(reported, this.#usage);
    if (this.#usage && this.#reason === null) this.emit({ type: 'usage', usage: this.#usage });
  }

  protected override decodeDone(): void {
    if (!this.#hasChoice && this.#reason === null) throw truncatedAnswer();
    this.#thinkTags?.end();
    if (this.#audio) this.#native({ audio: this.#audio });
    for (const call of this.#custom.values()) this.#native({ tool_calls: [call] });
    if (!this.#blocks.end()) throw invalidAnswer('a tool call without a name');
    this.emit({
      type: 'finish',
      reason: finishReasonOf(this.#reason, this.#calls.hasCalls || this.#custom.size > 0),
      raw: this.#reason,
      stopSequence: null,
      usage: this.#usage,
    });
  }
}
