import { Failure } from '../../failure.ts';
import { UpstreamClient } from '../../upstream/client.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import { readFlags } from '../flags.ts';
import { usageFailure } from '../usage.ts';
import { clientFlags, DEFAULT_URL } from './client-flags.ts';
import { refusalOf, secondsToWait } from './refusal.ts';

/** The largest answer that is read at once. */
const LARGEST = 64 * 1024 * 1024;

/** The largest result that is fetched: a long video has a few hundred megabytes. */
const LARGEST_ASSET = 1024 * 1024 * 1024;

/** A model may think for long before it says anything; how long, the daemon decides. */
const TIMEOUTS = { connect: 10_000, firstByte: 0, idle: 0, total: 0 };

/** A file comes at once, or something between here and there is broken. */
const ASSET_TIMEOUTS = { connect: 10_000, firstByte: 60_000, idle: 60_000, total: 0 };

type Headers = Readonly<Record<string, string>>;

/** JSON that a daemon answered with. */
export interface Document {
  readonly document: unknown;
  /** Seconds after which it wants to be asked again; null where it does not say. */
  readonly retryAfter: number | null;
}

/** A daemon somewhere, asked over HTTP as any client would. */
export class DaemonClient {
  /** Without a slash at its end. */
  readonly url: string;
  readonly #key: string | undefined;
  readonly #signal: AbortSignal;
  readonly #upstream = new UpstreamClient();

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
  open(path: string, body?: object, headers: Headers = {}): Promise<UpstreamResponse> {
    if (!body) return this.#send(path, headers);
    const json = { 'content-type': 'application/json', ...headers };
    return this.#send(path, json, JSON.stringify(body));
  }

  /** The JSON that a path answers with. */
  async json(path: string, body?: object, headers?: Headers): Promise<unknown> {
    const { document } = await this.#read(path, await this.open(path, body, headers));
    return document;
  }

  /** The JSON that a path which is asked again and again answers with. */
  async poll(path: string): Promise<Document> {
    return this.#read(path, await this.open(path));
  }

  /** The JSON that a path answers a form with. */
  async form(path: string, form: FormData, headers: Headers = {}): Promise<unknown> {
    const packed = new Response(form);
    const type = { 'content-type': packed.headers.get('content-type')!, ...headers };
    const body = Buffer.from(await packed.arrayBuffer());
    const { document } = await this.#read(path, await this.#send(path, type, body));
    return document;
  }

  /**
   * Fetches a result. Whoever else it comes from is not told the key.
   *
   * @param address absolute, or a path of the daemon
   * @throws Failure
   */
  async asset(address: string): Promise<Buffer> {
    const url = URL.canParse(address, `${this.url}/`) ? new URL(address, `${this.url}/`) : null;
    if (!url || !/^https?:$/.test(url.protocol)) {
      throw new Failure('service_error', `a result is at no http or https URL: ${address}`);
    }
    const own = url.origin === new URL(this.url).origin;
    const exchange = await this.#upstream.open(url.href, {
      method: 'GET',
      headers: own ? this.#authorization() : {},
      timeouts: ASSET_TIMEOUTS,
      signal: this.#signal,
    });
    if (exchange.status !== 200) {
      exchange.abort();
      throw new Failure('service_error', `${url.href} answered with status ${exchange.status}`, {
        status: exchange.status,
      });
    }
    return exchange.bytes(LARGEST_ASSET);
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }

  #authorization(): Headers {
    return this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` };
  }

  async #send(path: string, headers: Headers, body?: string | Buffer): Promise<UpstreamResponse> {
    const exchange = await this.#upstream
      .open(`${this.url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers, ...this.#authorization() },
        ...(body !== undefined && { body }),
        timeouts: TIMEOUTS,
        signal: this.#signal,
      })
      .catch((error: unknown) => {
        throw this.#explained(error);
      });
    if (exchange.status >= 200 && exchange.status < 300) return exchange;
    throw await refusalOf(exchange, { url: this.url, hasKey: this.#key !== undefined });
  }

  async #read(path: string, exchange: UpstreamResponse): Promise<Document> {
    const bytes = await exchange.bytes(LARGEST);
    try {
      return { document: JSON.parse(bytes.toString()), retryAfter: secondsToWait(exchange) };
    } catch {
      throw new Failure('service_error', `${this.url}${path} answered with what is no JSON`);
    }
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof Failure) || error.code !== 'unreachable') return error;
    return new Failure(
      error.type,
      `no daemon answers at ${this.url}: \`oriel serve\` starts one, --url names another (${error.message})`,
      { code: 'unreachable', cause: error },
    );
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
