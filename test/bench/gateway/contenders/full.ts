import fastify from 'fastify';
import { chat } from '../formats/chat.ts';
import { body, forward } from './forward.ts';
import { listen, upstreamOf } from './listen.ts';

// The practical limit of a gateway: it parses and checks a request, forwards it, parses the response and
// re-encodes it.

const upstream = upstreamOf(process.argv[2]!);
const server = fastify();
server.post(chat.path, { schema: { body } }, (request, reply) => forward(upstream, request, reply));
await listen(server);
