import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type OpenServer, openServer } from '../fixtures/open-server.ts';

/** An HTTP proxy that only tunnels, and only for one user. */
/** Its URL has no credentials. */
export interface ConnectProxy extends OpenServer {
  /** Targets of CONNECT requests so far: `host:port`. */
  readonly targets: string[];
  /** Requests other than CONNECT. */
  readonly others: string[];
}

const PROXY_USER = 'gateway';
/** With characters that a URL escapes. */
export const PROXY_PASSWORD = 'p@ss/5ecre7:word';

/** The URL of a proxy with the credentials of its user. */
export function withCredentials(
  { url }: Pick<ConnectProxy, 'url'>,
  password = PROXY_PASSWORD,
): string {
  return url.replace('//', `//${PROXY_USER}:${encodeURIComponent(password)}@`);
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const targets: string[] = [];
  const others: string[] = [];
  const expected = `Basic ${Buffer.from(`${PROXY_USER}:${PROXY_PASSWORD}`).toString('base64')}`;
  const server = createServer((request, response) => {
    others.push(request.url ?? '');
    response.writeHead(405).end();
  });
  server.on('connect', (request, socket: Socket) => {
    targets.push(request.url!);
    socket.on('error', () => {});
    if (request.headers['proxy-authorization'] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host, port] = request.url!.split(':');
    const target = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(target).pipe(socket);
    });
    target.on('error', () => socket.destroy());
    socket.on('close', () => target.destroy());
  });
  return { ...(await openServer(server)), targets, others };
}
