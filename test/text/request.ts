import '../../src/text/built-in-dialects.ts';
import type { Part, TextRequest, Turn } from '../../src/text/canonical/canonical.ts';
import type { Target } from '../../src/text/dialects/dialect.ts';

/** A request with default settings. */
export function textRequest(request: Partial<TextRequest> = {}): TextRequest {
  return {
    dialect: 'chat',
    body: {},
    model: 'some-model',
    stream: false,
    includeUsage: false,
    turns: [],
    tools: [],
    native: [],
    advice: [],
    toolChoice: null,
    parallelToolCalls: null,
    maxOutputTokens: null,
    temperature: null,
    topP: null,
    topK: null,
    stop: null,
    n: null,
    frequencyPenalty: null,
    presencePenalty: null,
    seed: null,
    logprobs: null,
    topLogprobs: null,
    logitBias: null,
    format: null,
    verbosity: null,
    reasoning: null,
    ...request,
  };
}

export function turn(role: Turn['role'], parts: readonly Part[], rest: Partial<Turn> = {}): Turn {
  return { path: 'messages[0]', role, parts, name: null, partial: false, tools: null, ...rest };
}

/** A route to an upstream of a dialect. */
export function target(dialect: string): Target {
  return {
    dialect,
    provider: 'some-provider',
    model: 'upstream-model',
    rules: null,
    reasons: false,
    maxOutputTokens: null,
  };
}
