import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { postJson } from '../src/upstream.ts';

async function listening(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const OPTIONS = { timeout: 30_000 };

it('sends JSON with its headers and gives the answer of any status', async () => {
  const { url } = await listening(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { method, headers } = request;
    const heard = [method, request.url, headers['content-type'], headers.authorization, text];
    response.writeHead(418).end(JSON.stringify(heard));
  });
  const headers = { authorization: 'Bearer key' };
  expect(await postJson(`${url}/path`, { prompt: 'é' }, { ...OPTIONS, headers })).toEqual({
    status: 418,
    body: ['POST', '/path', 'application/json', 'Bearer key', '{"prompt":"é"}'],
  });
});

it.each(['', 'Bad gateway', '{"half":'])('gives no body where it is %j', async (text) => {
  const { url } = await listening((_, response) => response.end(text));
  expect(await postJson(url, {}, OPTIONS)).toEqual({ status: 200, body: undefined });
});

it('tells that nobody can have heard', async () => {
  const { url, server } = await listening(() => {});
  server.close();
  await expect(postJson(url, {}, OPTIONS)).rejects.toMatchObject({
    type: 'network_error',
    code: 'unreachable',
  });
});

it('tells that somebody may have heard, and asks once only', async () => {
  let heard = 0;
  const { url } = await listening((request) => {
    heard += 1;
    request.socket.destroy();
  });
  await expect(postJson(url, {}, OPTIONS)).rejects.toMatchObject({
    type: 'network_error',
    code: 'connection_lost',
  });
  expect(heard).toBe(1);
});

it('tells that an answer broke off', async () => {
  const { url } = await listening((request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"begun":');
    setImmediate(() => request.socket.destroy());
  });
  await expect(postJson(url, {}, OPTIONS)).rejects.toMatchObject({ code: 'connection_lost' });
});

it('does not wait longer than it is told to', async () => {
  const { url } = await listening(() => {});
  await expect(postJson(url, {}, { timeout: 50 })).rejects.toMatchObject({
    type: 'timeout',
    code: 'total_timeout',
  });
});
