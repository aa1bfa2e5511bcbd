import type { NativePart, TextRequest, Tool, ToolReference } from '../canonical/canonical.ts';
import { invalid } from '../dialects/request-errors.ts';
import { pathOf } from '../dialects/request-settings.ts';
import type { RequestEmulation } from './emulation.ts';

/** Tools that a choice may allow: each is compared with every tool of the request. */
const MAX_ALLOWED = 512;

/** Refuses a choice among too many tools. */
export function checkAllowedTools(request: TextRequest): void {
  const { toolChoice } = request;
  if (toolChoice?.type !== 'allowed' || toolChoice.tools.length <= MAX_ALLOWED) return;
  const expected = `expected at most ${MAX_ALLOWED} allowed tools`;
  throw invalid(pathOf(request, 'toolChoice'), `${expected}, received ${toolChoice.tools.length}`);
}

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
  { type, name, namespace, value }: ToolReference,
): boolean {
  if (type === 'namespace') return tool.namespace?.name === name;
  if (tool.type === 'native') return type === 'native' && isSameNative(tool.value, value);
  const isSpace = namespace === null || tool.namespace?.name === namespace;
  return type === 'tool' && tool.name === name && isSpace;
}

/** Whether a native tool has every property of a reference: its type, and the label of a server. */
function isSameNative(tool: unknown, reference: ToolReference['value']): boolean {
  const own = tool as ToolReference['value'] | null;
  return Object.entries(reference).every(([name, value]) => own?.[name] === value);
}
