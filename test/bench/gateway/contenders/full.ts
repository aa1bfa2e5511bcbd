import fastify from 'fastify';
import { chat } from '../formats/chat.ts';
import { listen, upstreamOf } from './listen.ts';

// The practical limit of a gateway: it parses and checks a request, forwards it, parses the response and
// re-encodes it.

const upstream = upstreamOf(process.argv[2]!);
const text = { type: 'string' };
const body = {
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
const server = fastify();
server.post(chat.path, { schema: { body } }, async (request, reply) => {
  const answer = await upstream.request({
    method: 'POST',
    path: chat.path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  reply.code(answer.statusCode);
  return answer.body.json();
});
await listen(server);
