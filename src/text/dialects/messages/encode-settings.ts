import type { Json, Part, RequestSetting, TextRequest, Tool } from '../../canonical.ts';
import { budgetOf, LEAST_BUDGET } from '../budgets.ts';
import type { Target } from '../dialect.ts';
import { refuseNative, untranslatable } from '../request-errors.ts';
import { pathOf } from '../request-settings.ts';
import { nameOnWire } from '../tool-names.ts';

/** What is written where neither the client nor the catalog says how much may be. */
const USUAL_OUTPUT = 8192;
/** Of that, what is kept for the answer where the rest is for reasoning. */
const ROOM = 4096;
/** Anthropic takes no smaller top_p while a model reasons. */
const LEAST_TOP_P = 0.95;

/**
 * The single values of a request, in the words of messages.
 *
 * @throws Failure invalid_request that names the client's field where messages has no word for it
 */
export function settingsOnWire(request: TextRequest, target: Target): Json {
  refuseAbsent(request);
  const limit = limitOf(request, target);
  const thinking = thinkingOf(request, limit);
  if (thinking?.['type'] === 'enabled') refuseWhileReasoning(request);
  const { temperature, topP, topK, stop } = request;
  if (temperature !== null && temperature > 1) {
    refuse(request, 'temperature', `this upstream takes at most 1, received ${temperature}`);
  }
  const choice = toolChoiceOf(request);
  const schema = schemaOf(request);
  return {
    max_tokens: limit,
    ...(temperature !== null && { temperature }),
    ...(topP !== null && { top_p: topP }),
    ...(topK !== null && { top_k: topK }),
    ...(stop !== null && stop.length > 0 && { stop_sequences: stopsOf(request, stop) }),
    ...(choice !== null && { tool_choice: choice }),
    ...(thinking !== null && { thinking }),
    ...(schema !== null && { output_config: { format: { type: 'json_schema', schema } } }),
  };
}

function refuse(request: TextRequest, setting: RequestSetting, why?: string): never {
  throw untranslatable(pathOf(request, setting), 'messages', why);
}

/** Refuses settings that messages lacks, unless they have the value that applies anyway. */
function refuseAbsent(request: TextRequest): void {
  const { n, frequencyPenalty, presencePenalty, seed, logprobs, topLogprobs, logitBias } = request;
  if (n !== null && n > 1) refuse(request, 'n');
  if (frequencyPenalty) refuse(request, 'frequencyPenalty');
  if (presencePenalty) refuse(request, 'presencePenalty');
  if (seed) refuse(request, 'seed');
  if (logprobs) refuse(request, 'logprobs');
  if (topLogprobs) refuse(request, 'topLogprobs');
  if (logitBias !== null && Object.keys(logitBias).length > 0) refuse(request, 'logitBias');
  if (request.verbosity !== null && request.verbosity !== 'medium') refuse(request, 'verbosity');
}

function refuseWhileReasoning(request: TextRequest): void {
  const { toolChoice, temperature, topP } = request;
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') {
    refuse(request, 'toolChoice', 'this upstream cannot be made to call a tool while it reasons');
  }
  if (temperature !== null && temperature !== 1) {
    refuse(
      request,
      'temperature',
      `must be 1 while this upstream reasons, received ${temperature}`,
    );
  }
  if (topP !== null && topP < LEAST_TOP_P) {
    const least = `must be at least ${LEAST_TOP_P} while this upstream reasons`;
    refuse(request, 'topP', `${least}, received ${topP}`);
  }
}

/** Messages upstreams want to be told how much may be written. */
function limitOf({ maxOutputTokens, reasoning }: TextRequest, target: Target): number {
  const effort = reasoning?.effort ?? 'none';
  const budget = reasoning?.budget ?? budgetOf(effort);
  return maxOutputTokens ?? target.maxOutputTokens ?? Math.max(USUAL_OUTPUT, budget + ROOM);
}

function thinkingOf(request: TextRequest, limit: number): Json | null {
  const { effort = null, budget = null } = request.reasoning ?? {};
  if (budget !== null) return { type: 'enabled', budget_tokens: budget };
  if (effort === null) return null;
  if (effort === 'none') return { type: 'disabled' };
  const tokens = Math.min(budgetOf(effort), limit - 1);
  if (tokens < LEAST_BUDGET) {
    const least = `this upstream reasons with ${LEAST_BUDGET} tokens at least`;
    refuse(request, 'reasoning', `${least}, which an answer of ${limit} leaves no room for`);
  }
  return { type: 'enabled', budget_tokens: tokens };
}

function stopsOf(request: TextRequest, stop: readonly string[]): readonly string[] {
  const blank = stop.findIndex((text) => text.trim() === '');
  if (blank === -1) return stop;
  const path = pathOf(request, 'stop');
  const param = Array.isArray(request.body[path]) ? `${path}[${blank}]` : path;
  throw untranslatable(param, 'messages', 'this upstream does not stop at whitespace alone');
}

function toolChoiceOf(request: TextRequest): Json | null {
  const { toolChoice, parallelToolCalls, tools } = request;
  if (toolChoice?.type === 'native') return refuseNative(toolChoice, 'messages');
  const one = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  switch (toolChoice?.type) {
    case 'tool':
      return { type: 'tool', name: nameOnWire(toolChoice.name), ...one };
    case 'required':
      return { type: 'any', ...one };
    case 'none':
      return tools.length > 0 ? { type: 'none' } : null;
    default: {
      const said = toolChoice !== null || parallelToolCalls === false;
      return said && tools.length > 0 ? { type: 'auto', ...one } : null;
    }
  }
}

function schemaOf(request: TextRequest): Json | null {
  const { format } = request;
  if (format === null || format.type === 'text') return null;
  if (format.type === 'json-schema') return format.schema;
  return refuse(request, 'format', 'this upstream writes JSON by a schema only: use json_schema');
}

function toolOnWire({ name, description, parameters, strict }: Tool): Json {
  return {
    name: nameOnWire(name),
    ...(description && { description }),
    input_schema:
      parameters === null
        ? { type: 'object', properties: {} }
        : 'type' in parameters
          ? parameters
          : { type: 'object', ...parameters },
    ...(strict && { strict }),
  };
}

/** Tools of a request, in the words of messages. */
export function toolsOnWire({ tools }: TextRequest): readonly Json[] {
  return tools.map((tool: Tool | Extract<Part, { readonly type: 'native' }>) =>
    tool.type === 'native' ? refuseNative(tool, 'messages') : toolOnWire(tool),
  );
}
