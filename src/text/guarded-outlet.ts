import { told } from '../routing/redaction.ts';
import type { Outlet } from './outlet.ts';

/** A client's outlet through which no key of an upstream gets, wherever in an answer it stood. */
export class GuardedOutlet implements Outlet {
  readonly #outlet: Outlet;
  readonly #secret: string | undefined;

  constructor(outlet: Outlet, secret: string | undefined) {
    this.#outlet = outlet;
    this.#secret = secret;
  }

  get begun(): boolean {
    return this.#outlet.begun;
  }

  announce(name: string, value: string): void {
    this.#outlet.announce(name, value);
  }

  write(frames: string | Buffer): boolean {
    return this.#outlet.write(told(frames, this.#secret));
  }

  drained(): Promise<void> {
    return this.#outlet.drained();
  }
}
