import * as v from 'valibot';
import { FAILURE_TYPES } from '../../failure.ts';
import { TASK_STATES, TASK_TYPES } from '../../store/task.ts';
import { usageEntries } from './usage-schema.ts';

/** The task creation response of interface part 2.3. */
export const createdShape = v.object({
  task_id: v.string(),
  status: v.picklist(['pending', 'processing']),
  model: v.string(),
  poll_url: v.string(),
});

/** The image result of interface part 2.5. */
export const imagesShape = v.object({
  created: v.number(),
  data: v.array(
    v.object({
      url: v.optional(v.string()),
      b64_json: v.optional(v.string()),
      revised_prompt: v.optional(v.string()),
    }),
  ),
  usage: v.optional(v.object(usageEntries)),
});

const videosShape = v.object({
  status: v.literal('completed'),
  video_url: v.string(),
  urls: v.array(v.string()),
});

const audiosShape = v.object({ audio_url: v.string(), urls: v.array(v.string()) });

/** The task record of interface part 2.4. */
export const taskShape = v.object({
  task_id: v.string(),
  status: v.picklist(TASK_STATES),
  model: v.string(),
  type: v.picklist(TASK_TYPES),
  result: v.nullable(v.union([imagesShape, videosShape, audiosShape])),
  error: v.nullable(
    v.object({
      type: v.picklist(FAILURE_TYPES),
      message: v.string(),
      code: v.nullable(v.string()),
    }),
  ),
});

/** The callbacks of a task, with every delivery attempt. */
export const callbacksShape = v.object({
  object: v.literal('list'),
  data: v.array(
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
  ),
});

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

/** The upload result of interface part 2.9. */
export const uploadShape = v.object({ url: v.string() });
