import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { decoded as decodedFrom, decodedWhole as wholeFrom } from '../answer-events.ts';

export const decoded = (chunks: readonly unknown[]) => decodedFrom('messages', chunks);
export const decodedWhole = (body: unknown) => wholeFrom('messages', body);

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
