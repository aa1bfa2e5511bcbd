import { invalid } from '../../schema/invalid.ts';
import type { NativePart, TextRequest, Tool, ToolReference } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { pathOf } from '../dialects/request-settings.ts';
import type { RequestEmulation } from './emulation.ts';

/** A choice among some of the tools: the upstream is sent no others. */
export function emulateAllowedTools(request: TextRequest): RequestEmulation | null {
  const { toolChoice } = request;
  if (toolChoice?.type !== 'allowed') return null;
  const { mode, tools: references } = toolChoice;
  const path = pathOf(request, 'toolChoice');
  for (const reference of references) {
    if (reference.type === 'native') continue;
    if (request.tools.some((tool) => isReferenced(tool, reference))) continue;
    throw invalid(path, `there is no tool ${JSON.stringify(reference.name)} in the request`);
  }
  const tools = request.tools.filter((tool) => {
    return references.some((reference) => isReferenced(tool, reference));
  });
  if (tools.length === 0 && mode === 'required') {
    throw invalid(path, 'requires a call of one of the allowed tools, of which there are none');
  }
  return { request: { ...request, tools, toolChoice: tools.length > 0 ? { type: mode } : null } };
}

export function isReferenced(
  tool: Tool | NativePart,
  { type, name, namespace, members }: ToolReference,
): boolean {
  if (type === 'namespace') return tool.namespace?.name === name;
  if (tool.type === 'native') return type === 'native' && isSameNative(tool.value, members);
  const isSpace = namespace === null || tool.namespace?.name === namespace;
  return type === 'tool' && tool.name === name && isSpace;
}

/** Whether a native tool has every property of a reference: its type, and the label of a server. */
function isSameNative(tool: unknown, members: ToolReference['members']): boolean {
  const own = tool as ToolReference['value'] | null;
  return members.every(([name, value]) => own?.[name] === value);
}

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

/** The tool by which a client finds further tools: a function, whose calls are searches for the client. */
export function emulateToolSearch(request: TextRequest): RequestEmulation | null {
  const names = new Set(
    request.tools.flatMap((tool) => (tool.type === 'tool' && tool.isSearch ? [tool.name] : [])),
  );
  if (names.size === 0) return null;
  return {
    request,
    filter:
      ({ emit }) =>
      (event) => {
        const isSearch = event.type === 'tool-start' && names.has(event.name);
        emit(isSearch ? { ...event, isSearch: true } : event);
      },
  };
}

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
