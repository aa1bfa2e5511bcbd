import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import fastify from 'fastify';
import { listen, upstreamOf } from './listen.ts';

// The cost of the least translation: each event of a stream is parsed and re-encoded.

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
  return reply.send(body.pipe(rewritten()));
});
await listen(server);

function rewritten(): Transform {
  const decoder = new StringDecoder();
  let rest = '';
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const lines = (rest + decoder.write(bytes)).split('\n');
      rest = lines.pop()!;
      done(null, lines.map(lineAnew).join(''));
    },
  });
}

function lineAnew(line: string): string {
  if (!line.startsWith('data: {')) return `${line}\n`;
  return `data: ${JSON.stringify(JSON.parse(line.slice(6)))}\n`;
}
