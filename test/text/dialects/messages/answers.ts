import { decoded as decodedFrom, decodedWhole as wholeFrom } from '../answer-events.ts';

export const decoded = (chunks: readonly unknown[]) => decodedFrom('messages', chunks);
export const decodedWhole = (body: unknown) => wholeFrom('messages', body);

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
