import type { Failure } from '../failure.ts';
import { withTexts } from './redaction.ts';
import type { Route, RouteCandidate } from './route-candidates.ts';

/** Whether an input is longer than the context window of the route that refused it. */
export function isOverflow({ type, code }: Failure): boolean {
  return type === 'invalid_request' && code === 'context_length_exceeded';
}

/** The attempts at one request since a context window was too small for it: only larger ones are tried then. */
export class Overflow<RouteType extends Route> {
  readonly #windowOf: (candidate: RouteCandidate<RouteType>) => number;
  readonly #tries: string[] = [];
  #largest = -1;
  /** The largest window of a route that failed for another reason. */
  #otherwise = -1;

  /** @param windowOf tokens that a route can read; 0 where they are unknown */
  constructor(windowOf: (candidate: RouteCandidate<RouteType>) => number) {
    this.#windowOf = windowOf;
  }

  /** Whether a route cannot read more than one whose window was too small. */
  excludes(candidate: RouteCandidate<RouteType>): boolean {
    return this.#windowOf(candidate) <= this.#largest;
  }

  /** Records a failed attempt. @returns whether it says more than those before it */
  add(candidate: RouteCandidate<RouteType>, failure: Failure): boolean {
    const window = this.#windowOf(candidate);
    if (isOverflow(failure)) this.#largest = Math.max(this.#largest, window);
    else this.#otherwise = Math.max(this.#otherwise, window);
    const size = window === 0 ? 'unknown window' : `${window} tokens`;
    this.#tries.push(`${size}: ${failure.code ?? failure.type}`);
    // A route that could read the request, and failed, may answer it later.
    return !isOverflow(failure) || window >= this.#otherwise;
  }

  /** The failure of a request, with all tries where an overflow is one of several. */
  explain(failure: Failure): Failure {
    if (this.#largest === -1 || this.#tries.length < 2) return failure;
    const { message, param, code, detail } = failure;
    const tried = `${message} (routes tried, by context window: ${this.#tries.join('; ')})`;
    return withTexts(failure, { message: tried, param, code, detail });
  }
}
