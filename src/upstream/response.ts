import type { UpstreamRequest } from './request.ts';

/** What sends requests to other servers: `UpstreamClient`, or recordings in its place. */
export interface Upstream {
  /** Whether all answers are there already, so that waiting between polls of a job is in vain. */
  readonly isInstant?: boolean;
  /** @throws Failure as `UpstreamClient.open` does */
  open(url: string, request: AuthorizedRequest): Promise<UpstreamResponse>;
}

/** What is added to a request when it is sent, so that recordings in place of the server need none of it. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** Turns the server's response into one that the reader understands. */
  read?(response: UpstreamResponse): UpstreamResponse;
}

/** @param upstream sends requests for credentials */
export type Authorize = (
  url: string,
  request: UpstreamRequest,
  upstream: Upstream,
) => Promise<Authorization>;

/** A request whose server expects a token or a signature that sees all of the request. */
export interface AuthorizedRequest extends UpstreamRequest {
  readonly authorize?: Authorize | undefined;
}

/** Another server's response: headers received, body still to come. */
export interface UpstreamResponse {
  readonly status: number;
  /** Headers by lower-case name; values of repeated headers are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Reads the whole body.
   *
   * @throws Failure `service_error` with code `upstream_answer_too_large` beyond `limit` bytes
   */
  bytes(limit: number): Promise<Buffer>;
  /**
   * Passes on each chunk in the same tick in which it arrives. Resolves at the end of the body.
   *
   * @param onData returns false to pause until `resume`
   * @throws Failure
   */
  read(onData: (chunk: Buffer) => boolean): Promise<void>;
  resume(): void;
  /** Aborts the response and closes its connection; safe at any time, any number of times. */
  abort(): void;
}
