import { Failure } from '../failure.ts';

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
    throw new Failure(
      'service_error',
      `cannot listen on ${host}:${port}: ${REASONS[code] ?? message}`,
      { code: 'listen_failed', cause: error },
    );
  });
}
