import { ANSWER, CREATED, type Format, ID, MODEL, QUESTION, SYSTEM, USAGE } from './format.ts';

const id = `chatcmpl-${ID}`;
const usage = {
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
    id,
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
    usage,
    service_tier: 'default',
  }),
  textOf: (answer) =>
    (answer as { choices?: { message?: { content?: unknown } }[] }).choices?.[0]?.message?.content,
  opening: () => choice({ role: 'assistant', content: '' }),
  delta: (text) => choice({ content: text }),
  closing: () => `${choice({}, 'stop')}${frame({ choices: [], usage })}data: [DONE]\n\n`,
  deltaOf: (event) =>
    (event as { choices?: { delta?: { content?: unknown } }[] }).choices?.[0]?.delta?.content,
  ending: '[DONE]',
};

function choice(delta: object, reason: string | null = null): string {
  return frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
}

function frame(content: object): string {
  const chunk = { id, object: 'chat.completion.chunk', created: CREATED, model: MODEL, ...content };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
