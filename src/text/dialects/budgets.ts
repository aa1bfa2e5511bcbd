import type { Effort } from '../../config/models.ts';

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

export function budgetOf(effort: Effort): number {
  return BUDGETS[effort];
}
