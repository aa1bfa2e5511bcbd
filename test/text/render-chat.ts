import {
  chatUsage,
  type Frame,
  piecesOf,
  type Script,
  type Step,
  type Stop,
  stopOf,
} from './script.ts';

const ID = 'chatcmpl-upstream0001';
const CREATED = 1_770_000_000;

const REASONS: Readonly<Record<Stop, string | null>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'content_filter',
  'stop-sequence': 'stop',
  missing: null,
};

export const CHAT_ERROR = {
  error: {
    message: 'The upstream broke down midway',
    type: 'server_error',
    param: null,
    code: 'server_error',
  },
};

/** The chunks of chat completions, as OpenAI writes them. */
export function chatFrames(script: Script, request: { readonly [key: string]: unknown }): Frame[] {
  const head = {
    id: ID,
    object: 'chat.completion.chunk',
    created: CREATED,
    model: script.model ?? request['model'],
    service_tier: 'default',
    system_fingerprint: 'fp_mock',
  };
  const options = request['stream_options'] as { include_usage?: boolean } | undefined;
  const counted = options?.include_usage === true;
  const chunk = (rest: object): Frame => ({
    data: { ...head, ...rest, ...(counted && !('usage' in rest) && { usage: null }) },
  });
  const alternatives = [script.steps ?? [], ...(script.choices ?? [])];
  const frames = alternatives.flatMap((steps, index) => choiceFrames(steps, index, script, chunk));
  if (counted && script.usage !== null && script.usage !== undefined) {
    frames.push(chunk({ choices: [], usage: chatUsage(script.usage) }));
  }
  if (script.framing?.unsaid !== true) frames.push({ data: '[DONE]' });
  return frames;
}

function choiceFrames(
  steps: readonly Step[],
  index: number,
  script: Script,
  chunk: (rest: object) => Frame,
): Frame[] {
  const delta = (change: object, logprobs: unknown = null): Frame =>
    chunk({ choices: [{ index, delta: change, logprobs, finish_reason: null }] });
  const frames: Frame[] = [delta({ role: 'assistant', content: '', refusal: null })];
  let calls = 0;
  for (const step of steps) {
    if ('reasoning' in step) {
      for (const piece of piecesOf(step.reasoning, step.pieces)) {
        frames.push(delta({ reasoning_content: piece }));
      }
    } else if ('text' in step) {
      const pieces = piecesOf(step.text, step.pieces);
      pieces.forEach((piece, at) => {
        const last = at === pieces.length - 1 && step.logprobs !== undefined;
        const logprobs = last ? { content: step.logprobs, refusal: null } : null;
        frames.push(delta({ content: piece }, logprobs));
      });
    } else if ('refusal' in step) {
      for (const piece of piecesOf(step.refusal, step.pieces)) {
        frames.push(delta({ refusal: piece }));
      }
    } else if ('call' in step) {
      const call = { index: calls, id: step.id, type: 'function' };
      frames.push(
        delta({ tool_calls: [{ ...call, function: { name: step.call, arguments: '' } }] }),
      );
      for (const piece of piecesOf(step.arguments, step.pieces)) {
        frames.push(delta({ tool_calls: [{ index: calls, function: { arguments: piece } }] }));
      }
      calls += 1;
    } else if ('custom' in step) {
      const call = { index: calls, id: step.id, type: 'custom' };
      frames.push(delta({ tool_calls: [{ ...call, custom: { name: step.custom, input: '' } }] }));
      for (const piece of piecesOf(step.input, undefined)) {
        frames.push(delta({ tool_calls: [{ index: calls, custom: { input: piece } }] }));
      }
      calls += 1;
    } else if ('frames' in step) {
      frames.push(...step.frames.map((data) => ({ data })));
    } else if (!('redacted' in step)) {
      frames.push(step);
    }
  }
  const reason = REASONS[stopOf({ ...script, steps })];
  if (reason !== null) {
    frames.push(chunk({ choices: [{ index, delta: {}, logprobs: null, finish_reason: reason }] }));
  }
  return frames;
}

/** The chat completion, not streamed. */
export function chatAnswer(script: Script, request: { readonly [key: string]: unknown }): object {
  const alternatives = [script.steps ?? [], ...(script.choices ?? [])];
  return {
    id: ID,
    object: 'chat.completion',
    created: CREATED,
    model: script.model ?? request['model'],
    choices: alternatives.map((steps, index) => choiceOf(steps, index, script)),
    ...(script.usage && { usage: chatUsage(script.usage) }),
    service_tier: 'default',
    system_fingerprint: 'fp_mock',
  };
}

function choiceOf(steps: readonly Step[], index: number, script: Script): object {
  const all = (key: 'text' | 'reasoning' | 'refusal') => {
    const found = steps.flatMap((step) =>
      key in step ? [(step as Record<string, string>)[key]] : [],
    );
    return found.length === 0 ? null : found.join('');
  };
  const calls = steps.flatMap((step): object[] => {
    if ('call' in step) {
      const call = { name: step.call, arguments: step.arguments };
      return [{ id: step.id, type: 'function', function: call }];
    }
    if (!('custom' in step)) return [];
    return [{ id: step.id, type: 'custom', custom: { name: step.custom, input: step.input } }];
  });
  const logprobs = steps.flatMap((step) => ('text' in step ? (step.logprobs ?? []) : []));
  const reasoning = all('reasoning');
  return {
    index,
    message: {
      role: 'assistant',
      content: all('text'),
      ...(reasoning !== null && { reasoning_content: reasoning }),
      refusal: all('refusal'),
      annotations: [],
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
    finish_reason: REASONS[stopOf({ ...script, steps })],
  };
}
