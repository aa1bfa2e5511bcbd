import * as v from 'valibot';
import type { DeepReadonly } from '../../schema/json.ts';
import { MODEL_TYPES } from '../providers/provider-kind.ts';
import { EFFORTS } from '../settings/models.ts';

const reasoningShape = v.object({
  supported_efforts: v.array(v.picklist(EFFORTS)),
  default_effort: v.nullable(v.picklist(EFFORTS)),
  can_disable: v.boolean(),
});

/** One model in the response of GET /v1/models: OpenAI's fields and further ones. */
export const modelShape = v.object({
  id: v.string(),
  object: v.literal('model'),
  /** The identifier of the configured model, of which `id` may be an alias or a name for its wildcard. */
  root: v.string(),
  aliases: v.array(v.string()),
  /** Seconds since 1970; 0 if the configuration has no date. */
  created: v.number(),
  owned_by: v.string(),
  type: v.picklist(MODEL_TYPES),
  name: v.string(),
  description: v.nullable(v.string()),
  endpoints: v.array(v.string()),
  /** Prices in credits, with decimals. */
  pricing: v.record(v.string(), v.number()),
  /** Prices of requests with more tokens of input than `above`, the smallest first; those left out stay. */
  pricing_tiers: v.array(v.record(v.string(), v.number())),
  /** Limits; null if the configuration sets none. */
  limits: v.record(v.string(), v.nullable(v.number())),
  /** Sizes of the images that the model makes, such as `1024x1024`; null where only the provider knows them. */
  sizes: v.nullable(v.array(v.string())),
  capability_metadata: v.object({ reasoning: reasoningShape }),
});

export type PublishedModel = DeepReadonly<v.InferOutput<typeof modelShape>>;
