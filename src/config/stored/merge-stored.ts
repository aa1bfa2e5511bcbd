import { basename } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { checkAll, type FormatValue, formatPath, formatValue } from '../../schema/faults.ts';
import { metadataOf } from '../../schema/fields.ts';
import { named } from '../../schema/invalid.ts';
import { isObject, listOf, objectOf } from '../../schema/untrusted.ts';
import { schemaAt } from '../../schema/walk.ts';
import type { ConfigEntry, ConfigKind } from '../../store/config-entry.ts';
import { SecretKeys } from '../../store/secret-key.ts';
import { allNames, setUnavailable } from '../catalog/model-names.ts';
import { crossFaults } from '../loading/cross-faults.ts';
import type { LoadedConfig } from '../loading/load.ts';
import { type Config, configSchema } from '../settings/schema.ts';

/** The part of a configuration file that outweighs the store. */
export type FileCatalog = Pick<LoadedConfig, 'file' | 'settings'>;

/** Why an entry of the store is not in force: the file has its name, or it is at fault; null where it is in force. */
export type EntryFault = {
  readonly status: 'shadowed' | 'unavailable';
  readonly reason: string;
} | null;

/** The entries of a store beside a configuration file. */
export type StoredCatalog = ReturnType<typeof mergeStored>;

type Raw = Record<string, Record<string, unknown>>;

const SECTIONS = { provider: 'providers', model: 'models' } as const;

export const keyOfEntry = ({ kind, name }: Pick<ConfigEntry, 'kind' | 'name'>) => `${kind} ${name}`;

/** What the secrets of a provider belong to: elsewhere, as at another address, they cannot be decrypted. */
export function secretsContext({ kind, name, settings }: ConfigEntry): string {
  return JSON.stringify([kind, name, settings['kind'], settings['baseUrl']]);
}

/** Providers or models of the file as they are written; the sandbox's catalog gives way to the store. */
export function fileSection({ settings }: FileCatalog, kind: ConfigKind): Raw {
  return (settings.isSandbox ? {} : objectOf(settings.value[SECTIONS[kind]])) as Raw;
}

/** The place of a provider or a model in the file: `oriel.yaml:12`; null where the file does not have it. */
export function placeInFile(catalog: FileCatalog, kind: ConfigKind, name: string): string | null {
  const { file, settings } = catalog;
  if (file === null || !Object.hasOwn(fileSection(catalog, kind), name)) return null;
  return `${basename(file)}:${settings.document.line([SECTIONS[kind], name])}`;
}

const entrySchema = v.strictObject({
  providers: configSchema.entries.providers,
  models: configSchema.entries.models,
});

/** Values that may be secret are not quoted. */
const formatIn =
  (value: unknown): FormatValue =>
  (received, path) => {
    const found = schemaAt(entrySchema, value, path);
    const { secret } = found ? metadataOf(found.schema) : {};
    if (received === undefined || received === null) return 'nothing';
    return secret === 'always' || secret === 'url' ? 'something else' : formatValue(received, path);
  };

