import fastify from 'fastify';
import { listen, upstreamOf } from './listen.ts';

// A proxy that reads nothing: bytes in, bytes out.

const upstream = upstreamOf(process.argv[2]!);
const server = fastify();
server.removeAllContentTypeParsers();
server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
  done(null, body);
});
server.post<{ Body: Buffer }>('*', async (request, reply) => {
  const { statusCode, headers, body } = await upstream.request({
    method: 'POST',
    path: request.url,
    headers: { 'content-type': 'application/json' },
    body: request.body,
  });
  reply.code(statusCode).header('content-type', headers['content-type']);
  return Buffer.from(await body.arrayBuffer());
});
await listen(server);
