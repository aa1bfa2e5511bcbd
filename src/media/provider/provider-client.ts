import {
  headersOf,
  isRemote,
  type RemoteProvider,
  urlOf,
} from '../../config/providers/provider-kinds.ts';
import { codedFailure, Failure } from '../../failure.ts';
import { redactFailure } from '../../routing/redaction.ts';
import { readUpstreamError } from '../../routing/upstream-error.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Form } from '../../upstream/form.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { ProviderContext } from './provider.ts';

export type Json = Readonly<Record<string, unknown>>;

export type RequestBody = { readonly json: Json } | { readonly form: Form };

interface ProviderRequest {
  /** Path below the base URL: `/images/generations`. */
  readonly path: string;
  /** Body of a POST; without one the request is a GET. */
  readonly body?: RequestBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes that the response may have. */
  readonly maxBytes: number;
  /** Whether the provider may charge for the request once it is sent, and again for a repetition. */
  readonly billable?: boolean;
  readonly timeouts?: Timeouts;
}

interface ProviderResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Bytes of an error response that are read. */
const MAX_ERROR_BYTES = 1024 * 1024;

/** Failure codes of `UpstreamClient.open` after which the provider may have got the request. */
const CODES_AFTER_SENDING = new Set([
  'connection_lost',
  'first_byte_timeout',
  'idle_timeout',
  'total_timeout',
  'upstream_answer_too_large',
  'upstream_answer_unreadable',
]);

/** HTTP client of one provider, for one job. */
export class ProviderClient {
  readonly settings: RemoteProvider;
  readonly #context: ProviderContext;

  constructor(context: ProviderContext) {
    const { settings } = context;
    if (!isRemote(settings)) throw new Error(`${settings.kind} is no remote provider`);
    this.settings = settings;
    this.#context = context;
  }

  /** @param path below the base URL: `/images/generations` */
  url(path: string): string {
    return urlOf(this.settings, { path, model: this.#context.model });
  }

  /**
   * Sends one request and reads the whole response.
   *
   * @throws Failure where the status is none of success
   */
  async send(request: ProviderRequest): Promise<ProviderResponse> {
    if (request.billable) await this.#context.beforeBillableRequest();
    const response = await this.#open(request);
    const { status, headers } = response;
    if (status < 200 || status >= 300) throw await this.#errorResponse(response);
    try {
      return { headers, bytes: await response.bytes(request.maxBytes) };
    } catch (error) {
      throw this.#failureAfterSending(error, request);
    }
  }

  /**
   * Sends one request whose response is a JSON object.
   *
   * @throws Failure as `send` does, and where the response is no JSON object
   */
  async sendForJson(request: ProviderRequest): Promise<ProviderResponse & { readonly json: Json }> {
    const response = await this.send(request);
    const { bytes } = response;
    const json = tryParseJson(bytes.toString());
    if (isObject(json)) return { ...response, json };
    const failure = missingContent('JSON', bytes.toString('utf8', 0, MAX_ERROR_BYTES));
    throw request.billable ? asBillable(failure) : failure;
  }

  /** The failure for a provider's error, whether it came as a status or inside a response or a job. */
  failureOf(
    status: number | null,
    body: unknown,
    headers: ProviderResponse['headers'] = {},
  ): Failure {
    return upstreamFailure(status, body, {
      retryAfter: headers['retry-after'],
      retryAfterMs: headers['retry-after-ms'],
      apiKey: this.settings.apiKey,
    });
  }

  async #open(request: ProviderRequest): Promise<UpstreamResponse> {
    const { path, body, headers, timeouts } = request;
    const { upstream, signal, timeouts: defaultTimeouts, traceparent } = this.#context;
    try {
      return await upstream.open(this.url(path), {
        name: 'The provider',
        exchange: { model: this.#context.model, path },
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...headersOf(this.settings),
          // Undici adds the content type of a form, with its boundary.
          ...(body !== undefined && 'json' in body && { 'content-type': 'application/json' }),
          ...(traceparent && { traceparent }),
          ...headers,
        },
        ...(body !== undefined && { body: 'json' in body ? JSON.stringify(body.json) : body.form }),
        timeouts: timeouts ?? defaultTimeouts,
        proxy: this.settings.proxy,
        signal,
      });
    } catch (error) {
      throw this.#failureAfterSending(error, request);
    }
  }

  async #errorResponse(response: UpstreamResponse): Promise<Failure> {
    const text = await response.bytes(MAX_ERROR_BYTES).then(String, () => '');
    return this.failureOf(response.status, tryParseJson(text) ?? text, response.headers);
  }

  #failureAfterSending(error: unknown, { billable }: ProviderRequest): unknown {
    if (!(error instanceof Failure) || this.#context.signal.aborted) return error;
    return billable && CODES_AFTER_SENDING.has(error.code ?? '') ? asBillable(error) : error;
  }
}

/**
 * Runs a function with a provider's client. Its failures are redacted, and become the signal's reason
 * once that is aborted.
 *
 * @throws Failure
 */
export async function withProviderClient<Result>(
  context: ProviderContext,
  run: (client: ProviderClient) => Promise<Result>,
): Promise<Result> {
  const client = new ProviderClient(context);
  try {
    return await run(client);
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    throw error instanceof Failure ? redactFailure(error, client.settings.apiKey) : error;
  }
}

/** The failure for a successful response with unusable content. @param what with its article */
export function invalidResponse(what: string, detail = ''): Failure {
  return codedFailure('invalid_upstream_answer', `The provider sent ${what}`, { detail });
}

/** The failure for a successful response of another kind than expected. @param text often an HTML page */
export function missingContent(what: string, text: string): Failure {
  const { message } = readUpstreamError(text);
  return invalidResponse(`no ${what}`, message);
}

/** Turns a failure into `billable_error`, which is not retried, since the provider may have charged. */
export function asBillable(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const { message, code, cause, detail } = error;
  return new Failure('billable_error', `${message}. It may have charged for it`, {
    cause,
    ...(detail !== null && { detail }),
    originalCode: code,
  });
}
