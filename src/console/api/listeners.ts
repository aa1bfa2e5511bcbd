import { useEffect, useState } from 'preact/hooks';

/** Functions that are called when something changes. */
export class Listeners {
  readonly #all = new Set<() => void>();
  /** Calls so far. */
  calls = 0;

  /** @returns a function that removes the listener */
  add(listener: () => void): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  readonly call = (): void => {
    this.calls += 1;
    for (const listener of this.#all) listener();
  };
}

/** Renders the component again at each call of the listeners. */
export function useChanges(listeners: Listeners): void {
  const [, setCalls] = useState(listeners.calls);
  useEffect(() => {
    const listener = () => setCalls(listeners.calls);
    // Something may have changed between the rendering and this effect.
    listener();
    return listeners.add(listener);
  }, [listeners]);
}
