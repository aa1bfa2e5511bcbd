import * as v from 'valibot';
import type { Endpoint } from '../dialect.ts';
import { usageSchema } from '../usage.ts';
import { responsesRequest } from './request.ts';

/** Interface part 4.2. */
export const endpoint: Endpoint = {
  path: '/v1/responses',
  summary: 'Text in the format of responses; with stream, as server-sent events',
  request: responsesRequest,
  example: { model: 'sandbox-chat', input: 'Hello' },
  response: v.looseObject({
    id: v.string(),
    object: v.literal('response'),
    status: v.string(),
    model: v.string(),
    output: v.array(v.looseObject({})),
    created_at: v.optional(v.number()),
    output_text: v.optional(v.string()),
    usage: v.nullish(usageSchema),
  }),
};
