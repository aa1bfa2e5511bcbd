import type { TextRequest } from '../canonical/canonical.ts';
import type { RequestEmulation } from './emulation.ts';

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
