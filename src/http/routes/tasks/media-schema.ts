import * as v from 'valibot';
import { listShape } from '../../request/query.ts';

/** The response to the creation of a task. */
export const createdShape = v.object({
  task_id: v.string(),
  status: v.picklist(['pending', 'processing']),
  model: v.string(),
  poll_url: v.string(),
});

/** The callbacks of a task, with every delivery attempt. */
export const callbacksShape = listShape(
  v.object({
    id: v.string(),
    url: v.string(),
    status: v.string(),
    attempts: v.array(
      v.object({
        at: v.number(),
        status: v.nullable(v.number()),
        error: v.nullable(v.string()),
        milliseconds: v.number(),
      }),
    ),
    next_attempt_at: v.nullable(v.number()),
  }),
);

export type CallbackList = v.InferOutput<typeof callbacksShape>;

export const moderationShape = v.looseObject({
  id: v.string(),
  model: v.string(),
  results: v.array(
    v.looseObject({
      flagged: v.boolean(),
      categories: v.record(v.string(), v.boolean()),
      category_scores: v.record(v.string(), v.number()),
    }),
  ),
});

/** The result of an upload. */
export const uploadShape = v.object({ url: v.string() });
