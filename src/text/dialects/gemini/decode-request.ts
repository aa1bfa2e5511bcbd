import { EFFORTS, type Effort } from '../../../config/settings/models.ts';
import { checkedBody } from '../../../schema/body.ts';
import { invalid } from '../../../schema/invalid.ts';
import { isObject } from '../../../schema/untrusted.ts';
import {
  functionOf,
  type Json,
  type NativePart,
  type ReasoningRequest,
  type RequestSettings,
  type ResponseFormat,
  type TextRequest,
  type Tool,
  type ToolChoice,
} from '../../canonical/canonical.ts';
import type { RequestAddress } from '../endpoint.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { decodeTurns } from './decode-turns.ts';
import { inCamelCase } from './field-names.ts';
import { configFields, fields, type GeminiRequest, toolConfigFields } from './fields.ts';
import { fromOpenApi } from './openapi-schema.ts';

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeRequest(value: unknown, address?: RequestAddress): TextRequest {
  const body: GeminiRequest = checkedBody(fields.schema, inCamelCase(value));
  const stream = address?.stream === true;
  if (stream && (body.generationConfig?.candidateCount ?? 1) > 1) {
    throw invalid(
      'generationConfig.candidateCount',
      'streams have one candidate: use generateContent for several',
    );
  }
  const findings: Findings = { native: [], advice: [] };
  collectAll(body, findings);
  return Object.assign(settingsOf(body), {
    dialect: 'gemini' as const,
    body: body as Json,
    model: address?.model ?? '',
    stream,
    includeUsage: true,
    turns: decodeTurns(body, findings.advice),
    tools: toolsOf(body),
    ...findings,
  });
}

type Config = NonNullable<GeminiRequest['generationConfig']>;
type Calling = NonNullable<NonNullable<GeminiRequest['toolConfig']>['functionCallingConfig']>;

const CHOICE_PATH = 'toolConfig.functionCallingConfig';

/** The single values of a request. */
export function settingsOf({ generationConfig, toolConfig }: GeminiRequest): RequestSettings {
  const config: Config = generationConfig ?? {};
  const calling = toolConfig?.functionCallingConfig;
  return Object.assign(configFields.decodeSettings(config), {
    toolChoice: calling ? toolChoiceOf(calling) : null,
    topLogprobs: config.logprobs ?? null,
    format: formatOf(config),
    reasoning: reasoningOf(config),
  });
}

function toolChoiceOf({ mode, allowedFunctionNames: names, ...rest }: Calling): ToolChoice | null {
  const allowed = (kind: 'auto' | 'required'): ToolChoice => ({
    type: 'allowed',
    mode: kind,
    tools: (names ?? []).map((name) => ({
      type: 'tool',
      name,
      namespace: null,
      value: { name },
      members: [],
    })),
  });
  const [unknown] = Object.keys(rest).filter((name) => rest[name]);
  if (unknown !== undefined) return nativePart('gemini', `${CHOICE_PATH}.${unknown}`, rest);
  const [first, second] = names ?? [];
  switch (mode ?? 'MODE_UNSPECIFIED') {
    case 'ANY':
      if (second !== undefined) return allowed('required');
      return first === undefined ? { type: 'required' } : { type: 'tool', name: first };
    case 'NONE':
      return { type: 'none' };
    case 'AUTO':
    case 'VALIDATED':
      return first === undefined ? { type: 'auto' } : allowed('auto');
    default:
      return first === undefined ? null : allowed('auto');
  }
}

function formatOf(config: Config): ResponseFormat | null {
  const { responseMimeType, responseSchema, responseJsonSchema } = config;
  const about = { type: 'json-schema', name: null, description: null, strict: null } as const;
  if (responseJsonSchema) return { ...about, schema: responseJsonSchema as Json };
  if (responseSchema) return { ...about, schema: fromOpenApi(responseSchema as Json) };
  return responseMimeType === 'application/json' ? { type: 'json-object' } : null;
}

function reasoningOf({ thinkingConfig }: Config): ReasoningRequest | null {
  if (!thinkingConfig) return null;
  const { thinkingBudget, thinkingLevel, includeThoughts } = thinkingConfig;
  const summary = includeThoughts === true ? 'auto' : null;
  if (thinkingBudget === 0) return { effort: 'none', budget: null, summary };
  if (thinkingBudget && thinkingBudget > 0)
    return { effort: null, budget: thinkingBudget, summary };
  const level = thinkingLevel?.toLowerCase() as Effort | undefined;
  if (level && EFFORTS.includes(level)) return { effort: level, budget: null, summary };
  return summary === null ? null : { effort: null, budget: null, summary };
}

/** The functions of a request, and tools that Google runs. */
function toolsOf({ tools, toolConfig }: GeminiRequest): readonly (Tool | NativePart)[] {
  const mode = toolConfig?.functionCallingConfig?.mode;
  return (tools ?? []).flatMap((tool, index): (Tool | NativePart)[] => {
    const path = `tools[${index}]`;
    const { functionDeclarations, ...hosted } = tool;
    const native = Object.keys(hosted).flatMap((name) =>
      isObject(hosted[name]) ? [nativePart('gemini', `${path}.${name}`, hosted[name])] : [],
    );
    const declared = (functionDeclarations ?? []).map((own, number): Tool | NativePart => {
      const at = `${path}.functionDeclarations[${number}]`;
      const { name, description, parameters, parametersJsonSchema, ...others } = own;
      const { response, responseJsonSchema, ...rest } = others;
      const [unknown] = Object.keys(rest).filter((key) => rest[key] !== null);
      if (unknown !== undefined) return nativePart('gemini', `${at}.${unknown}`, own);
      const schema = parametersJsonSchema ?? (parameters ? fromOpenApi(parameters) : null);
      const result = responseJsonSchema ?? (response && fromOpenApi(response));
      const strict = mode === 'VALIDATED' ? true : null;
      return functionOf(at, { name, description, parameters: schema, strict }, result);
    });
    return [...declared, ...native];
  });
}

/** Collects the fields of a request that the canonical request does not hold. */
function collectAll(body: GeminiRequest, findings: Findings): void {
  const { generationConfig: config, toolConfig } = body;
  collectRest('gemini', fields, body, '', findings);
  if (config) collectRest('gemini', configFields, config, 'generationConfig', findings);
  if (toolConfig) collectRest('gemini', toolConfigFields, toolConfig, 'toolConfig', findings);
}
