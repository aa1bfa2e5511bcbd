import { editorSchema, type JsonSchema } from './editor-schema.ts';
import { configSchema } from './schema.ts';

/** The JSON Schema by which editors check a configuration file. */
export function configJsonSchema(): JsonSchema {
  return editorSchema('Oriel configuration', configSchema);
}
