/** The part of AbortSignal that requests use. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  /** Reason of the abort; a Failure where a client gets to see it. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * A signal that is its own controller, for text requests, which make one or two each: with a listener
 * it takes 0.06 µs of CPU, an AbortController 4.6 µs (Node 20.20).
 */
export class LightAbortSignal implements AbortSignalLike {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] = [];

  /** Only the first call counts. */
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

/** A signal that aborts with its parent, or by itself. `release` removes the listener from the parent. */
export function linkedSignal(parent: AbortSignalLike): {
  signal: LightAbortSignal;
  release(): void;
} {
  const signal = new LightAbortSignal();
  const onAbort = () => signal.abort(parent.reason);
  if (parent.aborted) onAbort();
  else parent.addEventListener('abort', onAbort);
  return { signal, release: () => parent.removeEventListener('abort', onAbort) };
}

/** Resolves after a delay. @throws the signal's reason once it is aborted */
export async function sleep(milliseconds: number, signal: AbortSignalLike): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}
