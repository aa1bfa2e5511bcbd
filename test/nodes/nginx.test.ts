import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { freePort } from '../bench/free-port.ts';
import { describeWith } from '../engines/engine.ts';
import { NGINX, startNginx } from '../engines/nginx.ts';
import { listening } from '../fixtures/server.ts';
import { gate } from '../gate.ts';

async function startServer(listener: RequestListener): Promise<{ url: string; server: Server }> {
  // nginx closes idle connections itself: one that the server closes at the same moment counts as a failure.
  const server = createServer({ keepAliveTimeout: 0 }, listener);
  return { url: await listening(server, await freePort()), server };
}

/** nginx in front of three servers with one listener, which gets their number too. */
async function threeBehindNginx(
  listener: (node: number, ...args: Parameters<RequestListener>) => void,
) {
  const nodes = await Promise.all(
    [0, 1, 2].map((node) => startServer((...args) => listener(node, ...args))),
  );
  const nginx = await startNginx(nodes.map(({ url }) => url));
  onTestFinished(() => nginx.close());
  return { url: nginx.url, nodes };
}

/** Requests at once, each on a connection of its own, which any worker process of nginx accepts. */
const ROUND = 30;

describeWith([NGINX], 'config/nodes/nginx.conf', () => {
  test('all worker processes together give each node as many requests', async () => {
    const counts = [0, 0, 0];
    let arrived = 0;
    let round = gate();
    const { url } = await threeBehindNginx(async (node, _request, response) => {
      counts[node]! += 1;
      arrived += 1;
      const { passed, open } = round;
      if (arrived % ROUND === 0) open();
      await passed;
      response.end();
    });
    const ask = async () => (await fetch(url, { headers: { connection: 'close' } })).status;
    for (let number = 1; number <= 10; number += 1) {
      round = gate();
      const statuses = await Promise.all(Array.from({ length: ROUND }, ask));
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(counts).toEqual(counts.map(() => (number * ROUND) / 3));
    }
  });

  test('passes events of a stream before the next one is sent', async () => {
    const read = gate();
    const { url } = await threeBehindNginx(async (_node, _request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      await read.passed;
      return response.end('data: 2\n\n');
    });
    const events: string[] = [];
    const { body } = await fetch(url);
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      events.push(piece);
      read.open();
    }
    expect(events).toEqual(['data: 1\n\n', 'data: 2\n\n']);
  });

  test('passes a WebSocket on, also beyond its first message', async () => {
    const { url, nodes } = await threeBehindNginx(() => {});
    const sockets = new WebSocketServer({ noServer: true });
    for (const { server } of nodes) {
      server.on('upgrade', (...args) =>
        sockets.handleUpgrade(...args, (socket) =>
          socket.on('message', (data) => socket.send(`${data}!`)),
        ),
      );
    }
    const socket = new WebSocket(url.replace('http', 'ws'));
    await once(socket, 'open');
    for (const said of ['one', 'two']) {
      socket.send(said);
      const [answer] = await once(socket, 'message');
      expect(String(answer)).toBe(`${said}!`);
    }
    socket.close();
    await once(socket, 'close');
  });

  test('a node that refuses connections: every POST reaches another one, once', async () => {
    const bodies: string[] = [];
    const { url, nodes } = await threeBehindNginx(async (_node, request, response) => {
      bodies.push(await text(request));
      response.end();
    });
    nodes[1]!.server.closeAllConnections();
    await new Promise((resolve) => {
      nodes[1]!.server.close(resolve);
    });
    const sent = Array.from({ length: 12 }, (_, index) => String(index));
    for (const body of sent) {
      expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
    }
    expect(bodies).toEqual(sent);
  });

  test('a node that ends after it read a POST: 502, and no other node gets the request', async () => {
    const bodies: string[] = [];
    const { url } = await threeBehindNginx(async (_node, request) => {
      bodies.push(await text(request));
      request.socket.destroy();
    });
    expect((await fetch(url, { method: 'POST', body: 'paid' })).status).toBe(502);
    expect(bodies).toEqual(['paid']);
  });
});
