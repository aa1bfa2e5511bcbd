import fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { sendTogether } from '../../../src/http/transport/end-of-tick.ts';

it('sends all responses of a tick, even if one of them fails', async () => {
  const server = fastify();
  onTestFinished(() => server.close());
  sendTogether(server);
  server.get('/good', async () => ({ all: 'well' }));
  server.get('/bad', async (_request, reply) => {
    reply.header('x-bad', 'a line\nbreak');
    return {};
  });
  server.setErrorHandler((error, _request, reply) => {
    reply.removeHeader('x-bad');
    reply.code(500).send({ error: (error as { code?: string }).code });
  });
  const paths = ['/good', '/bad', '/good', '/bad', '/good'];
  const answers = await Promise.all(paths.map((path) => server.inject(path)));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 500, 200, 500, 200]);
  expect(answers[1]!.json()).toEqual({ error: 'ERR_INVALID_CHAR' });
  expect(answers[4]!.json()).toEqual({ all: 'well' });
});
