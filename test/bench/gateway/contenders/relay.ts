import fastify from 'fastify';
import { listen, upstreamOf } from './listen.ts';

// The limit of relayed streams: bytes are passed on unchanged.

const upstream = upstreamOf(process.argv[2]!);
const server = fastify();
server.post('*', async (request, reply) => {
  const { statusCode, body } = await upstream.request({
    method: 'POST',
    path: request.url,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  reply.code(statusCode).header('content-type', 'text/event-stream');
  return reply.send(body);
});
await listen(server);
