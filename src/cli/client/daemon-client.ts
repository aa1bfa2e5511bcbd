import { Failure } from '../../failure.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import { Upstream } from '../../upstream.ts';
import { readFlags } from '../flags.ts';
import { usageFailure } from '../usage.ts';
import { clientFlags, DEFAULT_URL } from './client-flags.ts';

/** The largest answer that is read at once. */
const LARGEST = 64 * 1024 * 1024;

/** A model may think for long before it says anything; how long, the daemon decides. */
const TIMEOUTS = { connect: 10_000, firstByte: 0, idle: 0, total: 0 };

/** A daemon somewhere, asked over HTTP as any client would. */
export class DaemonClient {
  /** Without a slash at its end. */
  readonly url: string;
  readonly #key: string | undefined;
  readonly #signal: AbortSignal;
  readonly #upstream = new Upstream();

  /**
   * @param flags what commander parsed
   * @param signal lets go of every request
   * @throws Failure of wrong usage
   */
  constructor(flags: Readonly<Record<string, unknown>>, signal: AbortSignal) {
    const { url, key } = readFlags(clientFlags, flags);
    this.url = addressOf(url ?? (process.env['ORIEL_URL'] || DEFAULT_URL));
    this.#key = key ?? (process.env['ORIEL_API_KEY'] || undefined);
    if (this.#key !== undefined && !/^[\x21-\x7e]+$/.test(this.#key)) {
      throw usageFailure('--key: expected a key, received a text with blanks or other signs in it');
    }
    this.#signal = signal;
  }

  /**
   * Sends a request; gives the answer when it is a good one.
   *
   * @throws Failure that says what is wrong and what may help
   */
  async open(path: string, body?: object): Promise<Exchange> {
    const exchange = await this.#upstream
      .open(`${this.url}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
        timeouts: TIMEOUTS,
        signal: this.#signal,
      })
      .catch((error: unknown) => {
        throw this.#explained(error);
      });
    if (exchange.status === 200) return exchange;
    throw await this.#refusal(exchange);
  }

  /** The JSON that a path answers with. */
  async json(path: string, body?: object): Promise<unknown> {
    const bytes = await (await this.open(path, body)).bytes(LARGEST);
    try {
      return JSON.parse(bytes.toString());
    } catch {
      throw new Failure('service_error', `${this.url}${path} answered with what is no JSON`);
    }
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof Failure) || error.code !== 'unreachable') return error;
    return new Failure(
      error.type,
      `no daemon answers at ${this.url}: \`oriel serve\` starts one, --url names another (${error.message})`,
      { code: 'unreachable', cause: error },
    );
  }

  async #refusal(exchange: Exchange): Promise<Failure> {
    const text = (await exchange.bytes(1024 * 1024).catch(() => '')).toString();
    const told = messageOf(text);
    const { status } = exchange;
    if (status === 401) {
      const lack = this.#key === undefined ? 'the daemon asks for a key' : 'the key is refused';
      return new Failure(
        'auth_error',
        `${lack}${told === null ? '' : ` (${told})`}; \`oriel keys create --account NAME\` makes one, for --key or ORIEL_API_KEY`,
      );
    }
    return new Failure(
      'service_error',
      told ?? `${this.url} answered with status ${status}, and not as a gateway to models does`,
    );
  }
}

/** What an error body of interface part 2.1 says; null where it is none. */
export function messageOf(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string };
    const message = typeof error === 'string' ? error : error?.message;
    return typeof message === 'string' && message !== '' ? message : null;
  } catch {
    return null;
  }
}

function addressOf(url: string): string {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (!address || !/^https?:$/.test(address.protocol) || address.search || address.hash) {
    throw usageFailure(`--url: expected an http or https URL, received ${JSON.stringify(url)}`);
  }
  // The base URL of client libraries ends with /v1; here either will do.
  return address.href.replace(/\/+$/, '').replace(/\/v1$/, '');
}
