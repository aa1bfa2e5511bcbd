import type { DialectName, Json, RequestSetting, TextRequest } from '../canonical.ts';

type Names = Readonly<Partial<Record<RequestSetting, readonly string[]>>>;

/** How each dialect calls a setting: paths in its bodies, the preferred one first. What is absent, it has not. */
const SETTINGS: Readonly<Record<DialectName, Names>> = {
  chat: {
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['parallel_tool_calls'],
    maxOutputTokens: ['max_completion_tokens', 'max_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    stop: ['stop'],
    n: ['n'],
    frequencyPenalty: ['frequency_penalty'],
    presencePenalty: ['presence_penalty'],
    seed: ['seed'],
    logprobs: ['logprobs'],
    topLogprobs: ['top_logprobs'],
    logitBias: ['logit_bias'],
    format: ['response_format'],
    verbosity: ['verbosity'],
    reasoning: ['reasoning_effort', 'thinking'],
  },
  responses: {
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['parallel_tool_calls'],
    maxOutputTokens: ['max_output_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    logprobs: ['include'],
    topLogprobs: ['top_logprobs'],
    format: ['text.format'],
    verbosity: ['text.verbosity'],
    reasoning: ['reasoning.effort', 'reasoning'],
  },
  messages: {
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['tool_choice.disable_parallel_tool_use', 'tool_choice'],
    maxOutputTokens: ['max_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    topK: ['top_k'],
    stop: ['stop_sequences'],
    format: ['output_config.format'],
    reasoning: ['thinking', 'output_config.effort'],
  },
};

/** The properties of a body, at its top, that a setting is written in. */
export function propertiesOf(dialect: DialectName, setting: RequestSetting): readonly string[] {
  return (SETTINGS[dialect][setting] ?? []).map((path) => path.split('.')[0]!);
}

/** The path at which the client wrote a setting. */
export function pathOf({ dialect, body }: TextRequest, setting: RequestSetting): string {
  const paths = SETTINGS[dialect][setting] ?? [setting];
  return paths.find((path) => isGiven(body, path.split('.'))) ?? paths[0]!;
}

function isGiven(body: Json, [key = '', ...rest]: readonly string[]): boolean {
  const value = body[key];
  if (rest.length === 0 || typeof value !== 'object' || value === null) {
    return value !== undefined && value !== null;
  }
  return isGiven(value as Json, rest);
}
