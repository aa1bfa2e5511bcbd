import { isPriced, maxOutputTokensOf, reasoningOf, type TextModel } from '../../config/catalog.ts';
import { EFFORTS, type Effort } from '../../config/models.ts';
import { quoteValue } from '../../schema/fields.ts';
import type {
  ReasoningRequest,
  RequestSetting,
  RequestSettings,
  TextRequest,
} from '../canonical.ts';
import { budgetOf } from '../dialects/budgets.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { invalid } from '../dialects/request-errors.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { checkFixedReasoning, FIXED_SETTINGS } from './fixed-reasoning.ts';

/** Tokens that a default output limit leaves for the answer beside the budget for reasoning. */
const ANSWER_ROOM = 4096;

/** Answers that one request may ask for, as at OpenAI. */
const MAX_CHOICES = 128;

/** A request after the rules of its model, with the settings that they changed. */
export interface RuleResult {
  readonly request: TextRequest;
  readonly changedSettings: readonly RequestSetting[];
}

/**
 * Applies the rules of a model's catalog entry to a request (interface part 4.1).
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
  const { maxOutputTokens, n } = request;
  if (maxOutputTokens !== null && limit !== null && maxOutputTokens > limit) {
    throw invalid(
      pathOf(request, 'maxOutputTokens'),
      `the model ${id} writes at most ${limit} tokens, received ${maxOutputTokens}`,
    );
  }
  if (n !== null && n > MAX_CHOICES) {
    throw invalid('n', `expected an integer from 1 to ${MAX_CHOICES}, received ${n}`);
  }
  const changes: Partial<Record<RequestSetting, unknown>> = {};
  const reasoning = reasoningByRules(request, id, model);
  if (reasoning !== request.reasoning) changes.reasoning = reasoning;
  if (model.rules === 'fixed-reasoning') {
    checkFixedReasoning(request, id);
    for (const setting of FIXED_SETTINGS) if (request[setting] !== null) changes[setting] = null;
    // Rule 2: the upstream takes the limit by its newer name only.
    if (maxOutputTokens !== null) changes.maxOutputTokens = maxOutputTokens;
  }
  const changedSettings = Object.keys(changes) as RequestSetting[];
  // A priced request is sent with a limit, so that the held credits cover its answer.
  if (maxOutputTokens === null && limit === null && isPriced(model)) {
    const { effort = null, budget = null } = reasoning ?? {};
    const thinking = budget ?? budgetOf(effort ?? 'none');
    changes.maxOutputTokens = Math.max(defaultLimit, thinking > 0 ? thinking + ANSWER_ROOM : 0);
  } else if (changedSettings.length === 0) {
    return { request, changedSettings };
  }
  const { hasBudget } = dialectNamed(request.dialect).reasoning;
  return {
    request: { ...request, ...(changes as Partial<RequestSettings>) },
    // A budget stays as the client wrote it: the effort expresses it for other dialects.
    changedSettings: changedSettings.filter((setting) => {
      return setting !== 'reasoning' || reasoning === null || !hasBudget;
    }),
  };
}

/** How much the model reasons: the client's own object where the rules change nothing. */
function reasoningByRules(
  request: TextRequest,
  id: string,
  model: TextModel,
): ReasoningRequest | null {
  const asked = request.reasoning;
  if (asked === null) return null;
  const { supported_efforts: supported, default_effort, can_disable } = reasoningOf(model);
  const path = pathOf(request, 'reasoning');
  const { effort, budget } = asked;
  if (
    effort === 'none' &&
    (supported.length === 0 || (can_disable && !supported.includes('none')))
  ) {
    // A model without reasoning may refuse a request not to reason.
    return supported.length === 0 ? null : asked;
  }
  if (effort !== null) {
    if (supported.includes(effort)) return isAlias(request) ? { ...asked } : asked;
    throw invalid(path, unsupported(id, supported, effort), 'unsupported_reasoning_effort');
  }
  if (budget === null && !isAlias(request)) return asked;
  const efforts = supported.filter((one) => one !== 'none');
  if (efforts.length === 0) {
    throw invalid(path, `the model ${id} does not reason`, 'unsupported_reasoning_effort');
  }
  if (budget !== null) return { ...asked, effort: nearest(efforts, budget) };
  const usual = default_effort !== null && default_effort !== 'none' ? default_effort : null;
  return { ...asked, effort: usual ?? (efforts.includes('medium') ? 'medium' : efforts[0]!) };
}

/** Whether the client asked for reasoning by an alias that upstreams need not know. */
function isAlias({ dialect, body }: TextRequest): boolean {
  return dialectNamed(dialect).reasoning.isAlias?.(body) ?? false;
}

function unsupported(id: string, supported: readonly Effort[], effort: Effort): string {
  if (supported.length === 0)
    return `the model ${id} does not reason, received ${quoteValue(effort)}`;
  return `expected one of ${supported.join(', ')} for the model ${id}, received ${quoteValue(effort)}`;
}

/** The largest effort that a budget pays for; the smallest one where it pays for none. */
function nearest(efforts: readonly Effort[], budget: number): Effort {
  const ascending = EFFORTS.filter((effort) => efforts.includes(effort));
  return ascending.findLast((effort) => budgetOf(effort) <= budget) ?? ascending[0]!;
}
