import type { UpstreamRequest } from './request.ts';

/** What sends requests to other servers: `UpstreamClient`, or recordings in its place. */
export interface Upstream {
  /** Whether all answers are there already, so that waiting between polls of a job is in vain. */
  readonly isInstant?: boolean;
  /** @throws Failure as `UpstreamClient.open` does */
  open(url: string, request: UpstreamRequest): Promise<UpstreamResponse>;
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
