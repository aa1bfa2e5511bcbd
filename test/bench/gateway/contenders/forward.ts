import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool } from 'undici';
import { chat } from '../formats/chat.ts';

const text = { type: 'string' };

/** What a chat request must have, as a JSON Schema. */
export const body = {
  type: 'object',
  required: ['model', 'messages'],
  properties: {
    model: text,
    messages: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['role'],
        properties: {
          role: { enum: ['system', 'developer', 'user', 'assistant', 'tool'] },
          content: { anyOf: [text, { type: 'array' }, { type: 'null' }] },
        },
      },
    },
    max_tokens: { type: 'integer', minimum: 1 },
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    stream: { type: 'boolean' },
  },
};

/** Sends a request to the upstream again and parses the answer. */
export async function forward(
  upstream: Pool,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const answer = await upstream.request({
    method: 'POST',
    path: chat.path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  reply.code(answer.statusCode);
  return answer.body.json();
}
