import type { Target } from '../dialect.ts';

/** Models before Gemini 3, such as gemini-2.5-pro and gemini-live-2.5-flash, and Google's other models. */
const EARLIER = /(?:^|\/)(?:gemini-(?:[a-z-]+-)?[12](?:[.-]|$)|gemma-|learnlm-)/i;

/**
 * Whether a model is of Gemini 3 or later: it reasons by levels in place of budgets, requires the signatures
 * of its function calls, and reads media within function responses. Aliases such as gemini-flash-latest
 * are later ones.
 */
export const isGemini3 = (model: string): boolean => !EARLIER.test(model);

/** The resource name of a model, escaped for a path. A tuned model is named with its collection: `tunedModels/one`. */
export function resourceOf({ model }: Pick<Target, 'model'>): string {
  const name = model.includes('/') ? model : `models/${model}`;
  return name.split('/').map(encodeURIComponent).join('/');
}
