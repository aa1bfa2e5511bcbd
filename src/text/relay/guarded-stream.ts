import { SHORTEST_KEY, told } from '../../routing/redaction.ts';
import type { Outlet } from './response-stream.ts';
import { SplitKeyFilter } from './split-key.ts';

/** A client's outlet through which no key of an upstream gets, wherever in an answer it stood. */
export class GuardedOutlet implements Outlet {
  readonly #outlet: Outlet;
  readonly #secret: string | undefined;
  readonly #filter: SplitKeyFilter | null;

  constructor(outlet: Outlet, secret: string | undefined) {
    this.#outlet = outlet;
    this.#secret = secret;
    const isSecret = secret !== undefined && secret.length >= SHORTEST_KEY;
    this.#filter = isSecret ? new SplitKeyFilter(secret) : null;
  }

  get begun(): boolean {
    return this.#outlet.begun;
  }

  announce(name: string, value: string): void {
    this.#outlet.announce(name, value);
  }

  write(frames: string | Buffer): boolean {
    const clean = told(frames, this.#secret);
    const ready = this.#filter === null ? clean : this.#filter.push(clean);
    return ready === null || this.#outlet.write(ready);
  }

  /** The frames that end the stream, with those that were held back before them. */
  last(frames: string): string {
    const clean = told(frames, this.#secret);
    return this.#filter === null ? clean : this.#filter.finish(clean);
  }

  drained(): Promise<void> {
    return this.#outlet.drained();
  }
}
