import fastify from 'fastify';
import { AppendLog, lineOf } from '../../store/contenders/append-log.ts';

// The limits of accepting tasks: a route that parses a body and responds with 202, at once, or if a file and the
// length of a line are given, once a line is on disk.

const [file, length = '0'] = process.argv.slice(2);
const log = file === undefined ? undefined : await AppendLog.open(file);
const line = lineOf(Number(length));

const server = fastify();
server.get('/', async () => 'ready');
server.post('/v1/images/generations', async (request, reply) => {
  const { model } = request.body as { model: string };
  await log?.append(line);
  reply.code(202);
  const task_id = 'task_00000000000000000000000000';
  return { task_id, status: 'pending', model, poll_url: `/v1/tasks/${task_id}` };
});
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ url, msg: 'ready' })}\n`);
process.once('SIGTERM', () => process.exit());
