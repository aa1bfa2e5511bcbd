import { matchesPattern, WILDCARD } from '../../schema/pattern.ts';
import type { Config, Model } from '../settings/schema.ts';

type Models = Config['models'];

/** An identifier with a wildcard: `claude-*`, in which `*` stands for one character or more of a requested name. */
export interface Wildcard {
  readonly id: string;
  readonly prefix: string;
  readonly suffix: string;
}

/** The entry of the catalog that a requested name stands for. */
export interface NamedEntry {
  /** Its identifier, one of those in the configuration. */
  readonly id: string;
  /** The part of the name that the wildcard stands for; null if the identifier has none. */
  readonly part: string | null;
}

interface NameIndex {
  /** Identifiers without wildcards by themselves and by their aliases. */
  readonly exact: ReadonlyMap<string, string>;
  /** The longest first. */
  readonly wildcards: readonly Wildcard[];
}

/** Names that wildcards take: they become parts of paths and bodies of requests to providers. */
const NAME = /^(?!.*(?:\.\.|\/\/))[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,255}$/;

const indexes = new WeakMap<Models, NameIndex>();

/** Names of models of the store that are at fault, for the message to their clients. */
const unavailable = new WeakMap<Models, ReadonlySet<string>>();

export function setUnavailable(models: Models, names: ReadonlySet<string>): void {
  unavailable.set(models, names);
}

/** Whether a name that has no entry is that of a model whose entry is at fault. */
export function isUnavailable(models: Models, name: string): boolean {
  return unavailable.get(models)?.has(name) ?? false;
}

export function wildcardOf(id: string): Wildcard | null {
  const at = id.indexOf(WILDCARD);
  return at === -1 ? null : { id, prefix: id.slice(0, at), suffix: id.slice(at + 1) };
}

function indexOf(models: Models): NameIndex {
  const known = indexes.get(models);
  if (known) return known;
  const exact = new Map<string, string>();
  const wildcards: Wildcard[] = [];
  for (const [id, { aliases }] of Object.entries(models)) {
    const wildcard = wildcardOf(id);
    if (wildcard) wildcards.push(wildcard);
    else exact.set(id, id);
    for (const alias of aliases ?? []) exact.set(alias, id);
  }
  wildcards.sort((a, b) => b.id.length - a.id.length);
  const index = { exact, wildcards };
  indexes.set(models, index);
  return index;
}

/**
 * Finds the entry for a requested name: one with that identifier or alias, or else the one with the
 * longest wildcard.
 */
export function entryNamed(models: Models, name: string): NamedEntry | null {
  const { exact, wildcards } = indexOf(models);
  const id = exact.get(name);
  if (id !== undefined) return { id, part: null };
  if (wildcards.length === 0 || !NAME.test(name)) return null;
  for (const { id: wildcardId, prefix, suffix } of wildcards) {
    const end = name.length - suffix.length;
    if (end <= prefix.length || !name.startsWith(prefix) || !name.endsWith(suffix)) continue;
    return { id: wildcardId, part: name.slice(prefix.length, end) };
  }
  return null;
}

/**
 * Whether a key's list of models includes a name. Items of the list are identifiers, aliases, names for
 * a wildcard, and patterns. An alias stands for its model in both: patterns are matched with the
 * identifier of the model, so that no alias avoids the list.
 *
 * @param allowed null for all models
 */
export function isAllowed(
  models: Models,
  { id, part }: NamedEntry,
  name: string,
  allowed: readonly string[] | null,
): boolean {
  if (allowed === null || allowed.includes(id)) return true;
  const { exact } = indexOf(models);
  const compared = part === null ? id : name;
  return allowed.some((item) =>
    item.includes(WILDCARD)
      ? matchesPattern(item, compared)
      : item === compared || exact.get(item) === id,
  );
}

/** The provider's name of the model: that of the route, with the wildcard's part inserted. */
export function upstreamModelOf(route: Model['routes'][number], part: string | null): string {
  return nameOf(route.model, part);
}

/** A name whose wildcard is replaced. */
export function nameOf(name: string, part: string | null): string {
  return part === null ? name : name.replace(WILDCARD, () => part);
}

/** Whether some name matches two wildcards of the same length, so that none is the longest. */
export function areAmbiguous(one: Wildcard, other: Wildcard): boolean {
  if (one.id.length !== other.id.length || one.id === other.id) return false;
  const prefixes = one.prefix.startsWith(other.prefix) || other.prefix.startsWith(one.prefix);
  const suffixes = one.suffix.endsWith(other.suffix) || other.suffix.endsWith(one.suffix);
  return prefixes && suffixes;
}

/** Identifiers and aliases of all models. @param models of a configuration, which need not be valid */
export function allNames(models: unknown): readonly string[] {
  if (typeof models !== 'object' || models === null) return [];
  return Object.entries(models).flatMap(([id, model]: [string, unknown]) => {
    const { aliases } = (model ?? {}) as { readonly aliases?: unknown };
    return [id, ...(Array.isArray(aliases) ? aliases.map(String) : [])];
  });
}
