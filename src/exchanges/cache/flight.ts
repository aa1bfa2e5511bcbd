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
  /** Milliseconds. */
  readonly timeout: number;
}

/** A request to a provider that equal ones wait for. */
export class Flight {
  /** Whether its client has the answer, which is kept in a moment. */
  isLanding = false;
  readonly #ended: Promise<FlightEnd>;
  readonly #onEnd: () => void;
  #resolve!: (end: FlightEnd) => void;
  #pause: NodeJS.Timeout | undefined;

  /** @param onEnd called when no further request may wait for it */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Ending it again changes nothing. */
  end(how: FlightEnd): void {
    clearTimeout(this.#pause);
    this.#onEnd();
    this.#resolve(how);
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
    let settle = () => {};
    const waiting = new Promise<FlightEnd>((resolve, reject) => {
      const abort = () => reject(abortedFailure(server, signal.reason));
      const timer = setTimeout(() => reject(timeoutFailure('total', server)), timeout);
      settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      signal.addEventListener('abort', abort);
      if (signal.aborted) abort();
      void this.#ended.then(resolve);
    });
    return waiting.finally(settle);
  }
}
