import * as v from 'valibot';
import type { Endpoint } from '../dialect.ts';
import { messagesRequest } from './request.ts';

/** Interface part 4.3. */
export const endpoint: Endpoint = {
  path: '/v1/messages',
  summary: 'Text in the format of messages; with stream, as server-sent events',
  request: messagesRequest,
  example: {
    model: 'sandbox-chat',
    max_tokens: 200,
    messages: [{ role: 'user', content: 'Hello' }],
  },
  response: v.looseObject({
    id: v.string(),
    type: v.literal('message'),
    role: v.literal('assistant'),
    model: v.string(),
    content: v.array(v.looseObject({})),
    stop_reason: v.nullable(v.string()),
    stop_sequence: v.nullable(v.string()),
    usage: v.looseObject({ input_tokens: v.number(), output_tokens: v.number() }),
  }),
};
