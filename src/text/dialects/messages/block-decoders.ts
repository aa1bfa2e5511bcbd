import { parseJson } from '../../../schema/json.ts';
import { isObject, listOf, textOf } from '../../../schema/untrusted.ts';
import { answerId } from '../../../store/answer-identity.ts';
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
      return textBlock(block, sink);
    case 'thinking':
      return thinkingBlock(block, sink);
    case 'redacted_thinking':
      return redactedBlock(block, sink);
    case 'tool_use':
      // A call by a program at Anthropic is native: other clients get its translation.
      return isPlainCall(block) ? toolBlock(block, sink) : nativeBlock(block, sink);
    default:
      return nativeBlock(block, sink);
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
    id: textOf(id) || answerId('toolu'),
    name: textOf(name),
    json: isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '',
  });
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

function textBlock(block: Json, { emit, nextBlock }: BlockSink): BlockDecoder {
  /** Null while the block is empty: empty texts are not emitted. */
  let number: number | null = null;
  /** Citations that only Anthropic has, such as of documents by their number. */
  const nativeCitations: unknown[] = [];
  const started = (): number => {
    if (number === null) {
      number = nextBlock();
      emit({ type: 'text-start', block: number });
    }
    return number;
  };
  const write = (text: string) => {
    if (text !== '') emit({ type: 'text-delta', block: started(), text });
  };
  const cite = (value: unknown) => {
    const citation = citationOf(value);
    if (citation === null) nativeCitations.push(value);
    else emit({ type: 'citation', block: started(), citation });
  };
  write(textOf(block['text']));
  for (const citation of listOf(block['citations'])) cite(citation);
  return {
    delta({ type, text, citation }) {
      if (type === 'text_delta') write(textOf(text));
      else if (type === 'citations_delta') cite(citation);
    },
    end() {
      if (number !== null) emit({ type: 'text-end', block: number });
      if (nativeCitations.length === 0) return;
      const value = { type: 'text', text: '', citations: nativeCitations };
      emit({ type: 'native', block: nextBlock(), dialect: 'messages', value });
    },
  };
}

function thinkingBlock(given: Json, { context, emit, nextBlock }: BlockSink): BlockDecoder {
  const block = nextBlock();
  let signature = textOf(given['signature']);
  const write = (text: string) => {
    if (text !== '') emit({ type: 'reasoning-delta', block, text });
  };
  emit({ type: 'reasoning-start', block });
  write(textOf(given['thinking']));
  return {
    delta(delta) {
      if (delta['type'] === 'thinking_delta') write(textOf(delta['thinking']));
      else if (delta['type'] === 'signature_delta') signature = textOf(delta['signature']);
    },
    end() {
      const { provider } = context;
      const own = signature === '' ? null : { dialect: 'messages', provider, value: { signature } };
      emit({ type: 'reasoning-end', block, signature: own });
    },
  };
}

function redactedBlock({ data }: Json, { context, emit, nextBlock }: BlockSink): BlockDecoder {
  const block = nextBlock();
  emit({ type: 'reasoning-start', block });
  return {
    delta() {},
    end() {
      const { provider } = context;
      const signature = { dialect: 'messages', provider, value: { data: textOf(data) } };
      emit({ type: 'reasoning-end', block, signature });
    },
  };
}

function toolBlock(
  { id, name, input }: Json,
  { context, emit, nextBlock }: BlockSink,
): BlockDecoder {
  const block = nextBlock();
  let streamed = false;
  emit({
    type: 'tool-start',
    block,
    id: textOf(id) || answerId('toolu'),
    name: context.toolName(textOf(name)),
  });
  return {
    delta({ type, partial_json: partial }) {
      const json = textOf(partial);
      if (type !== 'input_json_delta' || json === '') return;
      streamed = true;
      emit({ type: 'tool-delta', block, json });
    },
    end() {
      // The start may have the whole input; deltas replace it.
      if (!streamed && isObject(input) && Object.keys(input).length > 0) {
        emit({ type: 'tool-delta', block, json: JSON.stringify(input) });
      }
      emit({ type: 'tool-end', block });
    },
  };
}

/** Folds a block that only Anthropic has, and emits it whole. */
function nativeBlock(given: Json, { context, emit, nextBlock }: BlockSink): BlockDecoder {
  const value: Record<string, unknown> = { ...given };
  let json = '';
  return {
    delta(delta) {
      if (delta['type'] === 'input_json_delta') {
        json += textOf(delta['partial_json']);
        return;
      }
      if (delta['type'] === 'citations_delta') {
        value['citations'] = [...listOf(value['citations']), delta['citation']];
        return;
      }
      for (const key of Object.keys(delta)) {
        if (key === 'type' || key === '__proto__') continue;
        const [before, added] = [value[key], delta[key]];
        const isText = typeof before === 'string' && typeof added === 'string';
        value[key] = isText ? before + added : added;
      }
    },
    end() {
      if (value['type'] === 'tool_use') value['name'] = context.toolName(textOf(value['name']));
      if (json !== '') value['input'] = parseJson(json);
      const block = nextBlock();
      const translation = translationOf(value, block);
      const own = { block, dialect: 'messages', value, ...(translation && { translation }) };
      emit({ type: 'native', ...own });
    },
  };
}
