/** Properties of a text dialect for the configuration and the catalog. */
interface DeclaredDialect {
  readonly name: string;
  readonly upstreamDialect?: string;
  readonly endpoints: readonly { readonly path: string }[];
  readonly fields: { readonly entries: ReadonlyMap<string, unknown> };
  readonly settings: Readonly<Record<string, readonly string[]>>;
  readonly withCacheMarks?: unknown;
}

/** Names of the dialects that routes may use, in the order of their declarations. */
export const DIALECT_NAMES: string[] = [];

/** Those that clients speak too, as every server with Oriel's interface does. */
export const CLIENT_DIALECTS: string[] = [];

/** Names of the dialects whose requests can get marks for the provider's prompt cache. */
export const MARKED_DIALECTS: string[] = [];

/** Paths on which clients send requests for text. */
export const TEXT_ENDPOINTS: string[] = [];

/** Names of fields that a model or a route may leave out where an upstream cannot express them. */
const FIELD_NAMES = new Set<string>(['name']);

/** Whether a request of some dialect has a field of this name, or at this path: `text.verbosity`. */
export function isFieldName(name: string): boolean {
  return FIELD_NAMES.has(name.replace(/^messages\[\]\./, ''));
}

/**
 * Declares a dialect. `text/dialects/registry.ts` calls this for each dialect that it registers: a
 * process that loads a configuration imports `text/built-in-dialects.ts` before.
 */
export function declareDialect(dialect: DeclaredDialect): void {
  const { name, upstreamDialect, endpoints, fields, settings } = dialect;
  if (upstreamDialect === undefined) {
    DIALECT_NAMES.push(name);
    if (endpoints.length > 0) CLIENT_DIALECTS.push(name);
  }
  if (dialect.withCacheMarks !== undefined) MARKED_DIALECTS.push(name);
  TEXT_ENDPOINTS.push(...endpoints.map(({ path }) => readablePath(path)));
  const paths = [...fields.entries.keys(), ...Object.values(settings).flat()];
  for (const path of paths) FIELD_NAMES.add(path).add(path.replace(/^.*\./, ''));
}

/** A path in Fastify's notation without expressions and escapes: `/models/:model:stream`. */
const readablePath = (path: string): string => path.replace(/\([^)]*\)/g, '').replaceAll('::', ':');
