import type { NativePart, TextRequest } from '../canonical/canonical.ts';
import type { Inspection } from '../dialects/inspection.ts';
import { leaveOut, type Remaining } from './leave-out.ts';

/** A request for an upstream of another format, which knows none of the items that the client's format stores. */
export function withoutReferences(request: TextRequest, { uses }: Inspection): Remaining {
  const items = new Set<unknown>();
  for (const { feature, path } of uses) if (feature === 'item_reference') items.add(itemOf(path));
  const uncallable = request.turns.flatMap(({ parts }) =>
    parts.filter((part): part is NativePart => part.type === 'native' && items.has(part.path)),
  );
  const isOnly = request.turns.every(({ parts }) => {
    return parts.every((part) => part.type === 'native' && items.has(part.path));
  });
  return leaveOut(request, { uncallable: isOnly ? [] : uncallable, hosted: [] });
}

/** The path of the item that an identifier belongs to; null for an identifier of anything else. */
export function itemOf(path: string): string | null {
  return path.endsWith('.id') ? path.slice(0, -'.id'.length) : null;
}
