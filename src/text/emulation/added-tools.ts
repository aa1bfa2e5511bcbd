import type { TextRequest } from '../canonical/canonical.ts';
import type { RequestEmulation } from './emulation.ts';

/** Tools that messages add: tools of the request, since the model can call them in any case when it answers. */
export function emulateAddedTools(request: TextRequest): RequestEmulation | null {
  const added = request.turns.flatMap((turn) => turn.tools ?? []);
  if (added.length === 0) return null;
  const names = new Set<string>();
  // A tool may be added again.
  const tools = [...request.tools, ...added].filter((tool) => {
    return tool.type === 'native' || (!names.has(tool.name) && names.add(tool.name));
  });
  const turns = request.turns.flatMap((turn) => {
    if (turn.tools === null) return [turn];
    return turn.parts.length === 0 ? [] : [{ ...turn, tools: null }];
  });
  return { request: { ...request, tools, turns } };
}
