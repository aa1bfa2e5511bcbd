import type { Json, ResponseFormat, Tool } from '../canonical.ts';

// Fields that both of OpenAI's formats have: chat completions and responses.

export const SHARED_LABELS = [
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'user',
] as const;

type JsonSchemaFormat = Extract<ResponseFormat, { readonly type: 'json-schema' }>;

/** The tool that a function describes. @param own valid by its schema */
export function decodeFunction(path: string, own: Json): Tool {
  return {
    type: 'tool',
    path,
    name: own['name'] as string,
    description: (own['description'] ?? null) as string | null,
    parameters: (own['parameters'] ?? null) as Json | null,
    strict: (own['strict'] ?? null) as boolean | null,
  };
}

/** @param own valid by its schema */
export function decodeJsonSchema(own: Json): JsonSchemaFormat {
  return {
    type: 'json-schema',
    name: own['name'] as string,
    description: (own['description'] ?? null) as string | null,
    schema: (own['schema'] ?? {}) as Json,
    strict: (own['strict'] ?? null) as boolean | null,
  };
}

/** @param defaultName both formats require a name, which the messages format does not have */
export function encodeJsonSchema(
  { name, description, schema, strict }: JsonSchemaFormat,
  defaultName: string,
): Json {
  return {
    name: name ?? defaultName,
    ...(description !== null && { description }),
    schema,
    ...(strict !== null && { strict }),
  };
}
