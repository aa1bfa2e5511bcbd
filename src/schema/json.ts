/**
 * Levels of lists and objects in one another that are taken. `JSON.parse` takes any number of them,
 * but all that goes through a value level by level, `JSON.stringify` first, would run out of stack.
 */
export const DEEPEST = 1000;

/** Whether a value as `JSON.parse` gives it has more levels than are taken. */
export function isTooDeep(value: unknown, levels = DEEPEST): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, levels - 1));
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) if (isTooDeep(fields[name], levels - 1)) return true;
  return false;
}

/**
 * JSON that others wrote, as a value.
 *
 * @throws SyntaxError where it is none, or has more levels than are taken
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Each level takes two characters: most texts cannot be too deep.
  if (text.length > 2 * DEEPEST && isTooDeep(value)) throw new SyntaxError('nested too deep');
  return value;
}

/** JSON that others wrote, as a value; undefined where it is none, or has more levels than are taken. */
export function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
