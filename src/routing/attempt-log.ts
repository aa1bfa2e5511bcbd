import type { Provider } from '../config/providers/provider-kinds.ts';
import type { Failure } from '../failure.ts';
import type { AttemptTrace } from './observer.ts';

/** An attempt that has ended. Times are those of `performance.now()`. */
interface EndedAttempt {
  readonly provider: string;
  readonly model: string;
  /** Names one of several keys of the provider; null for an only key. */
  readonly key: string | null;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly failure: Failure | null;
}

/** The attempts of one request, for the log of requests, and for its trace if it has one. */
export class AttemptLog implements AttemptTrace {
  readonly ended: EndedAttempt[] = [];
  readonly #trace: AttemptTrace | null;
  #route: Parameters<AttemptTrace['begin']>[0] | null = null;
  #startedAt = 0;

  constructor(trace: AttemptTrace | null) {
    this.#trace = trace;
  }

  begin(route: { readonly provider: string; readonly model: string }, provider: Provider): void {
    this.#route = route;
    this.#startedAt = performance.now();
    this.#trace?.begin(route, provider);
  }

  end(failure: Failure | null, key: string | null): void {
    const { provider, model } = this.#route!;
    const endedAt = performance.now();
    this.ended.push({ provider, model, key, startedAt: this.#startedAt, endedAt, failure });
    this.#trace?.end(failure, key);
  }

  discard(): void {
    this.#trace?.discard();
  }
}
