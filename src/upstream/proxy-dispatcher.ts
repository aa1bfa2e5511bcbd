import { type Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';

/**
 * A dispatcher whose connections are tunnels through an HTTP proxy, also for plain HTTP.
 *
 * @param proxy its URL, with its credentials
 * @param connect milliseconds until the connection to the proxy, the tunnel and its TLS are there, each
 */
export function proxyDispatcher(
  proxy: string,
  connect: number,
  options: Agent.Options,
): Dispatcher {
  const { origin, username, password } = new URL(proxy);
  const hasCredentials = username !== '' || password !== '';
  const tls = { timeout: connect, allowH2: false };
  return new ProxyAgent({
    ...options,
    uri: origin,
    // Undici sends credentials in the URL only if both the name and the password are there.
    ...(hasCredentials && { token: `Basic ${basicCredentials(username, password)}` }),
    requestTls: tls,
    proxyTls: tls,
    // The proxy's answer to CONNECT has this limit.
    clientFactory: (url, pool) => new Pool(url, { ...pool, headersTimeout: connect }),
  });
}

function basicCredentials(username: string, password: string): string {
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return Buffer.from(text).toString('base64');
}
