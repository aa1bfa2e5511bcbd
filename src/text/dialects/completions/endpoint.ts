import * as v from 'valibot';
import type { Endpoint } from '../dialect.ts';
import { usageSchema } from '../usage.ts';
import { completionsRequest } from './request.ts';

export const endpoint: Endpoint = {
  path: '/v1/completions',
  summary: "Text in OpenAI's legacy format of completions; with stream, as server-sent events",
  request: completionsRequest,
  example: { model: 'sandbox-chat', prompt: 'Hello' },
  response: v.looseObject({
    id: v.string(),
    object: v.literal('text_completion'),
    created: v.number(),
    model: v.string(),
    choices: v.array(
      v.looseObject({
        index: v.number(),
        text: v.string(),
        logprobs: v.null(),
        finish_reason: v.picklist(['stop', 'length', 'content_filter']),
      }),
    ),
    usage: v.optional(usageSchema),
  }),
};
