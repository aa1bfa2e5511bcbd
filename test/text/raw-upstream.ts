import { createServer, type Socket } from 'node:net';
import { sharedServer } from '../fixtures/server.ts';

/** Answers one request, whose bytes have all arrived. */
export type Respond = (socket: Socket) => void;

export interface RawUpstream {
  readonly url: string;
  /** Open connections. */
  readonly open: () => number;
  /** Connections so far. */
  readonly made: () => number;
  respondWith(respond: Respond): void;
}

/** A TCP server that knows of HTTP only the end of a request, shared by the tests of a file. */
export function rawUpstream(): () => RawUpstream {
  const sockets = new Set<Socket>();
  let made = 0;
  let respond: Respond = (socket) => socket.destroy();
  const server = createServer((socket) => {
    made += 1;
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head === -1 || text.length < head + 4 + length) return;
      text = text.slice(head + 4 + length);
      respond(socket);
    });
  });
  const url = sharedServer(server);
  return () => ({
    url: url(),
    open: () => sockets.size,
    made: () => made,
    respondWith(next) {
      respond = next;
    },
  });
}

/** A complete answer. */
export function answering(
  status: string,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer = '',
): Respond {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const framed = Object.keys(headers).some((name) =>
    /^(content-length|transfer-encoding)$/i.test(name),
  );
  const length = framed ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return (socket) => {
    socket.write(`HTTP/1.1 ${status}\r\n${lines.join('')}${length}\r\n`);
    socket.write(body);
  };
}

/** Bytes of one write. Writes of a few bytes would keep the process of the tests busier than the reader. */
const WRITE_BYTES = 65_536;

/** The same bytes without end, as fast as the connection accepts them. */
export function endlessly(head: string, bytes: string): Respond {
  const many = Buffer.from(bytes.repeat(Math.ceil(WRITE_BYTES / bytes.length)));
  return (socket) => {
    socket.write(head);
    const more = () => {
      while (!socket.destroyed && socket.write(many));
      if (!socket.destroyed) socket.once('drain', more);
    };
    more();
  };
}
