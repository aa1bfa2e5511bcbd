import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Pool } from 'undici';
import { chat } from '../formats.ts';

// Minimal gateways: `gateway.js KIND UPSTREAM` listens, and logs its URL as the benchmark expects it.

const text = { type: 'string' };

/** What a chat request must have, as a JSON Schema. */
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

/** Kept connections to the upstream, as many as the largest load here has. */
const upstream = new Pool(process.argv[3]!, { connections: 128 });

const post = (path: string, content: string | Buffer) =>
  upstream.request({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: content,
  });

/** Sends a request to the upstream again and parses the answer. */
async function forward(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const answer = await post(chat.path, JSON.stringify(request.body));
  reply.code(answer.statusCode);
  return answer.body.json();
}

/** Passes a stream on, perhaps through a transformation. */
function relay(server: FastifyInstance, transformation?: () => Transform): void {
  server.post('*', async (request, reply) => {
    const { statusCode, body } = await post(request.url, JSON.stringify(request.body));
    reply.code(statusCode).header('content-type', 'text/event-stream');
    return reply.send(transformation ? body.pipe(transformation()) : body);
  });
}

const KINDS: Readonly<Record<string, (server: FastifyInstance) => void | Promise<void>>> = {
  /** A route that reads a request and responds with a constant object. */
  'null-route': (server) => {
    const answer = chat.answer();
    server.post(chat.path, async () => answer);
  },

  /** A proxy that reads nothing: bytes in, bytes out. */
  bytes: (server) => {
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, content, done) => {
      done(null, content);
    });
    server.post<{ Body: Buffer }>('*', async (request, reply) => {
      const { statusCode, headers, body } = await post(request.url, request.body);
      reply.code(statusCode).header('content-type', headers['content-type']);
      return Buffer.from(await body.arrayBuffer());
    });
  },

  /**
   * The practical limit of a gateway: it parses and checks a request, forwards it, parses the response and
   * re-encodes it.
   */
  full: (server) => {
    server.post(chat.path, { schema: { body } }, forward);
  },

  /** The limit of relayed streams: bytes are passed on unchanged. */
  relay: (server) => relay(server),

  /** The cost of the least translation: each event of a stream is parsed and re-encoded. */
  'relay-parsed': (server) => relay(server, rewritten),
};

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

const server = fastify();
await KINDS[process.argv[2]!]!(server);
server.get('/', async () => 'ready');
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ url, msg: 'ready' })}\n`);
process.once('SIGTERM', () => process.exit());
