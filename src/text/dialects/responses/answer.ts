import type { Failure } from '../../../failure.ts';
import { isObject, objectOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import { answerId } from '../../../store/answer-identity.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { FinishReason } from '../../canonical/events.ts';
import type { EncodeContext, RelayProgress } from '../dialect.ts';
import { namedFrame } from '../named-frame.ts';

function echoedTool(tool: Json): Json {
  if (tool['type'] !== 'function') return tool;
  return { ...tool, description: null, parameters: null, strict: false, ...withoutNulls(tool) };
}

function withoutNulls(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}

/** The fields of a response that are the same in all its events; they repeat the request. */
export function answerHead({ request, created }: EncodeContext, id: string, model: string): Json {
  const { body, reasoning } = request;
  const text = withoutNulls(objectOf(body['text']));
  return {
    id,
    object: 'response',
    created_at: created,
    model,
    background: false,
    instructions: body['instructions'] ?? null,
    max_output_tokens: request.maxOutputTokens,
    max_tool_calls: body['max_tool_calls'] ?? null,
    metadata: isObject(body['metadata']) ? body['metadata'] : {},
    parallel_tool_calls: request.parallelToolCalls ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    service_tier: 'default',
    // Providers of other formats store no responses.
    store: false,
    temperature: request.temperature ?? 1,
    text: { ...text, format: text['format'] ?? { type: 'text' } },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: objectsOf(body['tools']).map(echoedTool),
    top_logprobs: request.topLogprobs ?? 0,
    top_p: request.topP ?? 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    truncation: 'disabled',
    safety_identifier: body['safety_identifier'] ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
  };
}

/** The text of all output items. */
export function outputText(output: readonly Json[]): string {
  return output
    .filter(({ type }) => type === 'message')
    .flatMap(({ content }) => objectsOf(content))
    .map(({ type, text }) => (type === 'output_text' ? textOf(text) : ''))
    .join('');
}

/** The reason of an incomplete response; null for a complete one. */
const INCOMPLETE: Readonly<Record<FinishReason, string | null>> = {
  stop: null,
  'tool-calls': null,
  other: null,
  length: 'max_output_tokens',
  refusal: 'content_filter',
  pause: 'pause',
};

/** The status of a response that ended for a reason. */
export function statusOf(reason: FinishReason) {
  const incomplete = INCOMPLETE[reason];
  return {
    status: incomplete === null ? 'completed' : 'incomplete',
    incomplete_details: incomplete === null ? null : { reason: incomplete },
  } as const;
}

/** A failure with the nearest of OpenAI's error codes. */
export function responseError({ type, message, code }: Failure): Json {
  const codes: Readonly<Record<string, string>> = {
    rate_limit: 'rate_limit_exceeded',
    content_policy: 'invalid_prompt',
    invalid_request: 'invalid_prompt',
  };
  // Clients shorten the conversation after this one.
  if (code === 'context_length_exceeded') return { code, message };
  return { code: codes[type] ?? 'server_error', message };
}

/** The details of a failure: some clients read them in the event, others under `error`. */
export function errorDetails({ type, message, param, code }: Failure): Json {
  return { code, message, param, error: { type, message, param, code } };
}

/** The sequence number of the last event in frames; -1 for none. */
function lastSequence(frames: string): number {
  const numbers = [...frames.matchAll(/"sequence_number"\s*:\s*(\d{1,9})\b/g)];
  return Number(numbers.at(-1)?.[1] ?? -1);
}

/**
 * The last frames of a passed-on stream that failed. They continue the response and the sequence numbers
 * of the upstream.
 */
export function failFrames(failure: Failure, { context, first, last }: RelayProgress): string {
  const sequence = lastSequence(last) + 1;
  const started = first?.['response'];
  const response = {
    ...(isObject(started)
      ? started
      : {
          ...answerHead(context, answerId('resp'), context.request.model),
          completed_at: null,
          incomplete_details: null,
          output: [],
          usage: null,
        }),
    status: 'failed',
    error: responseError(failure),
  };
  return (
    namedFrame({ type: 'error', ...errorDetails(failure), sequence_number: sequence }) +
    namedFrame({ type: 'response.failed', response, sequence_number: sequence + 1 })
  );
}
