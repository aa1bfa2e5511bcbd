import type {
  DialectName,
  Json,
  Part,
  RequestSetting,
  TextRequest,
  Tool,
} from '../../canonical/canonical.ts';
import { budgetOf, budgetWithin, LEAST_BUDGET } from '../budgets.ts';
import { markedBlock } from '../cache-marks.ts';
import type { Target } from '../dialect.ts';
import { refuseNative, refuseSettings, unsupportedSetting } from '../request-errors.ts';
import { nameOnWire, objectSchema } from '../tool-names.ts';
import { fields } from './fields.ts';

/** Output tokens if neither the client nor the model's configuration has a limit. */
const DEFAULT_OUTPUT = 8192;
/** Output tokens for the answer beside a reasoning budget. */
const ANSWER_TOKENS = 4096;
/** The smallest top_p that Anthropic accepts with reasoning. */
const MIN_TOP_P = 0.95;

/**
 * The settings of a request in the messages format.
 *
 * @throws Failure invalid_request for a setting that messages does not have; `param` names its field
 */
export function settingsOnWire(request: TextRequest, target: Target): Json {
  refuseSettings(request, 'messages');
  const limit = limitOf(request, target);
  const thinking = thinkingOf(request, limit);
  if (thinking?.['type'] === 'enabled') refuseWhileReasoning(request);
  const { temperature } = request;
  if (temperature !== null && temperature > 1) {
    refuse(request, 'temperature', `this upstream accepts at most 1, received ${temperature}`, 1);
  }
  const choice = toolChoiceOf(request);
  const schema = schemaOf(request);
  return {
    ...fields.encodeSettings(request),
    max_tokens: limit,
    ...(choice !== null && { tool_choice: choice }),
    ...(thinking !== null && { thinking }),
    ...(schema !== null && { output_config: { format: { type: 'json_schema', schema } } }),
  };
}

function refuse<Setting extends RequestSetting>(
  request: TextRequest,
  setting: Setting,
  why?: string,
  nearest: TextRequest[Setting] | null = null,
): never {
  throw unsupportedSetting(request, setting, 'messages', why, nearest);
}

function refuseWhileReasoning(request: TextRequest): void {
  const { toolChoice, temperature, topP, topK } = request;
  if (toolChoice?.type === 'required' || toolChoice?.type === 'tool') {
    refuse(request, 'reasoning', 'this upstream cannot reason where it must call a tool');
  }
  if (temperature !== null && temperature !== 1) {
    refuse(
      request,
      'temperature',
      `must be 1 while this upstream reasons, received ${temperature}`,
    );
  }
  if (topK !== null) refuse(request, 'topK', 'cannot be set while this upstream reasons');
  if (topP !== null && topP < MIN_TOP_P) {
    const least = `must be at least ${MIN_TOP_P} while this upstream reasons`;
    refuse(request, 'topP', `${least}, received ${topP}`);
  }
}

/** The token limit, which messages requires. */
function limitOf({ maxOutputTokens, reasoning }: TextRequest, target: Target): number {
  const effort = reasoning?.effort ?? 'none';
  const budget = reasoning?.budget ?? budgetOf(effort);
  return (
    maxOutputTokens ?? target.maxOutputTokens ?? Math.max(DEFAULT_OUTPUT, budget + ANSWER_TOKENS)
  );
}

function thinkingOf(request: TextRequest, limit: number): Json | null {
  const { effort = null, budget = null } = request.reasoning ?? {};
  if (budget !== null) {
    // Clients of messages may interleave reasoning and calls, with a budget for all of their turns.
    if (budget >= limit && request.dialect !== 'messages') {
      const most = budgetWithin(limit);
      const nearest = most === null ? null : { ...request.reasoning!, budget: most };
      const why = `must be below the ${limit} tokens of the answer, received ${budget}`;
      refuse(request, 'reasoning', why, nearest);
    }
    return { type: 'enabled', budget_tokens: budget };
  }
  if (effort === null) return null;
  if (effort === 'none') return { type: 'disabled' };
  const tokens = Math.min(budgetOf(effort), limit - 1);
  if (tokens < LEAST_BUDGET) {
    const least = `this upstream reasons with at least ${LEAST_BUDGET} tokens`;
    refuse(request, 'reasoning', `${least}, more than an answer of ${limit} allows`);
  }
  return { type: 'enabled', budget_tokens: tokens };
}

function toolChoiceOf(request: TextRequest): Json | null {
  const { toolChoice, parallelToolCalls, tools } = request;
  if (toolChoice?.type === 'native') return refuse(request, 'toolChoice');
  const one = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  switch (toolChoice?.type) {
    case 'tool':
      return { type: 'tool', name: nameOnWire(toolChoice.name), ...one };
    case 'required':
      return { type: 'any', ...one };
    case 'none':
      return tools.length > 0 ? { type: 'none' } : null;
    default: {
      const isGiven = toolChoice !== null || parallelToolCalls === false;
      return isGiven && tools.length > 0 ? { type: 'auto', ...one } : null;
    }
  }
}

function schemaOf(request: TextRequest): Json | null {
  const { format } = request;
  if (format === null || format.type === 'text') return null;
  if (format.type === 'json-schema') return format.schema;
  return refuse(request, 'format');
}

function toolOnWire(tool: Tool): Json {
  const { name, description, parameters, strict } = tool;
  const own = {
    name: nameOnWire(name),
    ...(description && { description }),
    input_schema: objectSchema(parameters ?? { properties: {} }),
    ...(strict && { strict }),
  };
  return markedBlock(own, tool);
}

/** The tools of a request in the messages format. @param dialect the upstream's, which refusals name */
export function toolsOnWire({ tools }: TextRequest, dialect: DialectName): readonly Json[] {
  return tools.map((tool: Tool | Extract<Part, { readonly type: 'native' }>) =>
    tool.type === 'native' ? refuseNative(tool, dialect, 'tool') : toolOnWire(tool),
  );
}
