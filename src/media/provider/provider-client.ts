import { isRemote, type RemoteProvider, urlOf } from '../../config/providers/provider-kinds.ts';
import { codedFailure, Failure } from '../../failure.ts';
import { openProvider } from '../../routing/provider-request.ts';
import { redactFailure } from '../../routing/redaction.ts';
import { readUpstreamError } from '../../routing/upstream-error.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Form } from '../../upstream/form.ts';
import type { Timeouts } from '../../upstream/request.ts';
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

/** Bytes of a response without JSON that a failure is read from. */
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
    const { path, body, headers = {}, maxBytes } = request;
    const { upstream, model, signal, timeouts, traceparent } = this.#context;
    try {
      const response = await openProvider(upstream, this.settings, {
        ...{ path, model, headers, traceparent, signal },
        timeouts: request.timeouts ?? timeouts,
        ...(body && ('json' in body ? { json: body.json } : { content: body.form })),
      });
      return { headers: response.headers, bytes: await response.bytes(maxBytes) };
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

  /** The failure for an error that came inside a response or a job. */
  failureOf(body: unknown): Failure {
    return upstreamFailure(null, body, { apiKey: this.settings.apiKey });
  }

  #failureAfterSending(error: unknown, { billable }: ProviderRequest): unknown {
    if (!(error instanceof Failure) || this.#context.signal.aborted) return error;
    // The provider itself has refused the request.
    if (error.upstreamStatus !== null) return error;
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
