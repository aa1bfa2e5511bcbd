import { declareDialect } from '../../config/settings/dialects.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Dialect } from './dialect.ts';

const DIALECTS = new Map<string, Dialect>();

/** A pattern of each path on which clients speak a dialect. */
const PATTERNS: (readonly [RegExp, Dialect])[] = [];

/** Adds a wire format of text. `built-in-dialects.ts` adds those of this program. */
export function registerDialect(dialect: Dialect): void {
  if (DIALECTS.has(dialect.name)) throw new Error(`The dialect ${dialect.name} exists already`);
  DIALECTS.set(dialect.name, dialect);
  const { counting } = dialect;
  const endpoints = counting ? [...dialect.endpoints, counting.endpoint] : dialect.endpoints;
  declareDialect({ ...dialect, endpoints });
  const paths = endpoints.flatMap(({ path, aliases = [] }) => [path, ...aliases].map(patternOf));
  const { modelListing, otherPaths } = dialect;
  for (const path of [otherPaths, modelListing?.path]) {
    if (path) paths.push(new RegExp(`^${path}(/.*)?$`));
  }
  for (const pattern of paths) PATTERNS.push([pattern, dialect]);
}

/** All wire formats, in the order in which they were registered. */
export const allDialects = (): readonly Dialect[] => [...DIALECTS.values()];

export const hasDialect = (name: string): boolean => DIALECTS.has(name);

export function dialectNamed(name: string): Dialect {
  const dialect = DIALECTS.get(name);
  if (dialect === undefined) throw new Error(`The dialect ${name} is not registered`);
  return dialect;
}

/** The dialect of a client's requests to upstreams that speak all dialects. */
export function upstreamDialectOf(client: string): string {
  return dialectNamed(client).upstreamDialect ?? client;
}

/** The dialect of the endpoint with a path, or else of clients that send such headers; undefined for others. */
export function dialectAt(path: string, headers: Json = {}): Dialect | undefined {
  const found = PATTERNS.find(([pattern]) => pattern.test(path))?.[1];
  return found ?? allDialects().find((one) => one.modelListing && headers[one.modelListing.header]);
}

/** A path in Fastify's notation as an expression: `/models/:model/stream`, `/models/:model(^[^/]+)::stream`. */
function patternOf(path: string): RegExp {
  const parts = path.split(/(::|:\w+(?:\([^)]*\))?)/).map((part) => {
    if (part === '::') return ':';
    return part.startsWith(':') ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}
