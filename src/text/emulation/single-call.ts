import type { TextRequest } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { EmulatedAnswer, RequestEmulation } from './emulation.ts';

/** At most one call in an answer, where an upstream cannot be limited to it: the client gets the first one. */
export function emulateSingleCall(
  request: TextRequest,
  { dialect }: Target,
): RequestEmulation | null {
  if (request.parallelToolCalls !== false) return null;
  if (dialectNamed(dialect).settings.parallelToolCalls !== undefined) return null;
  return {
    request: { ...request, parallelToolCalls: null },
    filter: (answer) => {
      const filter = new FirstCallFilter(answer);
      return (event) => filter.push(event);
    },
  };
}

/** Leaves out the calls after the first one. The model makes them again when it has the first result. */
class FirstCallFilter {
  readonly #answer: EmulatedAnswer;
  #hasCall = false;
  /** Number of the block that is left out; null for none. */
  #skipped: number | null = null;

  constructor(answer: EmulatedAnswer) {
    this.#answer = answer;
  }

  push(event: TextEvent): void {
    if (event.type === 'tool-start') {
      if (this.#hasCall) this.#skipped = event.block;
      this.#hasCall = true;
    }
    const isSkipped = 'block' in event && event.block === this.#skipped;
    if (!isSkipped) this.#answer.emit(event);
  }
}
