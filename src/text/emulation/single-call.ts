import type { TextRequest } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { RequestEmulation } from './emulation.ts';

/** At most one call in an answer, where an upstream cannot be limited to it: the client gets the first one. */
export function emulateSingleCall(
  request: TextRequest,
  { dialect }: Target,
): RequestEmulation | null {
  if (request.parallelToolCalls !== false) return null;
  if (dialectNamed(dialect).settings.parallelToolCalls !== undefined) return null;
  return {
    request: { ...request, parallelToolCalls: null },
    // Leaves out the calls after the first one. The model makes them again when it has the first result.
    filter: ({ emit }) => {
      let hasCall = false;
      /** Number of the block that is left out; null for none. */
      let skipped: number | null = null;
      return (event) => {
        if (event.type === 'tool-start') {
          if (hasCall) skipped = event.block;
          hasCall = true;
        }
        if (!('block' in event) || event.block !== skipped) emit(event);
      };
    },
  };
}
