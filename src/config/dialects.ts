/** Properties of a text dialect for the configuration and the catalog. */
interface DeclaredDialect {
  readonly name: string;
  readonly upstreamDialect?: string;
  readonly endpoints: readonly { readonly path: string }[];
}

/** Names of the dialects that routes may use, in the order of their declarations. */
export const DIALECT_NAMES: string[] = [];

/** Paths on which clients send requests for text. */
export const TEXT_ENDPOINTS: string[] = [];

/**
 * Declares a dialect. `text/dialects/registry.ts` calls this for each dialect that it registers: a
 * process that loads a configuration imports `text/dialects/built-in.ts` before.
 */
export function declareDialect({ name, upstreamDialect, endpoints }: DeclaredDialect): void {
  if (upstreamDialect === undefined) DIALECT_NAMES.push(name);
  TEXT_ENDPOINTS.push(...endpoints.map(({ path }) => readablePath(path)));
}

/** A path in Fastify's notation without expressions and escapes: `/models/:model:stream`. */
function readablePath(path: string): string {
  return path.replace(/\([^)]*\)/g, '').replaceAll('::', ':');
}
