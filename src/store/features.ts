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

/** Features of tools that the provider runs. */
export const HOSTED_TOOLS = [
  'advisor',
  'code_interpreter',
  'computer_use',
  'file_search',
  'image_generation',
  'mcp',
  'web_fetch',
  'web_search',
] as const;

/**
 * Features of text requests that need the permission of the model or of the key: those that tokens do
 * not meter, that run elsewhere, or that read stored data.
 */
export const FEATURES = [
  ...HOSTED_TOOLS,
  'audio',
  'background',
  'betas',
  'compaction',
  'routing',
  'service_tier',
  'unknown',
  ...REFERENCES,
] as const;

/** Features that keys of the account `owner` have at every model, since the owner pays the providers. */
export const OWNER_FEATURES = [
  ...HOSTED_TOOLS,
  'service_tier',
  ...REFERENCES,
] as const satisfies readonly Feature[];

export type Feature = (typeof FEATURES)[number];
