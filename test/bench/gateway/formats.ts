/** One wire format of text: request of the client, response of the upstream, and how to read it. */
export interface Format {
  readonly path: string;
  request(model: string, stream: boolean): object;
  /** The whole response. */
  answer(): object;
  /** The text of a whole response. */
  textOf(answer: unknown): unknown;
  /** The events before the first piece of text. */
  opening(): string;
  /** The event of one piece of text, numbered from 0. */
  delta(text: string, index: number): string;
  /** The events after `count` pieces of text, which make up `text`. */
  closing(text: string, count: number): string;
  /** The text that an event adds; `undefined` where it adds none. */
  deltaOf(event: unknown): unknown;
  /** Text that only the last event of a complete stream has. */
  readonly ending: string;
}

const SYSTEM =
  'You are a patient guide to the coast. Answer in whole sentences, name the places that you speak of, ' +
  'and say so where you are not sure of something.';
const QUESTION =
  'I have one free day in early spring and would like to see a fishing harbour before sunrise. ' +
  'Where should I go, when should I be there, and what should I look for?';
/** Nothing in it needs an escape in JSON or in a configuration of nginx. */
export const ANSWER =
  'Go to the old harbour below the lighthouse and be there half an hour before sunrise. The boats come in ' +
  'on the last of the tide, and the crates are sorted under the lamps along the northern quay. Look for ' +
  'the small blue boats first: they carry line-caught fish and sell from the deck until the auction bell. ' +
  'In early spring the fog often lies on the water until eight, so take something warm, stay behind the ' +
  'yellow line while the cranes are moving, and have breakfast in the hall once the auction is over. I am ' +
  'not sure whether the hall opens on Sundays.';

const ID = 'bench0123456789abcdefghij';
const CREATED = 1_763_700_000;
const USAGE = { input: 92, output: 128 };

/** Model name in all responses of the upstream. */
const MODEL = 'bench-model-2026-01-31';

const chatUsage = {
  prompt_tokens: USAGE.input,
  completion_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};

export const chat: Format = {
  path: '/v1/chat/completions',
  request: (model, stream) => ({
    model,
    messages: [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: QUESTION },
    ],
    max_tokens: 1024,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  answer: () => ({
    id: `chatcmpl-${ID}`,
    object: 'chat.completion',
    created: CREATED,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: ANSWER, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: chatUsage,
    service_tier: 'default',
  }),
  textOf: (answer) =>
    (answer as { choices?: { message?: { content?: unknown } }[] }).choices?.[0]?.message?.content,
  opening: () => choice({ role: 'assistant', content: '' }),
  delta: (text) => choice({ content: text }),
  closing: () => `${choice({}, 'stop')}${chunk({ choices: [], usage: chatUsage })}data: [DONE]\n\n`,
  deltaOf: (event) =>
    (event as { choices?: { delta?: { content?: unknown } }[] }).choices?.[0]?.delta?.content,
  ending: '[DONE]',
};

function choice(delta: object, reason: string | null = null): string {
  return chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
}

function chunk(content: object): string {
  const head = { id: `chatcmpl-${ID}`, object: 'chat.completion.chunk', created: CREATED };
  return `data: ${JSON.stringify({ ...head, model: MODEL, ...content })}\n\n`;
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
    frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
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

const item = { id: `msg_${ID}`, type: 'message', role: 'assistant' };
const place = { item_id: item.id, output_index: 0, content_index: 0 };
/** Events before the first piece of text. */
const OPENING = 4;

export const responses: Format = {
  path: '/v1/responses',
  request: (model, stream) => ({
    model,
    instructions: SYSTEM,
    input: QUESTION,
    max_output_tokens: 1024,
    ...(stream ? { stream: true } : {}),
  }),
  answer: () => completed(ANSWER),
  textOf: (answer) =>
    (answer as { output?: { content?: { text?: unknown }[] }[] }).output?.[0]?.content?.[0]?.text,
  opening: () =>
    [
      { type: 'response.created', response: begun() },
      { type: 'response.in_progress', response: begun() },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...place, part: part('') },
    ]
      .map(numbered)
      .join(''),
  delta: (text, index) =>
    numbered(
      { type: 'response.output_text.delta', ...place, delta: text, logprobs: [] },
      OPENING + index,
    ),
  closing: (text, count) =>
    [
      { type: 'response.output_text.done', ...place, text, logprobs: [] },
      { type: 'response.content_part.done', ...place, part: part(text) },
      { type: 'response.output_item.done', output_index: 0, item: done(text) },
      { type: 'response.completed', response: completed(text) },
    ]
      .map((event, index) => numbered(event, OPENING + count + index))
      .join(''),
  deltaOf: (event) => (event as { delta?: unknown }).delta,
  ending: '"response.completed"',
};

const begun = () => response({ status: 'in_progress', output: [], usage: null });

function completed(text: string) {
  const usage = {
    input_tokens: USAGE.input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: USAGE.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: USAGE.input + USAGE.output,
  };
  return response({ status: 'completed', output: [done(text)], usage });
}

function response(content: { status: string; output: object[]; usage: object | null }) {
  return {
    id: `resp_${ID}`,
    object: 'response',
    created_at: CREATED,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: SYSTEM,
    max_output_tokens: 1024,
    model: MODEL,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    metadata: {},
    ...content,
  };
}

const done = (text: string) => ({ ...item, status: 'completed', content: [part(text)] });

const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

function numbered({ type, ...rest }: Event, sequence: number): string {
  return frame({ type, sequence_number: sequence, ...rest });
}

const frame = (event: Event): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

interface Event {
  readonly type: string;
  readonly [name: string]: unknown;
}