/** Merges entries of a store with a configuration file, which wins by name. Never throws for an entry. */
export function mergeStored(catalog: FileCatalog, stored: readonly ConfigEntry[], keyFile: string) {
  const faults = new Map<string, NonNullable<EntryFault>>();
  // A later version may write other entries.
  const entries = stored.map((entry) => ({ ...entry, settings: objectOf(entry.settings) }));
  const file = {
    providers: fileSection(catalog, 'provider'),
    models: fileSection(catalog, 'model'),
  };
  let keys: SecretKeys | undefined;

  const providers = rawProviders();
  for (;;) {
    const known = faults.size;
    const models = rawModels(providers);
    checkTogether(providers, models);
    if (faults.size > known) continue;
    const parsed = v.parse(entrySchema, { providers, models }) as Pick<
      Config,
      'providers' | 'models'
    >;
    return {
      ...parsed,
      faults: faults as ReadonlyMap<string, NonNullable<EntryFault>>,
      /** Names and aliases of models that are not in force because of a fault. */
      unavailable: unavailableNames(),
      /** Whether the sandbox's catalog, which a file without providers and models has, gives way. */
      // By a model at fault too: a lost key file must not offer the sandbox to clients.
      replacesSandbox: catalog.settings.isSandbox && entries.some(({ kind }) => kind === 'model'),
    };
  }

  function entriesOf(kind: ConfigKind): readonly ConfigEntry[] {
    return entries.filter((entry) => entry.kind === kind && !faults.has(keyOfEntry(entry)));
  }

  function exclude(kind: ConfigKind, name: string, reason: string): void {
    const key = keyOfEntry({ kind, name });
    if (!faults.has(key)) faults.set(key, { status: 'unavailable', reason });
  }

  function shadow(entry: ConfigEntry, place: string | null): void {
    const reason = `the configuration file has ${place ?? 'this name as an alias'}`;
    faults.set(keyOfEntry(entry), { status: 'shadowed', reason });
  }

  function rawProviders(): Raw {
    const found: Raw = {};
    for (const entry of entriesOf('provider')) {
      const { kind, name, settings, secrets } = entry;
      if (Object.hasOwn(file.providers, name)) {
        shadow(entry, placeInFile(catalog, kind, name));
        continue;
      }
      try {
        if (secrets) keys ??= SecretKeys.read(keyFile);
        const opened = secrets && keys!.open(secrets, secretsContext(entry));
        const value = { ...settings, ...opened };
        if (isValid(kind, name, value)) found[name] = value;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        exclude(kind, name, error.message);
      }
    }
    return found;
  }

  /** Models without the routes whose provider is unavailable, and without the aliases that the file has. */
  function rawModels(providers: Raw): Raw {
    const taken = new Set(allNames(file.models));
    const found: Raw = {};
    for (const entry of entriesOf('model')) {
      const { kind, name, settings } = entry;
      if (taken.has(name)) {
        shadow(entry, placeInFile(catalog, kind, name));
        continue;
      }
      const { aliases, ...others } = settings;
      const routes = listOf(settings['routes']).map(objectOf);
      const usable = routes.filter(({ provider }) =>
        [providers, file.providers].some((all) => Object.hasOwn(all, String(provider))),
      );
      if (usable.length === 0) {
        exclude(kind, name, reasonOf(String(routes[0]?.['provider'])));
        continue;
      }
      const own = listOf(aliases).filter((alias) => !taken.has(String(alias)));
      const value = { ...others, routes: usable, ...(own.length > 0 && { aliases: own }) };
      if (isValid(kind, name, value)) found[name] = value;
    }
    return found;
  }

  function reasonOf(provider: string): string {
    const fault = faults.get(keyOfEntry({ kind: 'provider', name: provider }));
    if (fault) return `its provider ${provider} is unavailable: ${fault.reason}`;
    return `there is no provider ${JSON.stringify(provider)}`;
  }

  function isValid(kind: ConfigKind, name: string, value: object): boolean {
    const section = SECTIONS[kind];
    const whole = { [section]: { [name]: value } };
    const checked = checkAll(entrySchema, whole, formatIn(whole));
    if ('faults' in checked) {
      const faults = checked.faults.map(({ path, message }) => named(formatPath(path), message));
      exclude(kind, name, faults.slice(0, 10).join('; '));
    } else if (!Object.hasOwn(checked.output[section], name)) {
      exclude(kind, name, `${name}: this name cannot be used`);
    }
    return !faults.has(keyOfEntry({ kind, name }));
  }

  /** Excludes entries that do not fit the file or one another. */
  function checkTogether(providers: Raw, models: Raw): void {
    const all = {
      providers: { ...file.providers, ...providers },
      models: { ...file.models, ...models },
    };
    for (const { path, message } of crossFaults(all, formatIn(all))) {
      const [section, name = ''] = path.map(String);
      const reason = named(formatPath(path), message);
      if (section === 'models' && Object.hasOwn(models, name)) exclude('model', name, reason);
      else if (section === 'providers') {
        if (Object.hasOwn(providers, name)) {
          exclude('provider', name, reason);
          delete providers[name];
        }
        // A provider of the file that was not used, such as one with an empty key.
        for (const [id, { routes }] of Object.entries(models)) {
          const uses = listOf(routes).some((one) => isObject(one) && one['provider'] === name);
          if (uses) exclude('model', id, reason);
        }
      }
    }
  }

  function unavailableNames(): ReadonlySet<string> {
    const names = entries.filter((entry) => {
      return entry.kind === 'model' && faults.get(keyOfEntry(entry))?.status === 'unavailable';
    });
    return new Set(names.flatMap(({ name, settings }) => allNames({ [name]: settings })));
  }
}

/** The configuration in force. */
export function withStored(base: Config, stored: StoredCatalog): Config {
  const file = stored.replacesSandbox ? { providers: {}, models: {} } : base;
  const providers = Object.freeze({ ...stored.providers, ...file.providers });
  const models = Object.freeze({ ...stored.models, ...file.models });
  setUnavailable(models, stored.unavailable);
  return Object.freeze({ ...base, providers, models });
}
