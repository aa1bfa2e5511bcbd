import * as v from 'valibot';
import { editorSchema, type JsonSchema } from '../../config/editor-schema.ts';
import { stepSchema } from '../step.ts';
import { STEPS } from '../steps.ts';
import { recipeSchema } from './schema.ts';

/** The JSON Schema by which editors check a recipe. A step that needs no options may be its name alone. */
export function recipeJsonSchema(): JsonSchema {
  const names = [...STEPS.values()]
    .filter((step) => v.safeParse(stepSchema(step), {}).success)
    .map(({ name }) => name);
  const withNames = (key: string, value: JsonSchema) =>
    key === 'steps' && value.type === 'array'
      ? { ...value, items: { anyOf: [{ enum: names }, value['items']] } }
      : value;
  return JSON.parse(JSON.stringify(editorSchema('Oriel recipe', recipeSchema), withNames));
}
