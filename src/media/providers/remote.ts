import { isRemote, kindOf, type RemoteProvider } from '../../config/provider-kinds.ts';
import { Failure } from '../../failure.ts';
import { redactFailure } from '../../routing/redaction.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { Sent } from './multipart.ts';
import type { Workshop } from './provider.ts';
import { charged, without } from './unusable.ts';

export type Json = Readonly<Record<string, unknown>>;

interface Asked {
  /** What follows the base address: `/images/generations`. */
  readonly path: string;
  /** What is posted; without it, the path is read. */
  readonly sent?: Sent;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes that an answer may have. */
  readonly most: number;
  /** Whether the provider may charge for a request that it has heard, and again for its repetition. */
  readonly charges?: boolean;
  readonly timeouts?: Timeouts;
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** The largest answer that says why a request failed. */
const MOST_OF_FAILURE = 1024 * 1024;

/** Codes of `Upstream.open` that tell that a request may have been heard. */
const HEARD = new Set([
  'connection_lost',
  'first_byte_timeout',
  'idle_timeout',
  'total_timeout',
  'upstream_answer_too_large',
  'upstream_answer_unreadable',
]);

/** A provider at the other end of a network, while it fills one order. */
export class Remote {
  readonly settings: RemoteProvider;
  readonly #workshop: Workshop;

  constructor(workshop: Workshop) {
    const { settings } = workshop;
    if (!isRemote(settings)) throw new Error('The sandbox is no remote provider');
    this.settings = settings;
    this.#workshop = workshop;
  }

  /** The headers by which the provider knows us. */
  get credentials(): Readonly<Record<string, string>> {
    const { apiKey } = this.settings;
    return apiKey === undefined ? {} : kindOf(this.settings).credentials(apiKey);
  }

  /**
   * Sends one request and reads the whole answer.
   *
   * @throws Failure where the status is not one of success
   */
  async send(asked: Asked): Promise<Reply> {
    if (asked.charges) await this.#workshop.asking();
    const exchange = await this.#open(asked);
    const { status, headers } = exchange;
    if (status < 200 || status >= 300) throw await this.#refusal(exchange);
    try {
      return { status, headers, bytes: await exchange.bytes(asked.most) };
    } catch (error) {
      throw this.#failed(error, asked);
    }
  }

  /**
   * The same, of an answer that is a JSON object.
   *
   * @throws Failure also where it is none
   */
  async sendForJson(asked: Asked): Promise<Reply & { readonly body: Json }> {
    const reply = await this.send(asked);
    const { bytes } = reply;
    const body = tryParseJson(bytes.toString());
    if (isObject(body)) return { ...reply, body };
    const failure = without('JSON', bytes.toString('utf8', 0, MOST_OF_FAILURE));
    throw asked.charges ? charged(failure) : failure;
  }

  /** What a provider told of something that failed, by whatever way it told it. */
  told(status: number | null, body: unknown, headers: Reply['headers'] = {}): Failure {
    return upstreamFailure(status, body, {
      retryAfter: headers['retry-after'],
      retryAfterMs: headers['retry-after-ms'],
      apiKey: this.settings.apiKey,
    });
  }

  async #open({ path, sent, headers, timeouts, charges }: Asked): Promise<UpstreamResponse> {
    const { upstream, signal, timeouts: usual } = this.#workshop;
    try {
      return await upstream.open(this.settings.baseUrl + path, {
        name: 'The provider',
        method: sent === undefined ? 'GET' : 'POST',
        headers: {
          ...this.credentials,
          ...(sent !== undefined && { 'content-type': sent.type }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent.body }),
        timeouts: timeouts ?? usual,
        signal,
      });
    } catch (error) {
      throw this.#failed(error, { charges });
    }
  }

  async #refusal(exchange: UpstreamResponse): Promise<Failure> {
    const text = await exchange.bytes(MOST_OF_FAILURE).then(String, () => '');
    return this.told(exchange.status, tryParseJson(text) ?? text, exchange.headers);
  }

  #failed(error: unknown, { charges }: { readonly charges?: boolean | undefined }): unknown {
    if (!(error instanceof Failure) || this.#workshop.signal.aborted) return error;
    return charges && HEARD.has(error.code ?? '') ? charged(error) : error;
  }
}

/** JSON as a request's body. */
export function jsonOf(value: Json): Sent {
  return { type: 'application/json', body: JSON.stringify(value) };
}

/**
 * Works with a remote provider. Whatever fails then tells no key, and what is given up says why.
 *
 * @throws Failure
 */
export async function withRemote<Made>(
  workshop: Workshop,
  work: (remote: Remote) => Promise<Made>,
): Promise<Made> {
  const remote = new Remote(workshop);
  try {
    return await work(remote);
  } catch (error) {
    if (workshop.signal.aborted) throw workshop.signal.reason;
    throw error instanceof Failure ? redactFailure(error, remote.settings.apiKey) : error;
  }
}
