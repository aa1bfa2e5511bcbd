import type { Json, TextRequest } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { decodeRequest } from '../../../../src/text/dialects/chat/decode-request.ts';
import { target } from '../../request.ts';
import { decoded, decodedWhole } from '../answer-events.ts';

/** A request of a chat client. */
export function request(more: Json = {}): TextRequest {
  return decodeRequest({
    model: 'some-model',
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  });
}

/** A request of a client of another format. */
export function foreign(more: Partial<TextRequest> = {}): TextRequest {
  return { ...request(), dialect: 'messages', body: {}, ...more };
}

export const TARGET = target('chat', { reasons: true });

export const decode = (chunks: readonly unknown[], toolName?: (wire: string) => string) =>
  decoded('chat', chunks, toolName);
export const decodeWhole = (body: unknown) => decodedWhole('chat', body);

export function chunk(delta: unknown, finish: string | null = null, more: Json = {}): Json {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...more,
  };
}

/** A complete stream of deltas. */
export function stream(deltas: readonly unknown[], finish = 'stop'): unknown[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finish),
    '[DONE]',
  ];
}

export interface DecodedBlock {
  readonly type: string;
  readonly text: string;
  readonly more?: unknown;
}

/**
 * The blocks of events, whose order it checks: one start, blocks one after another, one end.
 */
export function blocksOf(events: readonly TextEvent[]): DecodedBlock[] {
  const blocks: DecodedBlock[] = [];
  let open: { type: string; text: string; more?: unknown } | null = null;
  let over = false;
  let started = false;
  for (const event of events) {
    if (over) throw new Error(`${event.type} after the end`);
    if (event.type === 'start') {
      if (started) throw new Error('a second start');
      started = true;
      continue;
    }
    if (event.type === 'finish' || event.type === 'error') {
      over = true;
      continue;
    }
    if (event.type === 'usage') continue;
    if (event.block !== blocks.length) throw new Error(`block ${event.block} at ${blocks.length}`);
    if (event.type === 'native') {
      if (open) throw new Error('native within a block');
      blocks.push({ type: 'native', text: JSON.stringify(event.value) });
    } else if (event.type === 'citation') {
      if (open?.type !== 'text') throw new Error('a citation outside of text');
      open.more = event.citation;
    } else {
      const [type = '', step] = event.type.split('-');
      if (step === 'start') {
        if (open) throw new Error(`${event.type} within ${open.type}`);
        open = { type, text: '' };
        if (event.type === 'tool-start') open.more = { id: event.id, name: event.name };
        continue;
      }
      if (open?.type !== type) throw new Error(`${event.type} within ${open?.type}`);
      if ('text' in event) open.text += event.text;
      if ('json' in event) open.text += event.json;
      if (step !== 'end') continue;
      if (event.type === 'reasoning-end' && event.signature) open.more = event.signature;
      blocks.push(open);
      open = null;
    }
  }
  if (!over) throw new Error('no end');
  const failed = events.at(-1)?.type === 'error';
  if (open && !failed) throw new Error(`${open.type} is left open`);
  return blocks;
}

export const last = (events: readonly TextEvent[]): TextEvent => events.at(-1)!;

export function finishOf(events: readonly TextEvent[]): TextEvent & { type: 'finish' } {
  const event = last(events);
  if (event.type !== 'finish') throw event.type === 'error' ? event.failure : new Error(event.type);
  return event;
}

export function failureOf(events: readonly TextEvent[]) {
  const event = last(events);
  if (event.type !== 'error') throw new Error(`it ended with ${event.type}`);
  return event.failure;
}
