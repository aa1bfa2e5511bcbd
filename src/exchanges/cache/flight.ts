import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import { abortedFailure, timeoutFailure } from '../../upstream/failures.ts';
import type { RecordedAnswer } from '../exchange.ts';

/**
 * How the request ended that others wait for: with an answer for all of them; `abandoned` by its client; `failed`; or
 * `alone`, where its answer is for its own client only, or takes too long.
 */
export type FlightEnd = RecordedAnswer | 'abandoned' | 'failed' | 'alone';

/** Milliseconds for which the others wait while the client of the first request reads nothing. */
const MAX_PAUSE_MS = 5000;

interface Wait {
  readonly server: string;
  readonly signal: AbortSignalLike;
  /** Milliseconds; 0 for no limit. */
  readonly timeout: number;
}

interface FlightOptions {
  /** Called when no further request may wait for it. */
  readonly onEnd: () => void;
  /** Called once when nothing more is recorded. */
  readonly onRelease: () => void;
}

/** A request to a provider that equal ones wait for. */
export class Flight {
  /** Whether its client has the answer, which is kept in a moment. */
  isLanding = false;
  readonly ended: Promise<FlightEnd>;
  readonly #options: FlightOptions;
  #isReleased = false;
  #resolve!: (end: FlightEnd) => void;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: FlightOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Ending it again changes nothing. */
  end(how: FlightEnd): void {
    clearTimeout(this.#pause);
    this.#options.onEnd();
    this.#resolve(how);
  }

  /** Ends its recording, which may go on after the others have stopped to wait. */
  release(): void {
    if (!this.#isReleased) this.#options.onRelease();
    this.#isReleased = true;
  }

  /** Its client has stopped reading. */
  pause(): void {
    this.#pause ??= setTimeout(() => this.end('alone'), MAX_PAUSE_MS).unref();
  }

  resume(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  /** @throws Failure of the one that waits: its client leaves, or its time is over */
  wait({ server, signal, timeout }: Wait): Promise<FlightEnd> {
    return new Promise((resolve, reject) => {
      const abort = () => leave(abortedFailure(server, signal.reason));
      const leave = (failure: Error) => {
        settle();
        reject(failure);
      };
      const timer =
        timeout > 0 ? setTimeout(() => leave(timeoutFailure('total', server)), timeout) : undefined;
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      signal.addEventListener('abort', abort);
      if (signal.aborted) return abort();
      void this.ended.then((how) => {
        settle();
        resolve(how);
      });
    });
  }
}
