import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { publishModel, publishModels } from '../../config/catalog.ts';
import { EFFORTS } from '../../config/models.ts';
import type { AppContext } from '../app-context.ts';

const modelShape = v.object({
  id: v.string(),
  object: v.literal('model'),
  root: v.string(),
  aliases: v.array(v.string()),
  created: v.number(),
  owned_by: v.string(),
  type: v.picklist(['text', 'embedding', 'image', 'video', 'audio', 'moderation']),
  name: v.string(),
  description: v.nullable(v.string()),
  endpoints: v.array(v.string()),
  pricing: v.record(v.string(), v.number()),
  pricing_tiers: v.array(v.record(v.string(), v.number())),
  limits: v.record(v.string(), v.nullable(v.number())),
  capability_metadata: v.object({
    reasoning: v.object({
      supported_efforts: v.array(v.picklist(EFFORTS)),
      default_effort: v.nullable(v.picklist(EFFORTS)),
      can_disable: v.boolean(),
    }),
  }),
});

/** The catalog (interface part 4.9): the models that the API key may use. */
export function modelRoutes(context: AppContext): FastifyPluginAsync {
  return async (server) => {
    server.get('/v1/models', {
      schema: {
        summary: 'The models that the key may use, with prices, limits and reasoning efforts',
        tags: ['Models'],
        response: { 200: v.object({ object: v.literal('list'), data: v.array(modelShape) }) },
      },
      handler: async ({ holder }) => publishModels(context.config, holder.key.models),
    });

    // A wildcard, since model ids may have slashes.
    server.get<{ Params: { '*': string } }>('/v1/models/*', {
      schema: {
        summary: 'One model',
        tags: ['Models'],
        params: v.object({ id: v.pipe(v.string(), v.description('the id of the model')) }),
        response: { 200: modelShape },
      },
      handler: async ({ holder, params }) =>
        publishModel(context.config, params['*'], holder.key.models),
    });
  };
}
