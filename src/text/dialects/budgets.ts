import type { Effort } from '../../config/settings/models.ts';

/** Token budgets for providers that take no efforts. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16_384,
};

/** The smallest budget that Anthropic accepts. */
export const LEAST_BUDGET = 1024;

/** Tokens that a budget leaves for the answer, if the limit has room for them. */
const ANSWER_TOKENS = 4096;

/** The highest budget that leaves room for the answer in a limit of tokens; null where the limit is too small to reason in. */
export function budgetWithin(limit: number): number | null {
  const most = limit - Math.min(ANSWER_TOKENS, Math.floor(limit / 2));
  return most < LEAST_BUDGET ? null : most;
}

export const budgetOf = (effort: Effort): number => BUDGETS[effort];
