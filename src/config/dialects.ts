/** What the configuration and the catalog know of a wire format of text. */
interface DeclaredDialect {
  readonly name: string;
  readonly endpoints: readonly { readonly path: string }[];
}

/** Names of dialects that routes may have, in the order in which they were declared. */
export const DIALECT_NAMES: string[] = [];

/** Paths on which clients send requests for text. */
export const TEXT_ENDPOINTS: string[] = [];

/**
 * Declares a dialect. `text/dialects/registry.ts` calls this for each dialect that it registers: a
 * process that loads a configuration imports `text/dialects/built-in.ts` before.
 */
export function declareDialect({ name, endpoints }: DeclaredDialect): void {
  DIALECT_NAMES.push(name);
  TEXT_ENDPOINTS.push(...endpoints.map(({ path }) => path));
}
