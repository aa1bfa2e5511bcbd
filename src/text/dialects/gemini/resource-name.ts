import type { Target } from '../dialect.ts';

/** The resource name of a model, escaped for a path. A tuned model is named with its collection: `tunedModels/one`. */
export function resourceOf({ model }: Pick<Target, 'model'>): string {
  const name = model.includes('/') ? model : `models/${model}`;
  return name.split('/').map(encodeURIComponent).join('/');
}
