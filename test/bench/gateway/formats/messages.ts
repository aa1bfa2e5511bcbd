import { ANSWER, type Format, ID, MODEL, QUESTION, SYSTEM, USAGE } from './format.ts';

interface Event {
  readonly type: string;
  readonly [name: string]: unknown;
}

const message = { id: `msg_${ID}`, type: 'message', role: 'assistant', model: MODEL };
const cache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

export const messages: Format = {
  path: '/v1/messages',
  request: (model, stream) => ({
    model,
    max_tokens: 1024,
    system: SYSTEM,
    messages: [{ role: 'user', content: QUESTION }],
    ...(stream ? { stream: true } : {}),
  }),
  answer: () => ({
    ...message,
    content: [{ type: 'text', text: ANSWER }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: USAGE.input, ...cache, output_tokens: USAGE.output },
  }),
  textOf: (answer) => (answer as { content?: { text?: unknown }[] }).content?.[0]?.text,
  opening: () =>
    frame({
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: USAGE.input, ...cache, output_tokens: 1 },
      },
    }) +
    frame({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'text', text: '' },
    }),
  delta: (text) =>
    frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  closing: () =>
    frame({ type: 'content_block_stop', index: 0 }) +
    frame({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: USAGE.output },
    }) +
    frame({ type: 'message_stop' }),
  deltaOf: (event) => (event as { delta?: { text?: unknown } }).delta?.text,
  ending: '"message_stop"',
};

function frame(event: Event): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
