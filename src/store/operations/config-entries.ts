import { Failure } from '../../failure.ts';
import type { ConfigChange, ConfigEntry, ConfigKind } from '../config-entry.ts';
import { conflict, notFound } from '../errors.ts';

/** Entries of a store: every change of one reads all. */
const MAX_ENTRIES = 1000;

/** Characters of the settings of an entry as JSON. */
const MAX_SETTINGS = 64_000;

export function findEntry(
  entries: readonly ConfigEntry[],
  kind: ConfigKind,
  name: string,
): ConfigEntry | undefined {
  return entries.find((entry) => entry.kind === kind && entry.name === name);
}

/** Names of the providers of a model's routes. */
function providersOf({ settings }: ConfigEntry): readonly unknown[] {
  const { routes } = settings as { readonly routes?: readonly { readonly provider?: unknown }[] };
  return (routes ?? []).map(({ provider }) => provider);
}

/** Adds an entry. @throws Failure 409 `provider_exists` or `model_exists`, 400 for too many entries */
export function addEntry(entry: ConfigEntry): ConfigChange {
  checkSize(entry);
  return (entries) => {
    const { kind, name } = entry;
    const existing = findEntry(entries, kind, name);
    if (existing && existing.id !== entry.id) {
      const message = `there is a ${kind} ${JSON.stringify(name)} already; change it with oriel ${kind}s set`;
      throw conflict(message, `${kind}_exists`);
    }
    if (entries.length >= MAX_ENTRIES) {
      const message = `expected at most ${MAX_ENTRIES} providers and models in the store`;
      throw new Failure('invalid_request', message);
    }
    return entry;
  };
}

/** Changes an entry as it is under the lock, so that no concurrent change is lost. */
export function changeEntry(
  kind: ConfigKind,
  name: string,
  next: (entry: ConfigEntry) => ConfigEntry,
): ConfigChange {
  return (entries) => {
    const found = findEntry(entries, kind, name);
    if (!found) throw notFound(kind, name);
    const changed = next(found);
    checkSize(changed);
    return changed;
  };
}

/** Removes an entry. @throws Failure 409 `provider_in_use` for a provider that models have routes to */
export function removeEntry(kind: ConfigKind, name: string): ConfigChange {
  return (entries) => {
    if (!findEntry(entries, kind, name)) throw notFound(kind, name);
    const users = entries.filter(
      (entry) => kind === 'provider' && entry.kind === 'model' && providersOf(entry).includes(name),
    );
    if (users.length > 0) {
      const models = users.map((entry) => entry.name);
      const shown = models.slice(0, 10).join(', ') + (models.length > 10 ? ' and more' : '');
      const message = `the provider ${JSON.stringify(name)} has routes of the models ${shown}; remove these first`;
      throw conflict(message, 'provider_in_use');
    }
    return null;
  };
}

function checkSize({ kind, name, settings }: ConfigEntry): void {
  if (JSON.stringify(settings).length <= MAX_SETTINGS) return;
  const message = `the ${kind} ${JSON.stringify(name)}: expected settings of at most ${MAX_SETTINGS} characters`;
  throw new Failure('invalid_request', message);
}
