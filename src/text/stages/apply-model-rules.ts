import {
  isPriced,
  maxOutputTokensOf,
  reasoningOf,
  type TextModel,
} from '../../config/catalog/catalog.ts';
import { EFFORTS, type Effort } from '../../config/settings/models.ts';
import { quoteValue } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import type {
  ReasoningRequest,
  RequestSetting,
  RequestSettings,
  TextRequest,
} from '../canonical/canonical.ts';
import { budgetOf, budgetWithin } from '../dialects/budgets.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { checkFixedReasoning, FIXED_SETTINGS } from '../policy/fixed-reasoning.ts';
import { drops } from '../policy/unsupported.ts';
import type { Stage } from './stage.ts';

/** Changes settings that the model does not support, or refuses them. */
export const applyModelRules: Stage = (execution) => {
  const { modelId, model, config } = execution;
  const ruled = applyRules(execution.request, modelId, model, config.billing.maxOutputTokens);
  execution.request = ruled.request;
  execution.changedSettings = ruled.changedSettings;
  execution.omit({ dropped: ruled.clamped });
};

/** Tokens that a default output limit leaves for the answer beside the budget for reasoning. */
const ANSWER_ROOM = 4096;

/** Answers that one request may ask for, as at OpenAI. */
const MAX_CHOICES = 128;

/** A request after the rules of its model, with the settings that they changed. */
export interface RuleResult {
  readonly request: TextRequest;
  readonly changedSettings: readonly RequestSetting[];
  /** Paths of values beyond the model's limits, in place of which it is sent the nearest ones. */
  readonly clamped: readonly string[];
}

/**
 * Applies the rules of a model's catalog entry to a request. Values beyond its limits are clamped, since clients do not
 * know the limits of every model: `onUnsupported: refuse` refuses them instead, and chat completions refuse efforts
 * that the model does not support.
 *
 * @param id the model's public identifier
 * @param defaultLimit tokens of output where neither the client nor a model with a price sets a limit
 * @throws Failure invalid_request that names the field, and what the model supports
 */
export function applyRules(
  request: TextRequest,
  id: string,
  model: TextModel,
  defaultLimit: number,
): RuleResult {
  const limit = maxOutputTokensOf(model);
  const { n } = request;
  let { maxOutputTokens } = request;
  const changes: Partial<Record<RequestSetting, unknown>> = {};
  const clamped: string[] = [];
  if (maxOutputTokens !== null && limit !== null && maxOutputTokens > limit) {
    const path = pathOf(request, 'maxOutputTokens');
    // By default, models with fixed reasoning refuse a limit above theirs.
    if (!drops(model.onUnsupported, path, model.rules === undefined)) {
      throw invalid(
        path,
        `the model ${id} writes at most ${limit} tokens, received ${maxOutputTokens}`,
      );
    }
    maxOutputTokens = limit;
    changes.maxOutputTokens = limit;
    clamped.push(path);
  }
  if (n !== null && n > MAX_CHOICES) {
    throw invalid('n', `expected an integer from 1 to ${MAX_CHOICES}, received ${n}`);
  }
  const ruled = reasoningByRules(request, id, model);
  const isOwnLimit = maxOutputTokens !== null && clamped.length === 0;
  const reasoning = isOwnLimit
    ? ruled.reasoning
    : withinLimit(ruled.reasoning, maxOutputTokens ?? limit);
  const isClamped = ruled.isClamped || reasoning !== ruled.reasoning;
  if (isClamped) {
    const path = pathOf(request, 'reasoning');
    if (!drops(model.onUnsupported, path, true)) {
      throw invalid(path, `the model ${id} writes at most ${limit} tokens, its reasoning included`);
    }
    clamped.push(path);
  }
  if (reasoning !== request.reasoning) changes.reasoning = reasoning;
  if (model.rules === 'fixed-reasoning') {
    checkFixedReasoning({ ...request, reasoning }, id);
    for (const setting of FIXED_SETTINGS) if (request[setting] !== null) changes[setting] = null;
    // The upstream takes the limit by its newer name only.
    if (maxOutputTokens !== null) changes.maxOutputTokens = maxOutputTokens;
  }
  const changedSettings = Object.keys(changes) as RequestSetting[];
  // A priced request is sent with a limit, so that the held credits cover its answer.
  if (maxOutputTokens === null && limit === null && isPriced(model)) {
    const { effort = null, budget = null } = reasoning ?? {};
    const thinking = budget ?? budgetOf(effort ?? 'none');
    changes.maxOutputTokens = Math.max(defaultLimit, thinking > 0 ? thinking + ANSWER_ROOM : 0);
  } else if (changedSettings.length === 0) {
    return { request, changedSettings, clamped };
  }
  const { hasBudget } = dialectNamed(request.dialect).reasoning;
  return {
    request: { ...request, ...(changes as Partial<RequestSettings>) },
    // A budget stays as the client wrote it: the effort expresses it for other dialects.
    changedSettings: changedSettings.filter((setting) => {
      return setting !== 'reasoning' || reasoning === null || isClamped || !hasBudget;
    }),
    clamped,
  };
}

