import { ANSWER, CREATED, type Format, ID, MODEL, QUESTION, SYSTEM, USAGE } from './format.ts';

interface Event {
  readonly type: string;
  readonly [name: string]: unknown;
}

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
      .map(frame)
      .join(''),
  delta: (text, index) =>
    frame(
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
      .map((event, index) => frame(event, OPENING + count + index))
      .join(''),
  deltaOf: (event) => (event as { delta?: unknown }).delta,
  ending: '"response.completed"',
};

function begun() {
  return response({ status: 'in_progress', output: [], usage: null });
}

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

function done(text: string) {
  return { ...item, status: 'completed', content: [part(text)] };
}

function part(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function frame(event: Event, sequence: number): string {
  const { type, ...rest } = event;
  const data = JSON.stringify({ type, sequence_number: sequence, ...rest });
  return `event: ${type}\ndata: ${data}\n\n`;
}
