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

/** Milliseconds in which a proxy in front of several nodes sees that this one accepts no connections. */
const PROXY_MS = 1000;

/**
 * Accepts no new connections, and leaves idle ones open for a moment: a proxy that uses one of them just then may not
 * repeat the request at another node. They are served, and closed with their response.
 */
export async function closeListener(server: Server): Promise<void> {
  const closed = once(server, 'close');
  Server.prototype.close.call(server);
  await Promise.race([closed, delay(PROXY_MS)]);
}