/** How much the model reasons. */
interface RuledReasoning {
  /** The client's own object where the rules change nothing. */
  readonly reasoning: ReasoningRequest | null;
  /** Whether the model does not support what the client asked for. */
  readonly isClamped: boolean;
}

function reasoningByRules(request: TextRequest, id: string, model: TextModel): RuledReasoning {
  const asked = request.reasoning;
  const as = (reasoning: ReasoningRequest | null, isClamped = false) => ({ reasoning, isClamped });
  if (asked === null) return as(null);
  const { supported_efforts: supported, default_effort, can_disable } = reasoningOf(model);
  const { effort, budget } = asked;
  if (
    effort === 'none' &&
    (supported.length === 0 || (can_disable && !supported.includes('none')))
  ) {
    // A model without reasoning may refuse a request not to reason.
    return as(supported.length === 0 ? null : asked);
  }
  const efforts = EFFORTS.filter((one) => one !== 'none' && supported.includes(one));
  const path = pathOf(request, 'reasoning');
  const clamp = (why: string, nearest: () => ReasoningRequest): RuledReasoning => {
    const { refusesEfforts = false } = dialectNamed(request.dialect).reasoning;
    if (!drops(model.onUnsupported, path, !refusesEfforts)) {
      throw invalid(path, why, 'unsupported_reasoning_effort');
    }
    return as(efforts.length === 0 ? null : nearest(), true);
  };
  if (effort !== null) {
    if (supported.includes(effort)) return as(isAlias(request) ? { ...asked } : asked);
    return clamp(unsupported(id, supported, effort), () => ({
      ...asked,
      effort: highestWithin(efforts, EFFORTS.indexOf(effort), (one) => EFFORTS.indexOf(one)),
    }));
  }
  if (budget === null && !isAlias(request)) return as(asked);
  if (efforts.length === 0) return clamp(`the model ${id} does not reason`, () => asked);
  if (budget !== null) {
    return as({ ...asked, effort: highestWithin(efforts, budget, budgetOf) });
  }
  const usual = default_effort !== null && default_effort !== 'none' ? default_effort : null;
  return as({ ...asked, effort: usual ?? (efforts.includes('medium') ? 'medium' : efforts[0]!) });
}

/**
 * Reasoning whose budget leaves room for the answer in the model's limit of tokens, which providers require; null
 * where the limit is too small to reason in.
 */
function withinLimit(
  reasoning: ReasoningRequest | null,
  limit: number | null,
): ReasoningRequest | null {
  const budget = reasoning?.budget ?? null;
  if (limit === null || budget === null || budget < limit) return reasoning;
  const most = budgetWithin(limit);
  return most === null ? null : { ...reasoning!, budget: most };
}

/** Whether the client asked for reasoning by an alias that upstreams need not know. */
function isAlias({ dialect, body }: TextRequest): boolean {
  return dialectNamed(dialect).reasoning.isAlias?.(body) ?? false;
}

function unsupported(id: string, supported: readonly Effort[], effort: Effort): string {
  if (supported.length === 0)
    return `the model ${id} does not reason by this server's settings (models.${id}.reasoning), received ${quoteValue(effort)}`;
  return `expected one of ${supported.join(', ')} for the model ${id}, received ${quoteValue(effort)}`;
}

/** The highest of some efforts within a limit; the lowest where none is. @param efforts the lowest first */
function highestWithin(
  efforts: readonly Effort[],
  limit: number,
  of: (effort: Effort) => number,
): Effort {
  return efforts.findLast((effort) => of(effort) <= limit) ?? efforts[0]!;
}
