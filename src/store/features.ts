/** Names of things that are stored in a provider's account, which other tenants may share. */
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
 * What a text request may only ask a provider for where its model or its key allows it: what is not
 * metered by tokens, runs somewhere else, or reads what is stored.
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
