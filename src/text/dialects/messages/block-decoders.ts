import { parseJson } from '../../../schema/json.ts';
import { isObject, textOf } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Citation, TextEvent } from '../../canonical/events.ts';
import { wholeCall } from '../calls.ts';
import type { DecodeContext } from '../dialect.ts';

/** Decodes one block of an answer from its deltas. */
export interface BlockDecoder {
  delta(delta: Json): void;
  end(): void;
}

/** Receives the events of blocks. */
export interface BlockSink {
  readonly context: DecodeContext;
  readonly emit: (event: TextEvent) => void;
  /** The number of the next block. */
  readonly nextBlock: () => number;
}

/** Starts a block, whose start event may have a part or all of its content. */
export function startBlock(block: Json, sink: BlockSink): BlockDecoder {
  switch (block['type']) {
    case 'text':
      return new TextBlock(block, sink);
    case 'thinking':
      return new ThinkingBlock(block, sink);
    case 'redacted_thinking':
      return new RedactedBlock(block, sink);
    case 'tool_use':
      // A call by a program at Anthropic is native: other clients get its translation.
      return isPlainCall(block) ? new ToolBlock(block, sink) : new NativeBlock(block, sink);
    default:
      return new NativeBlock(block, sink);
  }
}

/** The start of a block that is missing before a delta; null if the delta does not imply it. */
export function impliedBlock({ type }: Json): Json | null {
  if (type === 'text_delta' || type === 'citations_delta') return { type: 'text' };
  if (type === 'thinking_delta' || type === 'signature_delta') return { type: 'thinking' };
  return null;
}

function isPlainCall({ caller, toolset_name: toolset }: Json): boolean {
  const isDirect = !isObject(caller) || caller['type'] === undefined || caller['type'] === 'direct';
  return isDirect && (toolset === undefined || toolset === null);
}

/**
 * The events that stand for a native block in other dialects: a program at the provider calls a tool of
 * the client. Null for any other block, which ends the answer for clients of other dialects.
 */
function translationOf(value: Json, block: number): TextEvent[] | null {
  const { type, id, name, input, toolset_name: toolset } = value;
  if (type !== 'tool_use' || (toolset ?? null) !== null) return null;
  return wholeCall(block, {
    id: textOf(id) || newId('toolu'),
    name: textOf(name),
    json: isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '',
  });
}

class TextBlock implements BlockDecoder {
  readonly #sink: BlockSink;
  /** Number of the block; null while it is empty: empty texts are not emitted. */
  #block: number | null = null;
  /** Citations that only Anthropic has, such as of documents by their number. */
  readonly #nativeCitations: unknown[] = [];

  constructor(block: Json, sink: BlockSink) {
    this.#sink = sink;
    this.#text(textOf(block['text']));
    const { citations } = block;
    if (Array.isArray(citations)) for (const citation of citations) this.#cite(citation);
  }

  delta(delta: Json): void {
    if (delta['type'] === 'text_delta') this.#text(textOf(delta['text']));
    else if (delta['type'] === 'citations_delta') this.#cite(delta['citation']);
  }

  end(): void {
    const { emit, nextBlock } = this.#sink;
    if (this.#block !== null) emit({ type: 'text-end', block: this.#block });
    if (this.#nativeCitations.length === 0) return;
    const value = { type: 'text', text: '', citations: this.#nativeCitations };
    emit({ type: 'native', block: nextBlock(), dialect: 'messages', value });
  }

  #text(text: string): void {
    if (text !== '') this.#sink.emit({ type: 'text-delta', block: this.#startedBlock(), text });
  }

  #cite(value: unknown): void {
    const citation = citationOf(value);
    if (citation === null) this.#nativeCitations.push(value);
    else this.#sink.emit({ type: 'citation', block: this.#startedBlock(), citation });
  }

  #startedBlock(): number {
    if (this.#block === null) {
      this.#block = this.#sink.nextBlock();
      this.#sink.emit({ type: 'text-start', block: this.#block });
    }
    return this.#block;
  }
}

/** A citation of a web page; null for any other. */
function citationOf(value: unknown): Citation | null {
  if (!isObject(value) || value['type'] !== 'web_search_result_location') return null;
  const { url, title, cited_text: quote } = value;
  if (typeof url !== 'string') return null;
  return {
    url,
    title: typeof title === 'string' ? title : null,
    start: null,
    end: null,
    quote: typeof quote === 'string' ? quote : null,
  };
}

