import { request } from 'undici';
import { Failure } from './failure.ts';
import type { Exchange, ExchangeOptions } from './upstream/exchange.ts';

/** The connections to other servers, kept open between requests. */
export class Upstream {
  /**
   * Sends a request once, and gives the answer as soon as its headers are here. Follows no redirect.
   *
   * @throws Failure `network_error` with code `unreachable` where nothing can have been received, and
   *   `connection_lost` where the request may have been; `timeout` with code `connect_timeout`,
   *   `first_byte_timeout`, `idle_timeout` or `total_timeout`
   */
  open(_url: string, _options: ExchangeOptions): Promise<Exchange> {
    throw new Error('not yet');
  }

  /** Ends what is under way, and closes all connections. */
  async close(): Promise<void> {}
}

/** What another server said, whatever its status. */
interface Answer {
  readonly status: number;
  /** Undefined where it is no JSON. */
  readonly body: unknown;
}

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds until the last byte of the answer. */
  readonly timeout: number;
}

/**
 * Sends JSON to another server and reads the JSON that it answers. Nothing is sent twice.
 *
 * @throws Failure `network_error` with code `unreachable` where nothing can have been received, and
 *   `connection_lost` where the request may have been; `timeout`
 */
export async function postJson(url: string, body: unknown, options: PostOptions): Promise<Answer> {
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...options.headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(options.timeout),
      reset: true,
    });
    return { status: answer.statusCode, body: parse(await answer.body.text()) };
  } catch (error) {
    throw networkFailure(error, new URL(url).host);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function networkFailure(error: unknown, host: string): Failure {
  const { name, code, syscall, message } = error as NodeJS.ErrnoException;
  if (syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new Failure('network_error', `${host} cannot be reached: ${message}`, {
      code: 'unreachable',
      cause: error,
    });
  }
  if (name === 'TimeoutError' || code?.endsWith('_TIMEOUT')) {
    return new Failure('timeout', `${host} did not answer in time`, { cause: error });
  }
  return new Failure('network_error', `${host} went away before it answered: ${message}`, {
    code: 'connection_lost',
    cause: error,
  });
}
