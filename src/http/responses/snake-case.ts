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

/** A JSON Schema of plain JSON, for the copy with such names. */
export function snakeCasedSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(snakeCasedSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === 'required') return [keyword, (value as string[]).map(snakeCase)];
    if (keyword !== 'properties') return [keyword, snakeCasedSchema(value)];
    const properties = Object.entries(value as object).map(([name, one]) => [
      snakeCase(name),
      snakeCasedSchema(one),
    ]);
    return [keyword, Object.fromEntries(properties)];
  });
  return Object.fromEntries(members);
}
