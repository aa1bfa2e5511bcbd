import type { KeyHolder } from '../store/store.ts';
import type { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { DialectName } from './canonical.ts';
import type { Headers } from './execution/upstream-request.ts';
import type { ResponseStream } from './relay/response-stream.ts';

/** One request of one client. */
export interface TextCall {
  /** The request's identifier in the log. */
  readonly requestId: string;
  readonly dialect: DialectName;
  readonly body: unknown;
  /** Length of the body as it was sent; null where nobody said. */
  readonly bytes: number | null;
  readonly headers: Headers;
  readonly holder: KeyHolder;
  /** Aborts when the client disconnects or the grace of a shutdown ends; the reason is a Failure. */
  readonly clientDisconnect: LightAbortSignal;
  /** Where a stream goes; also takes headers of an answer that is none. */
  readonly response: ResponseStream;
}
