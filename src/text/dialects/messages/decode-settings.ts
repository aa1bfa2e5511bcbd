import type {
  Json,
  NativePart,
  ReasoningRequest,
  RequestSettings,
  ResponseFormat,
  ToolChoice,
} from '../../canonical.ts';
import { nativePart } from '../native-parts.ts';
import type { MessagesRequest } from './request.ts';

type Choice = NonNullable<MessagesRequest['tool_choice']>;

/** The single values of a request. */
export function settingsOf(body: MessagesRequest): RequestSettings {
  const { tool_choice: choice, stop_sequences: stop } = body;
  return {
    toolChoice: choice ? toolChoiceOf(choice) : null,
    parallelToolCalls: choice ? parallelOf(choice) : null,
    maxOutputTokens: body.max_tokens,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
    topK: body.top_k ?? null,
    stop: stop?.length ? stop : null,
    format: formatOf(body),
    reasoning: reasoningOf(body),
    // Settings that messages does not have. Spreading them in would take longer than all else.
    n: null,
    frequencyPenalty: null,
    presencePenalty: null,
    seed: null,
    logprobs: null,
    topLogprobs: null,
    logitBias: null,
    verbosity: null,
  };
}

function toolChoiceOf(choice: Choice): ToolChoice {
  switch (choice.type) {
    case 'any':
      return { type: 'required' };
    case 'tool':
      return { type: 'tool', name: choice.name };
    default:
      return { type: choice.type };
  }
}

function parallelOf(choice: Choice): boolean | null {
  if (choice.type === 'none') return null;
  const disabled = choice.disable_parallel_tool_use;
  return disabled === undefined || disabled === null ? null : !disabled;
}

function formatOf({ output_config }: MessagesRequest): ResponseFormat | null {
  const format = output_config?.format;
  if (!format) return null;
  return {
    type: 'json-schema',
    name: null,
    description: null,
    schema: format.schema as Json,
    strict: null,
  };
}

function reasoningOf({ thinking, output_config }: MessagesRequest): ReasoningRequest | null {
  const effort = output_config?.effort ?? null;
  switch (thinking?.type) {
    case 'enabled':
      return { effort, budget: thinking.budget_tokens, summary: null };
    case 'disabled':
      return { effort: 'none', budget: null, summary: null };
    case 'adaptive':
      return { effort, budget: null, summary: null };
    default:
      return effort === null ? null : { effort, budget: null, summary: null };
  }
}

/** Top-level properties that TextRequest has. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'stream',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
]);

/** Top-level properties that only advise: they do not change the content of an answer. */
const ADVICE: ReadonlySet<string> = new Set([
  'cache_control',
  'diagnostics',
  'metadata',
  'service_tier',
  'speed',
]);

/** The advice and the native properties at the top of a request. */
export function remainderOf(body: MessagesRequest): {
  readonly native: readonly NativePart[];
  readonly advice: readonly string[];
} {
  const native: NativePart[] = [];
  const advice: string[] = [];
  const addNative = (path: string, value: unknown) => {
    native.push(nativePart('messages', path, value));
  };
  for (const key in body) {
    if (KNOWN.has(key)) continue;
    const value = body[key];
    if (value === undefined || value === null) continue;
    if (ADVICE.has(key)) advice.push(key);
    else addNative(key, value);
  }
  const { thinking, output_config: output } = body;
  if (thinking?.type === 'between_tools') addNative('thinking', thinking);
  for (const key in thinking) {
    if (key === 'type' || key === 'budget_tokens') continue;
    if (key === 'display') advice.push('thinking.display');
    else if (thinking[key] !== null) addNative(`thinking.${key}`, thinking[key]);
  }
  if (thinking?.type === 'disabled' && output?.effort) advice.push('output_config.effort');
  for (const key in output) {
    if (key === 'effort' || key === 'format' || output[key] === null) continue;
    addNative(`output_config.${key}`, output[key]);
  }
  return { native, advice };
}
