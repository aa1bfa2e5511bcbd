import type { KeyHolder } from '../../store/store.ts';
import type { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { DialectName } from '../canonical/canonical.ts';
import type { TextReport } from '../canonical/report.ts';
import type { Headers, RequestAddress } from '../dialects/dialect.ts';
import type { ResponseStream } from '../relay/response-stream.ts';

/** One request of one client. */
export interface TextCall {
  /** The request's identifier in the log. */
  readonly requestId: string;
  readonly dialect: DialectName;
  readonly address: RequestAddress;
  readonly body: unknown;
  /** Content-Length of the request; null for a chunked body. */
  readonly bytes: number | null;
  readonly headers: Headers;
  readonly holder: KeyHolder;
  /** Aborts when the client disconnects or the grace of a shutdown ends; the reason is a Failure. */
  readonly clientDisconnect: LightAbortSignal;
  /** The stream to the client; it also takes headers of a whole answer. */
  readonly response: ResponseStream;
  /** Called once the charge is to be written at the end of this tick; the answer follows it. */
  readonly onCharging: () => void;
  /** Filled while the request is answered. */
  readonly report: TextReport;
}
