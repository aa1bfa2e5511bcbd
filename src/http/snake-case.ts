/** A property's name as responses under `/v1` have it: `createdAt` is `created_at`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A copy of plain JSON in which the properties of all records have such names. */
export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, one]) => [snakeCase(name), snakeCased(one)]);
  return Object.fromEntries(members);
}
