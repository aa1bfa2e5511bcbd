import { FAILURE_TYPES, Failure, type FailureType } from '../../failure.ts';
import { objectOf } from '../../schema/untrusted.ts';
import { UpstreamClient } from '../../upstream/client.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import { type Flags, readFlags, usageFailure } from '../command/command.ts';
import { clientFlags, DEFAULT_URL } from './client-flags.ts';

/** Maximum bytes of a JSON response. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** Maximum bytes of a result: a long video has a few hundred megabytes. */
const MAX_ASSET_BYTES = 1024 * 1024 * 1024;

/** Without a limit on the first byte: a model may reason for long, and the daemon has a timeout. */
const TIMEOUTS = { connect: 10_000, firstByte: 0, idle: 0, total: 0 };

/** A stored file is sent at once. */
const ASSET_TIMEOUTS = { connect: 10_000, firstByte: 60_000, idle: 60_000, total: 0 };

type Headers = Readonly<Record<string, string>>;

/** A JSON response. */
export interface Document {
  readonly document: unknown;
  /** Seconds of its Retry-After; null without one. */
  readonly retryAfter: number | null;
}

/** An HTTP client of a daemon. */
export class DaemonClient {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string | undefined;
  readonly #signal: AbortSignal;
  readonly #upstream = new UpstreamClient();

  /**
   * @param signal aborts all requests
   * @throws Failure with code `usage`
   */
  constructor(flags: Flags, signal: AbortSignal) {
    const { url, key } = readFlags(clientFlags, flags);
    this.url = addressOf(url ?? (process.env['ORIEL_URL'] || DEFAULT_URL));
    this.key = key ?? (process.env['ORIEL_API_KEY'] || undefined);
    if (this.key !== undefined && !/^[\x21-\x7e]+$/.test(this.key)) {
      throw usageFailure('--key: expected a key, received a text with blanks or other signs in it');
    }
    this.#signal = signal;
  }

  /**
   * Sends a request and returns a response of status 2xx.
   *
   * @throws Failure with the reason and what to do
   */
  open(path: string, body?: object, headers: Headers = {}): Promise<UpstreamResponse> {
    if (!body) return this.#send(path, headers);
    const json = { 'content-type': 'application/json', ...headers };
    return this.#send(path, json, JSON.stringify(body));
  }

  /** Sends a request and reads the JSON of its response. */
  async json(path: string, body?: object, headers?: Headers): Promise<unknown> {
    const { document } = await this.#read(path, await this.open(path, body, headers));
    return document;
  }

  /** Reads JSON from a path that is requested repeatedly. */
  async poll(path: string): Promise<Document> {
    return this.#read(path, await this.open(path));
  }

  /** Sends a form and reads the JSON of its response. */
  async form(path: string, form: FormData, headers: Headers = {}): Promise<unknown> {
    const packed = new Response(form);
    const type = { 'content-type': packed.headers.get('content-type')!, ...headers };
    const body = Buffer.from(await packed.arrayBuffer());
    const { document } = await this.#read(path, await this.#send(path, type, body));
    return document;
  }

  /**
   * Fetches a result. The key is sent to the daemon only.
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
    return exchange.bytes(MAX_ASSET_BYTES);
  }

  /** Gets a list. @param what its elements, for messages @throws Failure if the response has no list */
  async list(path: string, what: string) {
    const document = objectOf(await this.json(path));
    const { data } = document;
    if (Array.isArray(data)) return { document, data };
    const place = `${this.url}${path.replace(/\?.*/, '')}`;
    throw new Failure('service_error', `${place}: expected a list of ${what} in the response`);
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }

  #authorization(): Headers {
    return this.key === undefined ? {} : { authorization: `Bearer ${this.key}` };
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
        throw this.#withAdvice(error);
      });
    if (exchange.status >= 200 && exchange.status < 300) return exchange;
    throw await failureOfResponse(exchange, { url: this.url, hasKey: this.key !== undefined });
  }

  async #read(path: string, exchange: UpstreamResponse): Promise<Document> {
    const bytes = await exchange.bytes(MAX_JSON_BYTES);
    try {
      return { document: JSON.parse(bytes.toString()), retryAfter: secondsToWait(exchange) };
    } catch {
      throw new Failure('service_error', `${this.url}${path} answered with what is no JSON`);
    }
  }

  #withAdvice(error: unknown): unknown {
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
  // Base URLs of client libraries end with /v1, which is accepted here.
  return address.href.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/**
 * The failure of an error response, with advice. It has no `param`, by which main recognises errors
 * in the command line.
 */
async function failureOfResponse(
  exchange: UpstreamResponse,
  { url, hasKey }: { readonly url: string; readonly hasKey: boolean },
): Promise<Failure> {
  const body = await exchange.bytes(1024 * 1024).catch(() => Buffer.alloc(0));
  const error = errorIn(body.toString());
  const { status } = exchange;
  const wait = secondsToWait(exchange);
  const reason = error === null ? '' : ` (${error.message})`;
  const failure = (type: FailureType, message: string) =>
    new Failure(type, message, { status, ...(wait !== null && { retryAfter: wait }) });
  if (status === 401) {
    const lack = hasKey ? 'the key is refused' : 'the daemon asks for a key';
    const advice = '`oriel keys create --account NAME` makes one, for --key or ORIEL_API_KEY';
    return failure('auth_error', `${lack}${reason}; ${advice}`);
  }
  if (status === 402) {
    const advice = '`oriel accounts grant NAME CREDITS` adds some';
    return failure('insufficient_quota', `not enough credits${reason}; ${advice}`);
  }
  if (status === 429) {
    const when = wait === null ? 'try again later' : `try again in ${wait} s`;
    return failure('rate_limit', `too many requests${reason}; ${when}`);
  }
  if (error?.type === 'content_policy' || error?.code === 'content_policy') {
    return failure('content_policy', `the prompt is not allowed${reason}`);
  }
  if (error?.code === 'model_not_found') {
    return failure('invalid_request', `${error.message}; \`oriel models\` lists those of your key`);
  }
  return failure(
    error?.type ?? 'service_error',
    error?.message ?? `${url} answered with status ${status}, and not as a gateway to models does`,
  );
}

/** The message of an error body; null where the text is none. */
export const messageOf = (text: string): string | null => errorIn(text)?.message ?? null;

function errorIn(text: string) {
  try {
    const { error } = JSON.parse(text) as { error?: Record<string, unknown> | string };
    const { type, code, message } = typeof error === 'string' ? { message: error } : (error ?? {});
    if (typeof message !== 'string' || message === '') return null;
    return {
      type: FAILURE_TYPES.find((known) => known === type) ?? null,
      code: typeof code === 'string' ? code : null,
      message,
    };
  } catch {
    return null;
  }
}

/** Retry-After of a response, in seconds from now; null without one. */
function secondsToWait({ headers }: Pick<UpstreamResponse, 'headers'>): number | null {
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
