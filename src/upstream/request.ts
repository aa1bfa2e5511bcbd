import type { AbortSignalLike } from './abort-signal.ts';
import type { Form } from './form.ts';
import type { NetworkPolicy } from './network-policy.ts';

/** Timeouts in milliseconds; 0 means no limit. */
export interface Timeouts {
  readonly connect: number;
  /** From the request's start until the response headers. */
  readonly firstByte: number;
  /** Between two chunks of the response, while its reader takes them. */
  readonly idle: number;
  readonly total: number;
}

/** What a recording of an exchange with a provider is found by, beside the request's body. */
export interface ExchangeLabel {
  /** The provider's name of the model. */
  readonly model: string;
  /** Path below the provider's base URL, with its query. */
  readonly path: string;
}

export interface UpstreamRequest {
  /** Name of the server in failures; by default its host, which not every client may know. */
  readonly name?: string;
  /** Absent where the exchange is none with a provider: callbacks, a bucket, a collector. */
  readonly exchange?: ExchangeLabel;
  /** POST by default. */
  readonly method?: 'POST' | 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  /**
   * A form is encoded as multipart/form-data; undici adds its content type. Chunks need a header content-length.
   * They are no stream: a stream opens its file at once, and an error of it that comes before the request has begun,
   * or after it was aborted, would end the process.
   */
  readonly body?: string | Buffer | Form | AsyncGenerator<Buffer, void>;
  readonly timeouts: Timeouts;
  /** URL of an HTTP proxy, which is asked for a tunnel (CONNECT); by default that of the environment. */
  readonly proxy?: string | undefined;
  /**
   * Policy for URLs that clients or providers chose. The connection goes straight, never through
   * `proxy`, nor through that of the environment unless private addresses are allowed. Without a policy
   * any address is reached.
   */
  readonly networkPolicy?: NetworkPolicy;
  /** Aborts the request in whatever state it is. */
  readonly signal: AbortSignalLike;
}
