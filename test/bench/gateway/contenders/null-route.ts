import fastify from 'fastify';
import { chat } from '../formats/chat.ts';
import { listen } from './listen.ts';

// A route that reads a request and responds with a constant object.

const answer = chat.answer();
const server = fastify();
server.post(chat.path, async () => answer);
await listen(server);
