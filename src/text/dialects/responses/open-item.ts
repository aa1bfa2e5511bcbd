import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Citation, TextEvent } from '../../canonical/events.ts';
import { callIdOnWire } from '../calls.ts';
import { OWN_REASONING } from './reasoning.ts';

export type ItemKind = 'text' | 'refusal' | 'reasoning' | 'tool' | 'custom' | 'search';

/** Event type and index fields of the deltas of each kind of block. */
const DELTAS: Readonly<Record<ItemKind, { readonly event: string; readonly indexes: string }>> = {
  text: { event: 'response.output_text', indexes: ',"content_index":0' },
  refusal: { event: 'response.refusal', indexes: ',"content_index":0' },
  reasoning: { event: 'response.reasoning_summary_text', indexes: ',"summary_index":0' },
  tool: { event: 'response.function_call_arguments', indexes: '' },
  custom: { event: 'response.custom_tool_call_input', indexes: '' },
  // Its arguments are an object, which comes at once.
  search: { event: '', indexes: '' },
};

/** The item whose events are being sent. */
export interface OpenItem {
  readonly kind: ItemKind;
  readonly block: number;
  /** The item of the `added` event. */
  readonly item: Json;
  /** Beginning of each delta frame, built once: a stream has many. */
  readonly prefix: string;
  text: string;
  readonly annotations: Json[];
  readonly logprobs: unknown[];
}

/** @param outputIndex index of the item in the response */
export function openItem(kind: ItemKind, block: number, item: Json, outputIndex: number): OpenItem {
  const { event, indexes } = DELTAS[kind];
  const prefix =
    `event: ${event}.delta\ndata: {"type":"${event}.delta",` +
    `"item_id":"${item['id']}","output_index":${outputIndex}${indexes},"delta":`;
  return { kind, block, item, prefix, text: '', annotations: [], logprobs: [] };
}

export function newReasoning(): Json {
  return { id: answerId(OWN_REASONING), type: 'reasoning', status: 'in_progress', summary: [] };
}

export function newMessage(): Json {
  const item = { id: answerId('msg'), type: 'message', status: 'in_progress', role: 'assistant' };
  return { ...item, content: [] };
}

export function newCall(
  kind: 'tool' | 'custom' | 'search',
  { id, name, namespace }: TextEvent & { readonly type: 'tool-start' },
): Json {
  const status = 'in_progress';
  const call_id = callIdOnWire(id);
  if (kind === 'search') {
    const about = { id: answerId('tsc'), type: 'tool_search_call', status, call_id };
    return { ...about, execution: 'client', arguments: {} };
  }
  const about = { status, call_id, name, ...(namespace !== undefined && { namespace }) };
  return kind === 'custom'
    ? { id: answerId('ctc'), type: 'custom_tool_call', ...about, input: '' }
    : { id: answerId('fc'), type: 'function_call', ...about, arguments: '' };
}

/** The part of a message so far. */
export function partOf({ kind, text, annotations, logprobs }: OpenItem): Json {
  if (kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', text, annotations, logprobs };
}

/** Whether a native block is an annotation of the open text block. */
export function isAnnotation(
  event: TextEvent & { readonly type: 'native' },
  open: OpenItem | null,
): boolean {
  return open?.kind === 'text' && open.block === event.block;
}

export function citationBody({ url, title, start, end }: Citation, length: number): Json {
  return {
    type: 'url_citation',
    url,
    title: title ?? '',
    // A citation without positions covers the text so far.
    start_index: start ?? 0,
    end_index: end ?? length,
  };
}
