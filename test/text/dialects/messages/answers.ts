import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { messages } from '../../../../src/text/dialects/messages/messages.ts';
import { textRequest } from '../../request.ts';

const context = { provider: 'anthropic', toolName: (name: string) => name };
export const encoding = { request: textRequest({ dialect: 'messages' }), created: 0 };

/** The decoded events of an upstream stream. */
export function decoded(events: readonly (object | string)[], ended = true): TextEvent[] {
  const heard: TextEvent[] = [];
  const decoder = messages.decodeEvents(context, (event) => heard.push(event));
  for (const event of events)
    decoder.push(typeof event === 'string' ? event : JSON.stringify(event));
  if (ended) decoder.end();
  return heard;
}

export function decodedWhole(body: unknown): TextEvent[] {
  const heard: TextEvent[] = [];
  messages.decodeEvents(context, (event) => heard.push(event)).whole(body);
  return heard;
}

/** The encoded frames of events. */
export function framesOf(events: readonly TextEvent[]): string {
  const encoder = messages.encodeEvents(encoding);
  return events.map((event) => encoder.push(event)).join('');
}

export function eventsOf(frames: string): Json[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, type, data] = /^event: (\w+)\ndata: ([^\n]*)$/.exec(frame)!;
      const event = JSON.parse(data!) as Json;
      if (event['type'] !== type) throw new Error(`${type} names ${data}`);
      return event;
    });
}

/** Events with adjacent deltas joined. */
export function joined(events: readonly TextEvent[]): TextEvent[] {
  const made: TextEvent[] = [];
  for (const event of events) {
    const last = made.at(-1);
    if (event.type === 'tool-delta' && last?.type === 'tool-delta') {
      made[made.length - 1] = { ...last, json: last.json + event.json };
    } else if ('text' in event && last?.type === event.type) {
      made[made.length - 1] = { ...last, text: (last as typeof event).text + event.text } as never;
    } else made.push(event);
  }
  return made;
}

export const start = (
  usage: object = { input_tokens: 10, output_tokens: 1 },
  more: object = {},
) => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
    ...more,
  },
});
export const block = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
export const delta = (index: number, type: string, value: object) => ({
  type: 'content_block_delta',
  index,
  delta: { type, ...value },
});
export const text = (index: number, words: string) => delta(index, 'text_delta', { text: words });
export const stop = (index: number) => ({ type: 'content_block_stop', index });
export const end = (
  stop_reason: string | null,
  usage: object = { output_tokens: 5 },
  more = {},
) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null, ...more }, usage },
  { type: 'message_stop' },
];
