import { once } from 'node:events';
import { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { codedFailure } from '../failure.ts';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
};

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Listener {
  listen(address: Address): Promise<string>;
}

/**
 * @returns the URL
 * @throws Failure `listen_failed`
 */
export async function listen(server: Listener, { host, port }: Address): Promise<string> {
  return server.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    const { code = '', message } = error;
    throw codedFailure(
      'listen_failed',
      `cannot listen on ${host}:${port}: ${REASONS[code] ?? message}`,
      { cause: error },
    );
  });
}

/** How long a proxy may take to notice that this node accepts no connections, in milliseconds. */
const PROXY_MS = 1000;

/**
 * Accepts no new connections, and keeps idle ones open for a moment: a proxy may be using one of them, and may not
 * repeat the request at another node. Their requests are served, and the connections closed with the response.
 */
export async function closeListener(server: Server): Promise<void> {
  const closed = once(server, 'close');
  Server.prototype.close.call(server);
  await Promise.race([closed, delay(PROXY_MS)]);
}
