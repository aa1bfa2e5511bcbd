import { readFileSync } from 'node:fs';
import fastify from 'fastify';

// The limit of lookups: a route that responds with a constant object.

const body = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as object;
const server = fastify();
server.get('/v1/tasks/:task_id', async () => body);
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ url, msg: 'ready' })}\n`);
process.once('SIGTERM', () => process.exit());
