import type { TextRequest } from '../canonical.ts';
import type { Emulated } from './emulation.ts';

/** Tools that messages add: tools of the request, since the model can call them in any case when it answers. */
export function emulateAddedTools(request: TextRequest): Emulated | null {
  const added = request.turns.flatMap((turn) => turn.tools ?? []);
  if (added.length === 0) return null;
  const turns = request.turns.flatMap((turn) => {
    if (turn.tools === null) return [turn];
    return turn.parts.length === 0 ? [] : [{ ...turn, tools: null }];
  });
  return { request: { ...request, tools: [...request.tools, ...added], turns } };
}
