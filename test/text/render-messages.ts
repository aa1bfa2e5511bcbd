import {
  type Frame,
  messagesUsage,
  piecesOf,
  type Script,
  type ScriptUsage,
  type Step,
  type Stop,
  stopOf,
} from './script.ts';

const ID = 'msg_upstream0001';

const REASONS: Readonly<Record<Stop, string | null>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'refusal',
  'stop-sequence': 'stop_sequence',
  missing: null,
};

export const MESSAGES_ERROR = {
  type: 'error',
  error: { type: 'api_error', message: 'The upstream broke down midway' },
  request_id: 'req_upstream0001',
};

/** A message, always with usage: clients throw without it. */
const NOTHING: ScriptUsage = { input: 0, output: 0 };

function message(script: Script, request: { readonly [key: string]: unknown }): object {
  return {
    id: script.id ?? ID,
    type: 'message',
    role: 'assistant',
    model: script.model ?? request['model'],
    content: [],
    stop_reason: null,
    stop_sequence: null,
    container: null,
    usage: messagesUsage({ ...(script.usage ?? NOTHING), output: 1 }),
  };
}

/** The events of messages, as Anthropic writes them. */
export function messagesFrames(
  script: Script,
  request: { readonly [key: string]: unknown },
): Frame[] {
  const frames: Frame[] = [{ data: { type: 'message_start', message: message(script, request) } }];
  let index = 0;
  const block = (start: object, deltas: readonly object[]) => {
    frames.push({ data: { type: 'content_block_start', index, content_block: start } });
    if (index === 0) frames.push({ data: { type: 'ping' } });
    for (const delta of deltas) {
      frames.push({ data: { type: 'content_block_delta', index, delta } });
    }
    frames.push({ data: { type: 'content_block_stop', index } });
    index += 1;
  };
  for (const step of script.steps ?? []) {
    if ('reasoning' in step) {
      block({ type: 'thinking', thinking: '', signature: '' }, [
        ...piecesOf(step.reasoning, step.pieces).map((thinking) => ({
          type: 'thinking_delta',
          thinking,
        })),
        { type: 'signature_delta', signature: step.signature ?? 'sig-default' },
      ]);
    } else if ('redacted' in step) {
      block({ type: 'redacted_thinking', data: step.redacted }, []);
    } else if ('text' in step || 'refusal' in step) {
      const text = 'text' in step ? step.text : step.refusal;
      const deltas = piecesOf(text, step.pieces).map((piece) => ({
        type: 'text_delta',
        text: piece,
      }));
      block({ type: 'text', text: '' }, deltas);
    } else if ('call' in step) {
      const pieces = piecesOf(step.arguments, step.pieces);
      const deltas = ['', ...pieces].map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }));
      block({ type: 'tool_use', id: step.id, name: step.call, input: {} }, deltas);
    } else if ('frames' in step) {
      frames.push(...step.frames.map((data) => ({ data })));
    } else if ('custom' in step) {
      throw new Error('messages have no custom tools');
    } else {
      frames.push(step);
    }
  }
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } =
    messagesUsage(script.usage ?? NOTHING) as Record<string, number>;
  frames.push({
    data: {
      type: 'message_delta',
      delta: {
        stop_reason: REASONS[stopOf(script)],
        stop_sequence: script.stopSequence ?? null,
        ...(stopOf(script) === 'refusal' && { stop_details: STOP_DETAILS }),
      },
      usage: {
        input_tokens,
        cache_creation_input_tokens,
        cache_read_input_tokens,
        output_tokens,
      },
    },
  });
  frames.push({ data: { type: 'message_stop' } });
  return frames.map((frame) =>
    'data' in frame ? { ...frame, event: (frame.data as { type: string }).type } : frame,
  );
}

const STOP_DETAILS = { type: 'refusal', category: 'cyber', explanation: 'It is not allowed.' };

/** The message, not streamed. */
export function messagesAnswer(
  script: Script,
  request: { readonly [key: string]: unknown },
): object {
  return {
    ...message(script, request),
    content: (script.steps ?? []).flatMap(blockOf),
    stop_reason: REASONS[stopOf(script)],
    stop_sequence: script.stopSequence ?? null,
    ...(stopOf(script) === 'refusal' && { stop_details: STOP_DETAILS }),
    usage: messagesUsage(script.usage ?? NOTHING),
  };
}

function blockOf(step: Step): unknown[] {
  if ('reasoning' in step) {
    const signature = step.signature ?? 'sig-default';
    return [{ type: 'thinking', thinking: step.reasoning, signature }];
  }
  if ('redacted' in step) return [{ type: 'redacted_thinking', data: step.redacted }];
  if ('text' in step) return [{ type: 'text', text: step.text }];
  if ('refusal' in step) return [{ type: 'text', text: step.refusal }];
  if ('call' in step) {
    const input = JSON.parse(step.arguments || '{}') as unknown;
    return [{ type: 'tool_use', id: step.id, name: step.call, input }];
  }
  return 'frames' in step && step.block !== undefined ? [step.block] : [];
}
