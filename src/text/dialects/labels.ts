/** Labels that chat completions and responses share word by word. */
export const SHARED_LABELS = [
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'user',
] as const;
