/** The character of a pattern that stands for others. */
export const WILDCARD = '*';

/** Whether a name matches a pattern, in which each `*` stands for any characters. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...others] = pattern.split(WILDCARD);
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const literal of others) {
    const at = name.indexOf(literal, from);
    if (at === -1) return false;
    from = at + literal.length;
  }
  return from <= name.length - last.length;
}
