import { type AbortSignalLike, LightAbortSignal } from '../../upstream/abort-signal.ts';

/** Bytes of a stream that are read after its client left. */
export const MAX_DRAINED_BYTES = 16 * 1024 * 1024;

/** Answers that are read for nobody, of one account and of all. */
const MAX_OF_ACCOUNT = 16;
const MAX_OF_ALL = 256;

/** A request to a provider that outlasts its client. */
export interface Drain {
  /** Aborts the request: later than the client's, whose reason it has. */
  readonly signal: AbortSignalLike;
  /** Counts bytes of a stream, of which only some are read once the client has left. */
  count(bytes: number): void;
  /** Ends the drain; the request is over. */
  release(): void;
}

interface DrainOptions {
  readonly accountId: string;
  readonly clientDisconnect: AbortSignalLike;
  /** Milliseconds to read on for; 0 to abort at once. */
  readonly timeout: number;
  /** Whether a provider is at work and is to be paid. */
  readonly isWorthwhile: () => boolean;
}

/**
 * Reads answers on after their clients have left, since the usage comes at the end: whoever leaves a stream before
 * that would pay neither reasoning nor media. Time, bytes and the number of such answers are limited.
 */
export class Drains {
  readonly #ofAccounts = new Map<string, number>();
  #count = 0;
  /** Whether requests end with their clients, since the server shuts down. */
  isClosed = false;

  begin({ accountId, clientDisconnect, timeout, isWorthwhile }: DrainOptions): Drain {
    const signal = new LightAbortSignal();
    let timer: NodeJS.Timeout | undefined;
    let bytes = 0;
    const abort = () => signal.abort(clientDisconnect.reason);
    const onLeft = () => {
      const ofAccount = this.#ofAccounts.get(accountId) ?? 0;
      const hasRoom = ofAccount < MAX_OF_ACCOUNT && this.#count < MAX_OF_ALL;
      if (this.isClosed || timeout === 0 || !hasRoom || !isWorthwhile()) return abort();
      this.#ofAccounts.set(accountId, ofAccount + 1);
      this.#count += 1;
      timer = setTimeout(abort, timeout);
    };
    if (clientDisconnect.aborted) onLeft();
    else clientDisconnect.addEventListener('abort', onLeft);
    return {
      signal,
      count: (read) => {
        if (timer === undefined) return;
        bytes += read;
        if (bytes > MAX_DRAINED_BYTES) abort();
      },
      release: () => {
        clientDisconnect.removeEventListener('abort', onLeft);
        if (timer === undefined) return;
        clearTimeout(timer);
        timer = undefined;
        this.#count -= 1;
        const left = (this.#ofAccounts.get(accountId) ?? 1) - 1;
        if (left > 0) this.#ofAccounts.set(accountId, left);
        else this.#ofAccounts.delete(accountId);
      },
    };
  }
}
