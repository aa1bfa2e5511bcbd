import { Failure } from '../../failure.ts';
import type { TextRequest, Turn } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import { pathOf } from '../dialects/request-settings.ts';
import type { EmulatedAnswer, RequestEmulation, TakeEvent } from './emulation.ts';
import { ObjectReader } from './object-reader.ts';

const INSTRUCTION =
  'Answer with one valid JSON object and nothing else: no text before it or after it, no code fence.';

/** An answer that is any JSON object: the model is instructed, and its answer is checked. */
export function emulateJsonObject(request: TextRequest): RequestEmulation | null {
  if (request.format?.type !== 'json-object') return null;
  const path = pathOf(request, 'format');
  const instruction: Turn = {
    role: 'system',
    path,
    parts: [{ type: 'text', path, text: INSTRUCTION }],
    name: null,
    partial: false,
    tools: null,
  };
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
    const failure = new Failure('billable_error', message, { code: 'invalid_json_output' });
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
