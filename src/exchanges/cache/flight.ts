import type { AbortSignalLike } from '../../upstream/abort-signal.ts';
import { abortedFailure, timeoutFailure } from '../../upstream/failures.ts';
import type { RecordedAnswer } from '../exchange.ts';

/**
 * How the request ended that others wait for: with an answer for all of them; `abandoned` by its client; `failed`; or
 * `alone`, where its answer is for its own client only, or takes too long.
 */
export type FlightEnd = RecordedAnswer | 'abandoned' | 'failed' | 'alone';

/** How long equal requests wait while the client of the first one reads nothing, in milliseconds. */
const MAX_PAUSE_MS = 5000;

interface Wait {
  readonly server: string;
  readonly signal: AbortSignalLike;
  /** Milliseconds. */
  readonly timeout: number;
}

/** A request to a provider. Equal requests wait for its answer. */
export class Flight {
  /** Whether its client has the answer, which is about to be cached. */
  isLanding = false;
  readonly #ended: Promise<FlightEnd>;
  readonly #onEnd: () => void;
  #resolve!: (end: FlightEnd) => void;
  #pause: NodeJS.Timeout | undefined;

  /** @param onEnd called once no more requests may wait for it */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** A second call has no effect. */
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
