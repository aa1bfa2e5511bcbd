import { parseJson } from '../../../schema/json.ts';
import { isObject, textOf } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { Citation, Json, TextEvent } from '../../canonical.ts';
import type { DecodeContext } from '../dialect.ts';
import { wholeCall } from '../whole-call.ts';

/** A block of an answer while it comes. */
export interface BlockDecoder {
  delta(delta: Json): void;
  end(): void;
}

/** Where the events of blocks go. */
export interface BlockSink {
  readonly context: DecodeContext;
  readonly emit: (event: TextEvent) => void;
  /** The number of the next block. */
  readonly next: () => number;
}

/** Starts a block of an answer. What came with its start, which may be all of it, is taken too. */
export function startBlock(block: Json, sink: BlockSink): BlockDecoder {
  switch (block['type']) {
    case 'text':
      return new TextBlock(block, sink);
    case 'thinking':
      return new ThinkingBlock(block, sink);
    case 'redacted_thinking':
      return new RedactedBlock(block, sink);
    case 'tool_use':
      // A call from within a program that Anthropic runs can only be answered by who knows of it.
      return isPlainCall(block) ? new ToolBlock(block, sink) : new NativeBlock(block, sink);
    default:
      return new NativeBlock(block, sink);
  }
}

/** What a delta begins where the start of its block is missing; null where that cannot be told. */
export function impliedBlock({ type }: Json): Json | null {
  if (type === 'text_delta' || type === 'citations_delta') return { type: 'text' };
  if (type === 'thinking_delta' || type === 'signature_delta') return { type: 'thinking' };
  return null;
}

function isPlainCall({ caller, toolset_name: toolset }: Json): boolean {
  const direct = !isObject(caller) || caller['type'] === undefined || caller['type'] === 'direct';
  return direct && (toolset === undefined || toolset === null);
}

/**
 * What other dialects can say of a block: that a program inside the provider calls a tool of the
 * client's. Null for any other block, which ends the answer for clients of other dialects.
 */
function saidOf(value: Json, block: number): TextEvent[] | null {
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
  /** Null until there is something in it: empty texts tell nothing. */
  #block: number | null = null;
  /** Places in what only Anthropic has a word for: its documents, by number. */
  readonly #native: unknown[] = [];

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
    const { emit, next } = this.#sink;
    if (this.#block !== null) emit({ type: 'text-end', block: this.#block });
    if (this.#native.length === 0) return;
    const value = { type: 'text', text: '', citations: this.#native };
    emit({ type: 'native', block: next(), dialect: 'messages', value });
  }

  #text(text: string): void {
    if (text !== '') this.#sink.emit({ type: 'text-delta', block: this.#begun(), text });
  }

  #cite(value: unknown): void {
    const citation = citationOf(value);
    if (citation === null) this.#native.push(value);
    else this.#sink.emit({ type: 'citation', block: this.#begun(), citation });
  }

  #begun(): number {
    if (this.#block === null) {
      this.#block = this.#sink.next();
      this.#sink.emit({ type: 'text-start', block: this.#block });
    }
    return this.#block;
  }
}

/** A place on the web; null for any other. */
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
    this.#block = sink.next();
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

  constructor(redacted: Json, { context, emit, next }: BlockSink) {
    const block = next();
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
    this.#block = sink.next();
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
    // The whole input may have come with the start; pieces of it are newer.
    if (!this.#streamed && isObject(this.#input) && Object.keys(this.#input).length > 0) {
      emit({ type: 'tool-delta', block: this.#block, json: JSON.stringify(this.#input) });
    }
    emit({ type: 'tool-end', block: this.#block });
  }
}

/** A block that is put together again, to be told whole. */
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
      const [before, came] = [this.#block[key], delta[key]];
      const more = typeof before === 'string' && typeof came === 'string';
      this.#block[key] = more ? before + came : came;
    }
  }

  end(): void {
    const { emit, next, context } = this.#sink;
    const { type, name } = this.#block;
    if (type === 'tool_use') this.#block['name'] = context.toolName(textOf(name));
    if (this.#json !== '') this.#block['input'] = parseJson(this.#json);
    const block = next();
    const said = saidOf(this.#block, block);
    const value = this.#block;
    emit({ type: 'native', block, dialect: 'messages', value, ...(said && { said }) });
  }
}
