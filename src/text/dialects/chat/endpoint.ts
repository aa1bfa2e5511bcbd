import * as v from 'valibot';
import type { Endpoint } from '../dialect.ts';
import { usageSchema } from '../usage.ts';
import { chatRequest } from './request.ts';

/** Interface part 4.1. */
export const endpoint: Endpoint = {
  path: '/v1/chat/completions',
  // Of Azure's clients.
  aliases: ['/openai/deployments/:model/chat/completions'],
  summary: 'Text in the format of chat completions; with stream, as server-sent events',
  request: chatRequest,
  example: { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] },
  response: v.looseObject({
    id: v.string(),
    object: v.literal('chat.completion'),
    created: v.number(),
    model: v.string(),
    choices: v.array(v.looseObject({})),
    usage: v.optional(usageSchema),
  }),
};
