import fastify from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { AppContext } from '../../../src/http/request/app-context.ts';
import { textRoutes } from '../../../src/http/routes/text/text.ts';
import '../../../src/text/built-in-dialects.ts';
import type { KeyHolder } from '../../../src/store/store.ts';
import type { TextGateway } from '../../../src/text/gateway.ts';

const KEEP_ALIVE_MS = 15_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks for an answer that comes after a silence. */
async function streamOf(path: string): Promise<string> {
  const server = fastify();
  server.setValidatorCompiler(() => (value) => ({ value }));
  server.setSerializerCompiler(() => JSON.stringify);
  server.decorateRequest('holder', { getter: () => ({ account: {}, key: {} }) as KeyHolder });
  const answer: TextGateway['answer'] = async ({ response }) => {
    vi.advanceTimersByTime(KEEP_ALIVE_MS);
    await new Promise(setImmediate);
    vi.advanceTimersByTime(KEEP_ALIVE_MS);
    await new Promise(setImmediate);
    response.write('data: {}\n\n');
    return null;
  };
  const config = { requests: { bodies: 'off' }, responses: { retention: 0 }, models: {} };
  textRoutes(server, { text: { answer }, limits: {}, config } as unknown as AppContext);
  const response = await fetch(`${await server.listen({ port: 0 })}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"stream":true}',
  });
  const text = await response.text();
  await server.close();
  return text;
}

it.each(['/v1/chat/completions', '/v1/responses', '/v1/messages'])(
  '%s sends comments while the answer is silent',
  async (path) => {
    const comments = ': keep-alive\n\n'.repeat(2);
    expect(await streamOf(path)).toBe(`${comments}data: {}\n\n`);
  },
);

it('gemini gets blank lines, since older SDKs of Google fail at comments', async () => {
  const text = await streamOf('/v1beta/models/a:streamGenerateContent');
  expect(text).toBe('\n\n\n\ndata: {}\n\n');
});
