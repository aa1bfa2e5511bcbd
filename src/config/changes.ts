import { formatPath } from '../schema/faults.ts';
import { isObject } from '../schema/untrusted.ts';
import type { Path } from '../schema/walk.ts';

/** Paths of the settings in which two configurations differ. */
export function changedSettings(before: unknown, after: unknown, path: Path = []): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(before) || !isObject(after)) return [formatPath(path)];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => changedSettings(before[name], after[name], [...path, name]));
}