class ThinkingBlock implements BlockDecoder {
  readonly #sink: BlockSink;
  readonly #block: number;
  #signature: string;

  constructor(block: Json, sink: BlockSink) {
    this.#sink = sink;
    this.#block = sink.nextBlock();
    this.#signature = textOf(block['signature']);
    sink.emit({ type: 'reasoning-start', block: this.#block });
    this.#text(textOf(block['thinking']));
  }

  delta(delta: Json): void {
    if (delta['type'] === 'thinking_delta') this.#text(textOf(delta['thinking']));
    else if (delta['type'] === 'signature_delta') this.#signature = textOf(delta['signature']);
  }

  end(): void {
    const { emit, context } = this.#sink;
    const value = { signature: this.#signature };
    const signature =
      this.#signature === ''
        ? null
        : ({ dialect: 'messages', provider: context.provider, value } as const);
    emit({ type: 'reasoning-end', block: this.#block, signature });
  }

  #text(text: string): void {
    if (text !== '') this.#sink.emit({ type: 'reasoning-delta', block: this.#block, text });
  }
}

class RedactedBlock implements BlockDecoder {
  readonly #end: () => void;

  constructor(redacted: Json, { context, emit, nextBlock }: BlockSink) {
    const block = nextBlock();
    emit({ type: 'reasoning-start', block });
    this.#end = () => {
      const value = { data: textOf(redacted['data']) };
      const signature = { dialect: 'messages', provider: context.provider, value } as const;
      emit({ type: 'reasoning-end', block, signature });
    };
  }

  delta(): void {}

  end(): void {
    this.#end();
  }
}

class ToolBlock implements BlockDecoder {
  readonly #sink: BlockSink;
  readonly #block: number;
  readonly #input: unknown;
  #streamed = false;

  constructor({ id, name, input }: Json, sink: BlockSink) {
    this.#sink = sink;
    this.#block = sink.nextBlock();
    this.#input = input;
    sink.emit({
      type: 'tool-start',
      block: this.#block,
      id: textOf(id) || newId('toolu'),
      name: sink.context.toolName(textOf(name)),
    });
  }

  delta(delta: Json): void {
    if (delta['type'] !== 'input_json_delta') return;
    const json = textOf(delta['partial_json']);
    if (json === '') return;
    this.#streamed = true;
    this.#sink.emit({ type: 'tool-delta', block: this.#block, json });
  }

  end(): void {
    const { emit } = this.#sink;
    // The start may have the whole input; deltas replace it.
    if (!this.#streamed && isObject(this.#input) && Object.keys(this.#input).length > 0) {
      emit({ type: 'tool-delta', block: this.#block, json: JSON.stringify(this.#input) });
    }
    emit({ type: 'tool-end', block: this.#block });
  }
}

/** Folds a block that only Anthropic has, and emits it whole. */
class NativeBlock implements BlockDecoder {
  readonly #sink: BlockSink;
  readonly #block: Record<string, unknown>;
  #json = '';

  constructor(block: Json, sink: BlockSink) {
    this.#sink = sink;
    this.#block = { ...block };
  }

  delta(delta: Json): void {
    if (delta['type'] === 'input_json_delta') {
      this.#json += textOf(delta['partial_json']);
      return;
    }
    if (delta['type'] === 'citations_delta') {
      const citations = this.#block['citations'];
      this.#block['citations'] = [
        ...(Array.isArray(citations) ? citations : []),
        delta['citation'],
      ];
      return;
    }
    for (const key of Object.keys(delta)) {
      if (key === 'type' || key === '__proto__') continue;
      const [before, added] = [this.#block[key], delta[key]];
      const isText = typeof before === 'string' && typeof added === 'string';
      this.#block[key] = isText ? before + added : added;
    }
  }

  end(): void {
    const { emit, nextBlock, context } = this.#sink;
    const { type, name } = this.#block;
    if (type === 'tool_use') this.#block['name'] = context.toolName(textOf(name));
    if (this.#json !== '') this.#block['input'] = parseJson(this.#json);
    const block = nextBlock();
    const translation = translationOf(this.#block, block);
    const value = this.#block;
    emit({
      type: 'native',
      block,
      dialect: 'messages',
      value,
      ...(translation && { translation }),
    });
  }
}
