/** Tells those who work for somebody that nobody waits for it any more. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  /** Why; a Failure wherever a client is to hear of it. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * What an AbortController is, as far as requests need it: every request has one, and the platform's
 * own takes 6 µs to make and to listen to.
 */
export class LightAbortSignal implements AbortSignalLike {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] = [];

  /** Once; later reasons do not count. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at !== -1) this.#listeners.splice(at, 1);
  }
}

/** One that is cancelled with another, and can be by itself. `release` lets go of the other. */
export function linkedSignal(leader: AbortSignalLike): { cancellation: LightAbortSignal; release(): void } {
  const cancellation = new LightAbortSignal();
  const leave = () => cancellation.abort(leader.reason);
  if (leader.aborted) leave();
  else leader.addEventListener('abort', leave);
  return { cancellation, release: () => leader.removeEventListener('abort', leave) };
}
