import type { Failure } from '../../../failure.ts';
import { answerId } from '../../../store/answer-identity.ts';
import type { Json, ReasoningSignature } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import { callIdOnWire } from '../calls.ts';
import type { EncodeContext, EventEncoder } from '../dialect.ts';
import { namedFrame } from '../named-frame.ts';
import { isBare } from '../reasoning-signature.ts';
import { citationObject, stopOf } from './answer.ts';
import { failFrames } from './errors.ts';
import { hidesReasoning, redactedOf, signatureField, signatureWith } from './reasoning.ts';
import { usageObject } from './usage.ts';

const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';
const DELTA_END = '}}\n\n';
const MESSAGE_STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

/** Blocks of text: how each begins, and its deltas up to their text. */
const PROSE = {
  text: { block: { type: 'text', text: '' }, delta: '"type":"text_delta","text":' },
  thinking: {
    block: { type: 'thinking', thinking: '', signature: '' },
    delta: '"type":"thinking_delta","thinking":',
  },
} as const;

/** Encodes the events of a messages stream. Builds delta frames by hand, since a stream has many. */
export class MessagesEncoder implements EventEncoder {
  /** The requested model. */
  readonly #requested: string;
  readonly #estimatedUsage: EncodeContext['estimatedUsage'];
  readonly #id = answerId('msg');
  /** The start event, delayed until the next event, which may have the usage for it. */
  #start: { readonly model: string | null } | null = null;
  #usage: Usage | null = null;
  #ended = false;
  /** Text of the open reasoning, if the client is not shown it. */
  #hidden: string | null;
  /** Text of the refusal so far. */
  #refusal = '';
  #index = -1;
  /** Beginning of each delta frame of the open block; null if no block is open. */
  #prefix: string | null = null;
  /** Whether the open call has arguments so far. */
  #hasArguments = false;

  constructor({ request, estimatedUsage }: EncodeContext) {
    this.#requested = request.model;
    this.#estimatedUsage = estimatedUsage;
    this.#hidden = hidesReasoning(request) ? '' : null;
  }

  push(event: TextEvent): string {
    if (this.#ended) return '';
    if (this.#start !== null && event.type !== 'usage' && event.type !== 'error') {
      const frames = this.#messageStart(this.#start.model);
      return frames + this.#encoded(event);
    }
    return this.#encoded(event);
  }

  flush(): string {
    return this.#start === null || this.#ended ? '' : this.#messageStart(this.#start.model);
  }

  #encoded(event: TextEvent): string {
    switch (event.type) {
      case 'start':
        this.#start = event;
        return '';
      case 'usage':
        this.#usage = event.usage;
        return this.#start === null ? '' : this.#messageStart(this.#start.model);
      // Blocks start with their first delta: Anthropic refuses empty blocks when clients send them back.
      case 'text-start':
      case 'refusal-start':
      case 'reasoning-start':
        return '';
      case 'text-delta':
        return this.#write('text', event.text);
      case 'refusal-delta':
        // Most clients show nothing but text, so that the refusal is a block beside `stop_details`.
        this.#refusal += event.text;
        return this.#write('text', event.text);
      case 'citation':
        return this.#cite(citationObject(event.citation));
      case 'text-end':
      case 'refusal-end':
        return this.#close();
      case 'reasoning-delta':
        if (this.#hidden === null) return this.#write('thinking', event.text);
        this.#hidden += event.text;
        return '';
      case 'reasoning-end':
        return this.#endThinking(event.signature);
      case 'tool-start':
        return this.#tool(event.id, event.name);
      case 'tool-delta':
        this.#hasArguments = true;
        return `${this.#prefix}${JSON.stringify(event.json)}${DELTA_END}`;
      case 'tool-end':
        return this.#endTool();
      case 'native':
        return this.#open(event.value as Json, '') + this.#close();
      case 'finish':
        return this.#finish(event);
      case 'error':
        return this.#fail(event.failure);
    }
  }

  #messageStart(model: string | null): string {
    this.#start = null;
    const message = {
      id: this.#id,
      type: 'message',
      role: 'assistant',
      model: model ?? this.#requested,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      // Clients read the input here, which other formats report at the end.
      usage: usageObject(this.#usage ?? this.#estimate(0)),
    };
    return namedFrame({ type: 'message_start', message });
  }

  /** @param delta the beginning of the block's deltas, up to their text */
  #open(block: Json, delta: string): string {
    this.#index += 1;
    this.#prefix = `${DELTA}${this.#index},"delta":{${delta}`;
    return namedFrame({ type: 'content_block_start', index: this.#index, content_block: block });
  }

  #close(): string {
    if (this.#prefix === null) return '';
    this.#prefix = null;
    return namedFrame({ type: 'content_block_stop', index: this.#index });
  }

  #openAs(kind: keyof typeof PROSE): string {
    if (this.#prefix !== null) return '';
    const { block, delta } = PROSE[kind];
    return this.#open(block, delta);
  }

  #write(kind: keyof typeof PROSE, text: string): string {
    if (text === '') return '';
    const start = this.#openAs(kind);
    return `${start}${this.#prefix}${JSON.stringify(text)}${DELTA_END}`;
  }

  #cite(citation: Json): string {
    const delta = { type: 'citations_delta', citation };
    const start = this.#openAs('text');
    return start + namedFrame({ type: 'content_block_delta', index: this.#index, delta });
  }

  #endThinking(given: ReasoningSignature | null): string {
    const signature = signatureWith(this.#hidden, given);
    if (this.#hidden !== null) this.#hidden = '';
    const data = this.#prefix === null ? redactedOf(signature) : null;
    if (data !== null) return this.#open({ type: 'redacted_thinking', data }, '') + this.#close();
    if (signature === null || (this.#prefix === null && isBare(signature))) return this.#close();
    const opened = this.#openAs('thinking');
    const delta = { type: 'signature_delta', signature: signatureField(signature) };
    const signed = namedFrame({ type: 'content_block_delta', index: this.#index, delta });
    return opened + signed + this.#close();
  }

  #tool(id: string, name: string): string {
    this.#hasArguments = false;
    const block = { type: 'tool_use', id: callIdOnWire(id), name, input: {} };
    return this.#open(block, '"type":"input_json_delta","partial_json":');
  }

  #endTool(): string {
    const empty = this.#hasArguments ? '' : `${this.#prefix}""${DELTA_END}`;
    return empty + this.#close();
  }

  /** The usage as it is charged where the provider reports none. @param output tokens, if not those so far */
  #estimate(output?: number): Usage | null {
    const usage = this.#estimatedUsage?.(0) ?? null;
    return usage && { ...usage, output: output ?? usage.output };
  }

  #finish(event: Extract<TextEvent, { readonly type: 'finish' }>): string {
    this.#ended = true;
    const delta = stopOf(event, this.#refusal);
    const usage = usageObject(event.usage ?? this.#usage ?? this.#estimate());
    return this.#close() + namedFrame({ type: 'message_delta', delta, usage }) + MESSAGE_STOP;
  }

  #fail(failure: Failure): string {
    this.#ended = true;
    return failFrames(failure);
  }
}
