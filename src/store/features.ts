/** Features that refer to data in a provider's account, which other tenants may share. */
export const REFERENCES = [
  'container',
  'conversation',
  'file_id',
  'item_reference',
  'previous_response_id',
  'prompt',
  'skills',
  'vector_store_ids',
] as const;

/**
 * Features of text requests that need the permission of the model or of the key: those that tokens do
 * not meter, that run elsewhere, or that read stored data.
 */
export const FEATURES = [
  'advisor',
  'audio',
  'background',
  'betas',
  'code_interpreter',
  'compaction',
  'computer_use',
  'file_search',
  'image_generation',
  'mcp',
  'routing',
  'service_tier',
  'unknown',
  'web_fetch',
  'web_search',
  ...REFERENCES,
] as const;

/** Features that keys of the account `owner` have at every model, since the owner pays the providers. */
export const OWNER_FEATURES = [
  'advisor',
  'code_interpreter',
  'computer_use',
  'file_search',
  'image_generation',
  'mcp',
  'service_tier',
  'web_fetch',
  'web_search',
  ...REFERENCES,
] as const satisfies readonly (typeof FEATURES)[number][];

export type Feature = (typeof FEATURES)[number];
