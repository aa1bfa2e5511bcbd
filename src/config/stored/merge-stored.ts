import { basename } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { checkAll, type FormatValue, formatPath, formatValue } from '../../schema/faults.ts';
import { metadataOf, named } from '../../schema/fields.ts';
import { isObject, listOf, objectOf } from '../../schema/untrusted.ts';
import { schemaAt } from '../../schema/walk.ts';
import type { ConfigEntry, ConfigKind } from '../../store/config-entry.ts';
import { SecretKeys } from '../../store/secret-key.ts';
import { allNames, setUnavailable } from '../catalog/model-names.ts';
import { crossFaults } from '../loading/check.ts';
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
export function mergeStored(
  catalog: FileCatalog,
  entries: readonly ConfigEntry[],
  keyFile: string,
) {
  return new Merge(catalog, entries, keyFile).run();
}

/** The configuration in force. */
export function withStored(base: Config, stored: StoredCatalog): Config {
  const file = stored.replacesSandbox ? { providers: {}, models: {} } : base;
  const providers = Object.freeze({ ...stored.providers, ...file.providers });
  const models = Object.freeze({ ...stored.models, ...file.models });
  setUnavailable(models, stored.unavailable);
  return Object.freeze({ ...base, providers, models });
}

class Merge {
  readonly #catalog: FileCatalog;
  readonly #entries: readonly ConfigEntry[];
  readonly #keyFile: string;
  readonly #faults = new Map<string, NonNullable<EntryFault>>();
  readonly #file: { readonly providers: Raw; readonly models: Raw };
  #keys: SecretKeys | undefined;

  constructor(catalog: FileCatalog, entries: readonly ConfigEntry[], keyFile: string) {
    this.#catalog = catalog;
    // A later version may write other entries.
    this.#entries = entries.map((entry) => ({ ...entry, settings: objectOf(entry.settings) }));
    this.#keyFile = keyFile;
    this.#file = {
      providers: fileSection(catalog, 'provider'),
      models: fileSection(catalog, 'model'),
    };
  }

  run() {
    const providers = this.#rawProviders();
    for (;;) {
      const known = this.#faults.size;
      const models = this.#rawModels(providers);
      this.#checkTogether(providers, models);
      if (this.#faults.size > known) continue;
      const parsed = v.parse(entrySchema, { providers, models }) as Pick<
        Config,
        'providers' | 'models'
      >;
      return {
        ...parsed,
        faults: this.#faults as ReadonlyMap<string, NonNullable<EntryFault>>,
        /** Names and aliases of models that are not in force because of a fault. */
        unavailable: this.#unavailableNames(),
        /** Whether the sandbox's catalog, which a file without providers and models has, gives way. */
        // By a model at fault too: a lost key file must not offer the sandbox to clients.
        replacesSandbox:
          this.#catalog.settings.isSandbox && this.#entries.some(({ kind }) => kind === 'model'),
      };
    }
  }

  #of(kind: ConfigKind): readonly ConfigEntry[] {
    return this.#entries.filter(
      (entry) => entry.kind === kind && !this.#faults.has(keyOfEntry(entry)),
    );
  }

  #exclude(kind: ConfigKind, name: string, reason: string): void {
    const key = keyOfEntry({ kind, name });
    if (!this.#faults.has(key)) this.#faults.set(key, { status: 'unavailable', reason });
  }

  #shadow(entry: ConfigEntry, place: string | null): void {
    const reason = `the configuration file has ${place ?? 'this name as an alias'}`;
    this.#faults.set(keyOfEntry(entry), { status: 'shadowed', reason });
  }

  #rawProviders(): Raw {
    const found: Raw = {};
    for (const entry of this.#of('provider')) {
      const { kind, name, settings, secrets } = entry;
      if (Object.hasOwn(this.#file.providers, name)) {
        this.#shadow(entry, placeInFile(this.#catalog, kind, name));
        continue;
      }
      try {
        if (secrets) this.#keys ??= SecretKeys.read(this.#keyFile);
        const opened = secrets && this.#keys!.open(secrets, secretsContext(entry));
        const value = { ...settings, ...opened };
        if (this.#isValid(kind, name, value)) found[name] = value;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        this.#exclude(kind, name, error.message);
      }
    }
    return found;
  }

  /** Models without the routes whose provider is unavailable, and without the aliases that the file has. */
  #rawModels(providers: Raw): Raw {
    const taken = new Set(allNames(this.#file.models));
    const found: Raw = {};
    for (const entry of this.#of('model')) {
      const { kind, name, settings } = entry;
      if (taken.has(name)) {
        this.#shadow(entry, placeInFile(this.#catalog, kind, name));
        continue;
      }
      const { aliases, ...others } = settings;
      const routes = listOf(settings['routes']).map(objectOf);
      const usable = routes.filter(({ provider }) =>
        [providers, this.#file.providers].some((all) => Object.hasOwn(all, String(provider))),
      );
      if (usable.length === 0) {
        this.#exclude(kind, name, this.#reasonOf(String(routes[0]?.['provider'])));
        continue;
      }
      const own = listOf(aliases).filter((alias) => !taken.has(String(alias)));
      const value = { ...others, routes: usable, ...(own.length > 0 && { aliases: own }) };
      if (this.#isValid(kind, name, value)) found[name] = value;
    }
    return found;
  }

  #reasonOf(provider: string): string {
    const fault = this.#faults.get(keyOfEntry({ kind: 'provider', name: provider }));
    if (fault) return `its provider ${provider} is unavailable: ${fault.reason}`;
    return `there is no provider ${JSON.stringify(provider)}`;
  }

  #isValid(kind: ConfigKind, name: string, value: object): boolean {
    const section = SECTIONS[kind];
    const whole = { [section]: { [name]: value } };
    const checked = checkAll(entrySchema, whole, formatIn(whole));
    if ('faults' in checked) {
      const faults = checked.faults.map(({ path, message }) => named(formatPath(path), message));
      this.#exclude(kind, name, faults.slice(0, 10).join('; '));
    } else if (!Object.hasOwn(checked.output[section], name)) {
      this.#exclude(kind, name, `${name}: this name cannot be used`);
    }
    return !this.#faults.has(keyOfEntry({ kind, name }));
  }

  /** Excludes entries that do not fit the file or one another. */
  #checkTogether(providers: Raw, models: Raw): void {
    const all = {
      providers: { ...this.#file.providers, ...providers },
      models: { ...this.#file.models, ...models },
    };
    for (const { path, message } of crossFaults(all, formatIn(all))) {
      const [section, name = ''] = path.map(String);
      const reason = named(formatPath(path), message);
      if (section === 'models' && Object.hasOwn(models, name)) this.#exclude('model', name, reason);
      else if (section === 'providers') {
        if (Object.hasOwn(providers, name)) {
          this.#exclude('provider', name, reason);
          delete providers[name];
        }
        // A provider of the file that was not used, such as one with an empty key.
        for (const [id, { routes }] of Object.entries(models)) {
          const uses = listOf(routes).some((one) => isObject(one) && one['provider'] === name);
          if (uses) this.#exclude('model', id, reason);
        }
      }
    }
  }

  #unavailableNames(): ReadonlySet<string> {
    const names = this.#entries.filter((entry) => {
      return (
        entry.kind === 'model' && this.#faults.get(keyOfEntry(entry))?.status === 'unavailable'
      );
    });
    return new Set(names.flatMap(({ name, settings }) => allNames({ [name]: settings })));
  }
}
