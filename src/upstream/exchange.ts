import type { Cancelled } from './cancellation.ts';
import type { NetworkPolicy } from './network-policy.ts';

/** Milliseconds; 0 is for ever. */
export interface Timeouts {
  readonly connect: number;
  /** From the request's start until the answer's headers. */
  readonly firstByte: number;
  /** Between two pieces of the answer, while its reader takes them. */
  readonly idle: number;
  readonly total: number;
}

export interface ExchangeOptions {
  /** What failures call the server; its host, which not every client may know, where not given. */
  readonly name?: string;
  /** POST unless said. */
  readonly method?: 'POST' | 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly timeouts: Timeouts;
  /**
   * Where to connect to for addresses that come from outside, straight and never through a proxy unless
   * private addresses are allowed. Anywhere where there is none.
   */
  readonly reach?: NetworkPolicy;
  /** Lets go of the request, whatever its state. */
  readonly signal: Cancelled;
}

/** Another server's answer, its headers here and its body still to come. */
export interface Exchange {
  readonly status: number;
  /** By lower-case name; those that came more than once are joined. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The whole body.
   *
   * @throws Failure `service_error` with code `upstream_answer_too_large` beyond `limit` bytes
   */
  bytes(limit: number): Promise<Buffer>;
  /**
   * Hands on each piece as it arrives, in the same turn of the loop. Resolves at the end.
   *
   * @param onData false pauses until `resume`
   * @throws Failure
   */
  read(onData: (chunk: Buffer) => boolean): Promise<void>;
  resume(): void;
  /** Lets go of the answer and its connection; safe at any time, any number of times. */
  abort(): void;
}
