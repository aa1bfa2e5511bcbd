import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { controllerOf, deferred, listening, open, textOf, turns, upstream } from './servers.ts';

describe('an aborted upstream request', () => {
  async function pending(headers: boolean) {
    const heard = deferred<Socket>();
    const { url } = await listening((request, response) => {
      if (headers) response.write('data');
      heard.resolve(request.socket);
    });
    return { url, heard: heard.promise };
  }

  it('aborted by its signal before the response closes the connection at once', async () => {
    const { url, heard } = await pending(false);
    const { signal, ...controller } = controllerOf();
    const opening = open(url, { signal });
    const socket = await heard;
    const closed = once(socket, 'close');
    controller.abort();
    await expect(opening).rejects.toMatchObject({ type: 'network_error', code: 'aborted' });
    await closed;
  });

  it.each(['signal', 'exchange'])(
    'aborted by its %s during the response closes the connection at once',
    async (by) => {
      const { url, heard } = await pending(true);
      const { signal, ...controller } = controllerOf();
      const exchange = await open(url, { signal });
      const reading = exchange.read(() => true);
      const closed = once(await heard, 'close');
      if (by === 'signal') controller.abort();
      else exchange.abort();
      exchange.abort();
      await expect(reading).rejects.toMatchObject({ type: 'network_error', code: 'aborted' });
      await closed;
    },
  );

  it('aborted while its reader pauses closes the connection at once', async () => {
    const { url, heard } = await pending(true);
    const exchange = await open(url);
    const reading = exchange.read(() => {
      exchange.abort();
      return false;
    });
    await expect(reading).rejects.toMatchObject({ code: 'aborted' });
    exchange.resume();
    await once(await heard, 'close');
  });

  it.each(['identity', 'gzip'])(
    'aborted after the whole %s body arrived rejects for a paused reader',
    async (encoding) => {
      const text = Buffer.alloc(300_000, 'a');
      const { url } = await listening((_, response) =>
        response
          .writeHead(200, { 'content-encoding': encoding })
          .end(encoding === 'gzip' ? gzipSync(text) : text.subarray(0, 1000)),
      );
      const { signal, ...controller } = controllerOf();
      const exchange = await open(url, { signal });
      await turns();
      const paused = deferred<void>();
      const reading = exchange.read(() => {
        paused.resolve();
        return false;
      });
      await paused.promise;
      await turns();
      controller.abort();
      await expect(reading).rejects.toMatchObject({ code: 'aborted' });
    },
  );

  it('aborted before the body is read rejects the later read', async () => {
    const { url } = await pending(true);
    const exchange = await open(url);
    exchange.abort();
    await expect(exchange.read(() => true)).rejects.toMatchObject({ code: 'aborted' });
  });

  it('with an aborted signal sends nothing', async () => {
    let heard = 0;
    const { url } = await listening((_, response) => {
      heard += 1;
      response.end();
    });
    await expect(open(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    const { signal, ...controller } = controllerOf();
    const opening = open(url, { signal });
    controller.abort();
    await expect(opening).rejects.toMatchObject({ code: 'aborted' });
    await textOf(await open(url));
    expect(heard).toBe(1);
  });

  it('rejects with the reason of the abort where that is a Failure', async () => {
    const { url, heard } = await pending(false);
    const { signal, ...controller } = controllerOf();
    const opening = open(url, { signal });
    await heard;
    const reason = new Failure('service_error', 'The gateway is stopping');
    controller.abort(reason);
    await expect(opening).rejects.toBe(reason);
  });

  it('aborted after its end keeps the connection open', async () => {
    const ports = new Set<number>();
    const { url } = await listening((request, response) => {
      ports.add(request.socket.remotePort!);
      response.end('ok');
    });
    const by = upstream();
    for (let count = 0; count < 3; count += 1) {
      const { signal, ...controller } = controllerOf();
      const exchange = await open(url, { signal }, by);
      await textOf(exchange);
      exchange.abort();
      controller.abort();
      await turns();
    }
    expect(ports.size).toBe(1);
  });

  it('rejects when the client is closed', async () => {
    const { url, heard } = await pending(true);
    const by = upstream();
    const exchange = await open(url, {}, by);
    const reading = exchange.read(() => true);
    const closed = once(await heard, 'close');
    await Promise.all([
      expect(reading).rejects.toMatchObject({ code: 'aborted' }),
      by.close(),
      closed,
    ]);
    await expect(open(url, {}, by)).rejects.toMatchObject({ code: 'aborted' });
  });
});
