import type { Effort } from '../../../config/settings/models.ts';
import type {
  Json,
  ReasoningRequest,
  ResponseFormat,
  TextRequest,
  Tool,
} from '../../canonical/canonical.ts';
import { budgetOf } from '../budgets.ts';
import type { Target } from '../dialect.ts';
import { dialectNamed } from '../registry.ts';
import { refuseNative, refuseSettings, unsupportedSetting } from '../request-errors.ts';
import { pathOf } from '../request-settings.ts';
import { objectSchema } from '../tool-names.ts';
import { configFields } from './fields.ts';
import { functionNameOnWire } from './function-names.ts';
import { isGemini3 } from './model-names.ts';
import { schemaOnWire } from './schema.ts';

/** The largest seed: Google's are signed integers of 32 bits. */
const MAX_SEED = 2 ** 31;

/**
 * The settings of a request as `generationConfig`.
 *
 * @throws Failure invalid_request for a setting that gemini does not have; `param` names its field
 */
export function generationConfig(request: TextRequest, target: Target): Json {
  refuseSettings(request, 'gemini');
  const { seed, topLogprobs, logprobs } = request;
  if (seed !== null && (seed < -MAX_SEED || seed >= MAX_SEED)) {
    throw unsupportedSetting(
      request,
      'seed',
      'gemini',
      `this upstream takes an integer of 32 bits, received ${seed}`,
    );
  }
  const config = configFields.encodeSettings(request);
  if (logprobs === false) delete config['responseLogprobs'];
  if (topLogprobs !== null && logprobs === true) config['logprobs'] = topLogprobs;
  const thinking = thinkingConfig(request, target);
  if (thinking !== null) config['thinkingConfig'] = thinking;
  return { ...config, ...formatFields(request) };
}

function formatFields(request: TextRequest): Json {
  const { format } = request;
  const responseMimeType = 'application/json';
  if (format?.type === 'json-object') return { responseMimeType };
  if (format?.type !== 'json-schema') return {};
  const responseJsonSchema = schemaOnWire(describedSchema(format), {
    param: pathOf(request, 'format'),
    // A dialect whose schemas have no name has no strictness either: it enforces every schema.
    isEnforced: format.strict ?? format.name === null,
  });
  return { responseMimeType, responseJsonSchema };
}

function describedSchema({
  schema,
  description,
}: Extract<ResponseFormat, { readonly type: 'json-schema' }>): Json {
  return description === null || 'description' in schema ? schema : { description, ...schema };
}

/** How much the model reasons, and whether it shows its thoughts; null where the client does not ask for either. */
function thinkingConfig(request: TextRequest, target: Target): Json | null {
  const { reasoning, dialect } = request;
  if (reasoning === null) return null;
  const { field, isShown } = dialectNamed(dialect).reasoning;
  const isOff = reasoning.effort === 'none' && reasoning.budget === null;
  const isRead = !isOff && (reasoning.summary !== null || field !== null || isShown);
  const depth = depthOf(request, reasoning, target);
  if (Object.keys(depth).length === 0 && !isRead) return null;
  return { ...depth, ...(isRead && { includeThoughts: true }) };
}

/** Gemini 3 reasons by levels, earlier models by budgets; both accept budgets of clients. */
function depthOf(request: TextRequest, reasoning: ReasoningRequest, target: Target): Json {
  const { effort, budget } = reasoning;
  if (budget !== null) return { thinkingBudget: budget };
  if (effort === null) return {};
  if (effort === 'none' || !isGemini3(target.model)) return { thinkingBudget: budgetOf(effort) };
  const level = LEVELS[effort];
  if (level !== undefined) return { thinkingLevel: level };
  throw unsupportedSetting(
    request,
    'reasoning',
    'gemini',
    `the highest level of this upstream is high, received ${effort}`,
    { ...reasoning, effort: 'high' },
  );
}

const LEVELS: Readonly<Partial<Record<Effort, string>>> = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
};

/** The functions of a request as one entry of `tools`. */
export function toolsOnWire({ tools }: TextRequest): readonly Json[] {
  if (tools.length === 0) return [];
  const functionDeclarations = tools.map((tool) =>
    tool.type === 'native' ? refuseNative(tool, 'gemini', 'tool') : declarationOf(tool),
  );
  return [{ functionDeclarations }];
}

function declarationOf({ name, description, parameters, strict, path }: Tool): Json {
  const isEmpty = parameters === null || Object.keys(parameters).length === 0;
  return {
    name: functionNameOnWire(name),
    ...(description !== null && description !== '' && { description }),
    ...(!isEmpty && {
      parametersJsonSchema: schemaOnWire(objectSchema(parameters), {
        param: path,
        isEnforced: strict === true,
      }),
    }),
  };
}

/** Whether the model calls functions, and which of them. */
export function toolConfig(request: TextRequest): Json | null {
  if (request.toolChoice?.type === 'native')
    throw unsupportedSetting(request, 'toolChoice', 'gemini');
  const functionCallingConfig = callingConfig(request);
  return functionCallingConfig === null ? null : { functionCallingConfig };
}

function callingConfig({ toolChoice, tools }: TextRequest): Json | null {
  const isStrict = tools.some((tool) => tool.type === 'tool' && tool.strict === true);
  switch (toolChoice?.type) {
    case 'tool': {
      const { name } = toolChoice as { readonly name: string };
      return { mode: 'ANY', allowedFunctionNames: [functionNameOnWire(name)] };
    }
    case 'required':
      return { mode: 'ANY' };
    case 'none':
      return tools.length > 0 ? { mode: 'NONE' } : null;
    default:
      // In this mode and in ANY the arguments follow the schema.
      if (isStrict) return { mode: 'VALIDATED' };
      return toolChoice !== null && tools.length > 0 ? { mode: 'AUTO' } : null;
  }
}
