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

export type Feature = (typeof FEATURES)[number];
