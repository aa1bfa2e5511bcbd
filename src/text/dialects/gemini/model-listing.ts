import * as v from 'valibot';
import { integer } from '../../../schema/fields.ts';
import type { ModelListing } from '../endpoint.ts';

const entry = v.object({
  name: v.string(),
  displayName: v.string(),
  description: v.optional(v.string()),
  inputTokenLimit: v.optional(v.number()),
  outputTokenLimit: v.optional(v.number()),
  supportedGenerationMethods: v.array(v.string()),
  thinking: v.boolean(),
});

/** Google's list of models. */
export const modelListing: ModelListing = {
  path: '/v1beta/models',
  header: 'x-goog-api-key',
  types: ['text'],
  query: v.strictObject({
    pageSize: v.optional(v.pipe(integer(0), v.description('models of the page')), 0),
    pageToken: v.optional(
      v.pipe(v.string(), v.description('nextPageToken of the page before')),
      '',
    ),
  }),
  entry,
  list: v.object({ models: v.array(entry), nextPageToken: v.optional(v.string()) }),
  entryOf: ({ id, name, description, limits, capability_metadata: { reasoning } }) => ({
    name: `models/${id}`,
    displayName: name,
    ...(description !== null && { description }),
    ...(limits['context_window'] && { inputTokenLimit: limits['context_window'] }),
    ...(limits['max_output_tokens'] && { outputTokenLimit: limits['max_output_tokens'] }),
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    thinking: reasoning.supported_efforts.some((effort) => effort !== 'none'),
  }),
  listOf: (models, next) => ({ models, ...(next !== null && { nextPageToken: next }) }),
};
