import { getOrInsert } from '../../maps.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import { keysOf } from '../dialects/request-settings.ts';

/** A path of a request's field, and the paths of all that it is within: `a[0].b`, `a[0]`, `a`. */
export function withAncestors(path: string): readonly string[] {
  const paths = [path];
  for (let end = path.length - 1; end > 0; end -= 1) {
    if (path[end] === '.' || path[end] === '[') paths.push(path.slice(0, end));
  }
  return paths;
}

/** Whether a path is one of others, or within one of them. */
export function isWithin(path: string, others: ReadonlySet<string>): boolean {
  return others.size > 0 && withAncestors(path).some((one) => others.has(one));
}

/** What is removed below a value, by property or index; an empty map for the value itself. */
type Removals = Map<string, Removals>;

/**
 * A copy of a body without what is at some paths. A list that this empties goes too, with the object
 * that it is the content of: a message without parts, a group without tools.
 */
export function withoutPaths(body: Json, paths: readonly string[]): Json {
  const removals: Removals = new Map();
  for (const path of paths) {
    let at = removals;
    for (const key of keysOf(path)) at = getOrInsert(at, key, (): Removals => new Map());
  }
  const left: Record<string, unknown> = { ...body };
  for (const [name, below] of removals) removeFrom(left, name, below);
  return left;
}

/** @returns undefined where nothing is left */
function without(value: unknown, removals: Removals): unknown {
  if (removals.size === 0) return undefined;
  if (Array.isArray(value)) {
    const left = value.flatMap((one, index) => {
      const below = removals.get(String(index));
      const kept = below === undefined ? one : without(one, below);
      return kept === undefined ? [] : [kept];
    });
    return left.length > 0 ? left : undefined;
  }
  if (!isObject(value)) return value;
  const left: Record<string, unknown> = { ...value };
  let isEmptied = false;
  for (const [name, below] of removals) {
    removeFrom(left, name, below);
    if (below.size > 0 && !(name in left)) isEmptied = true;
  }
  const isLeft = isEmptied ? 'content' in left : Object.keys(left).length > 0;
  return isLeft ? left : undefined;
}

function removeFrom(object: Record<string, unknown>, name: string, removals: Removals): void {
  const left = without(object[name], removals);
  if (left === undefined) delete object[name];
  else object[name] = left;
}
