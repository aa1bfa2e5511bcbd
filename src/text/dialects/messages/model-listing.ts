import * as v from 'valibot';
import { integer } from '../../../schema/fields.ts';
import type { ModelListing } from '../endpoint.ts';

const entry = v.object({
  type: v.literal('model'),
  id: v.string(),
  display_name: v.string(),
  created_at: v.string(),
});

/** Anthropic's list of models. */
export const modelListing: ModelListing = {
  path: null,
  header: 'anthropic-version',
  types: ['text'],
  query: v.strictObject({
    limit: v.optional(v.pipe(integer(1, 1000), v.description('models of the page'))),
    after_id: v.optional(v.pipe(v.string(), v.description('last_id of the page before'))),
  }),
  entry,
  list: v.object({
    data: v.array(entry),
    has_more: v.boolean(),
    first_id: v.nullable(v.string()),
    last_id: v.nullable(v.string()),
  }),
  entryOf: ({ id, name, created }) => ({
    type: 'model',
    id,
    display_name: name,
    created_at: new Date(created * 1000).toISOString().replace('.000Z', 'Z'),
  }),
  listOf: (data, next) => ({
    data,
    has_more: next !== null,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
  }),
};
