import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Bytes that came after the head of a request that opens a WebSocket. */
const HEADS = new WeakMap<IncomingMessage, Buffer>();

/** The connection of a request that asks for a WebSocket; null for other requests. */
export function upgradeOf(request: IncomingMessage): { socket: Socket; head: Buffer } | null {
  const head = HEADS.get(request);
  return head === undefined ? null : { socket: request.socket, head };
}

/**
 * Lets one path answer requests for a WebSocket. Its requests pass through the same hooks as all others. Elsewhere the
 * server goes on in HTTP/1.1, as it may: clients of Java ask for HTTP/2 with their first request.
 */
export function acceptUpgrades(server: FastifyInstance, path: string): void {
  const { server: http } = server;
  const [serve] = http.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  const isOurs = ({ method, url = '', headers }: IncomingMessage) =>
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    url.split('?', 1)[0]!.replace(/\/$/, '') === path;
  // Node asks it from 24.9 on; before that, every request with the header comes as an upgrade.
  Object.assign(http, { shouldUpgradeCallback: isOurs });
  http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Node has taken its own listener away.
    socket.on('error', destroy);
    if (!isOurs(request)) {
      socket.unshift(Buffer.concat([plainHead(request), head]));
      serve!.call(http, socket);
      return;
    }
    // Its cookies would let a page of another site use the session.
    delete request.headers.cookie;
    HEADS.set(request, head);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      if (HEADS.has(request)) socket.destroySoon();
    });
    server.routing(request, response);
  });
}

/** Not a closure: it would keep the request for as long as the connection. */
function destroy(this: Socket): void {
  this.destroy();
}

/** Takes the connection from a request whose WebSocket has opened. */
export function detachUpgrade(request: IncomingMessage, response: ServerResponse): void {
  HEADS.delete(request);
  response.detachSocket(request.socket);
}

/** The head of a request as it came, but that the connection asks for no other protocol. */
function plainHead({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    let value = rawHeaders[index + 1]!;
    if (name.toLowerCase() === 'connection') {
      const options = value.split(',').map((option) => option.trim());
      value = options.filter((option) => option.toLowerCase() !== 'upgrade').join(', ');
      if (value === '') continue;
    }
    head += `${name}: ${value}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, 'latin1');
}
