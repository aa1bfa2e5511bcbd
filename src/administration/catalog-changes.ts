import { providerSchema } from '../config/providers/provider-kinds.ts';
import type { Provider } from '../config/settings/schema.ts';
import {
  fileSection,
  keyOfEntry,
  mergeStored,
  placeInFile,
  secretsContext,
} from '../config/stored/merge-stored.ts';
import { codedFailure, Failure } from '../failure.ts';
import { checkAll, formatPath } from '../schema/faults.ts';
import { invalid, named } from '../schema/invalid.ts';
import { objectOf } from '../schema/untrusted.ts';
import type { ConfigChange, ConfigEntry, ConfigKind } from '../store/config-entry.ts';
import { newId } from '../store/identifier.ts';
import {
  addEntry,
  changeEntry,
  findEntry,
  removeEntry,
} from '../store/operations/config-entries.ts';
import { SecretKeys } from '../store/secret-key.ts';
import type { Store } from '../store/store.ts';
import { NetworkPolicy } from '../upstream/network-policy.ts';
import type { CatalogContext } from './catalog-context.ts';

type Json = Readonly<Record<string, unknown>>;

/** The settings of a provider or a model, with the secrets apart. */
export interface EntryContent {
  readonly settings: Json;
  /** Absent or empty without secrets. */
  readonly secrets?: Json;
}

/** Adds, changes and removes entries of the store, each under the store's lock and checked with all others. */
export class CatalogChanges {
  readonly #store: Store;
  readonly #context: CatalogContext;

  constructor(store: Store, context: CatalogContext) {
    this.#store = store;
    this.#context = context;
  }

  /** An entry to add, still without secrets. @throws Failure for a name that the file or the store has */
  async newEntry(kind: ConfigKind, name: string, settings: Json): Promise<ConfigEntry> {
    const place = placeInFile(this.#context.file, kind, name);
    if (place !== null) throw readOnly(kind, name, place);
    const now = this.#store.now;
    const named = { id: newId('cfg'), kind, name, createdAt: now, changedAt: now };
    const entry = { ...named, settings, secrets: null, hint: null };
    addEntry(entry)(await this.#store.listConfigEntries());
    return entry;
  }

  async add(entry: ConfigEntry, secrets: Json = {}): Promise<ConfigEntry> {
    const { kind, name, settings } = entry;
    const keys = await this.#keys(() => addEntry(entry), Object.keys(secrets).length > 0);
    return this.#change(kind, name, addEntry(sealed(entry, { settings, secrets }, keys)));
  }

  /**
   * @param next the content after the change; `secrets` are null where they cannot be decrypted
   * @param setsSecret whether a secret is to be encrypted
   */
  async set(
    kind: ConfigKind,
    name: string,
    next: (entry: ConfigEntry, secrets: Json | null) => EntryContent,
    setsSecret = false,
  ): Promise<ConfigEntry> {
    await this.#requireStored(kind, name);
    const change = (keys: SecretKeys | null, seal: typeof sealed) =>
      changeEntry(kind, name, (entry) => {
        const changed = { ...entry, changedAt: this.#store.now };
        return seal(changed, next(entry, openedOrNull(entry, keys)), keys);
      });
    const tried = (keys: SecretKeys) => change(keys, (entry) => entry);
    const keys = kind === 'provider' ? await this.#keys(tried, setsSecret) : null;
    return this.#change(kind, name, change(keys, sealed));
  }

  async remove(kind: ConfigKind, name: string): Promise<ConfigEntry> {
    await this.#requireStored(kind, name);
    const removed = await this.#store.changeConfigEntry(kind, name, removeEntry(kind, name));
    await this.#context.changed();
    return removed;
  }

  /**
   * The content of a provider as it is stored: checked, with the base URL of its kind.
   *
   * @throws Failure that names the setting, and for an address that the configuration closes
   */
  checked(settings: Json, secrets: Json): EntryContent & { readonly provider: Provider } {
    const provider = providerOf({ ...settings, ...secrets });
    if (!('baseUrl' in provider)) return { settings, secrets, provider };
    const { baseUrl } = provider;
    const { hostname } = new URL(baseUrl);
    // The operator's own servers may be anywhere but where the configuration closes the network.
    const policy = new NetworkPolicy({ ...this.#context.network, allowPrivateAddresses: true });
    const refusal = policy.refusalOfHost(hostname);
    if (refusal === null) return { settings: { ...settings, baseUrl }, secrets, provider };
    const isDenied = refusal === 'denied';
    const reason = isDenied
      ? 'network.deny of the configuration has it'
      : 'an address of cloud metadata, which only network.allow of the configuration opens';
    const code = isDenied ? 'address_denied' : 'private_address';
    throw invalid('url', `${hostname}: ${reason}`, code);
  }

  /** A provider by its name, from the file or else the store. @throws Failure where there is none, or it is at fault */
  async provider(name: string): Promise<Provider> {
    const { file, secretKeyFile } = this.#context;
    const inFile = fileSection(file, 'provider');
    if (Object.hasOwn(inFile, name)) {
      const unset = file.settings.document.faults.find(
        ({ path: [section, one], variable }) =>
          variable !== undefined && section === 'providers' && one === name,
      );
      if (!unset) return providerOf(objectOf(inFile[name]));
      const place = placeInFile(file, 'provider', name);
      throw new Failure('invalid_request', `${place}: ${unset.message}`);
    }
    const entries = await this.#store.listConfigEntries();
    const { providers, faults } = mergeStored(file, entries, secretKeyFile);
    if (Object.hasOwn(providers, name)) return providers[name]!;
    const fault = faults.get(keyOfEntry({ kind: 'provider', name }));
    if (fault) throw codedFailure('secrets_unreadable', fault.reason);
    const known = [...Object.keys(inFile), ...Object.keys(providers)].slice(0, 50);
    const expected = known.length > 0 ? `; expected one of ${known.join(', ')}` : '';
    const message = `there is no provider ${JSON.stringify(name)}${expected}`;
    throw codedFailure('provider_not_found', message);
  }

  /** @throws Failure `read_only` for what only the configuration file has */
  async #requireStored(kind: ConfigKind, name: string): Promise<void> {
    const place = placeInFile(this.#context.file, kind, name);
    if (place === null) return;
    if (!findEntry(await this.#store.listConfigEntries(), kind, name)) {
      throw readOnly(kind, name, place);
    }
  }

  /**
   * The keys of the file.
   *
   * @param tried is run first, so that a change that is refused makes no file
   * @param isNeeded whether a secret is to be encrypted, so that a missing file is made
   */
  async #keys(tried: (keys: SecretKeys) => ConfigChange, isNeeded: boolean): Promise<SecretKeys> {
    const { secretKeyFile } = this.#context;
    const entries = await this.#store.listConfigEntries();
    const known = SecretKeys.read(secretKeyFile);
    tried(known)(entries);
    if (!isNeeded || !known.isEmpty) return known;
    if (this.#store.isShared && entries.some(({ secrets }) => secrets !== null)) {
      throw codedFailure(
        'secrets_unreadable',
        `${secretKeyFile}: there is no key, and other nodes have one; copy their file, or if it is lost write a new one for all nodes: (umask 077; openssl rand -base64 32 > secret.key)`,
      );
    }
    return SecretKeys.readOrCreate(secretKeyFile);
  }

  /** Changes an entry, if that brings a fault neither to it nor to another one. */
  async #change(kind: ConfigKind, name: string, change: ConfigChange): Promise<ConfigEntry> {
    const { file, secretKeyFile } = this.#context;
    const changed = await this.#store.changeConfigEntry(kind, name, (entries) => {
      const next = change(entries)!;
      const isOwn = (entry: ConfigEntry) => entry.kind === kind && entry.name === name;
      const others = entries.filter((entry) => !isOwn(entry));
      const changedEntries = entries.some(isOwn)
        ? entries.map((entry) => (isOwn(entry) ? next : entry))
        : [...entries, next];
      const before = mergeStored(file, entries, secretKeyFile).faults;
      const after = mergeStored(file, changedEntries, secretKeyFile).faults;
      for (const entry of [next, ...others]) {
        const fault = after.get(keyOfEntry(entry));
        if (!fault || before.get(keyOfEntry(entry))?.reason === fault.reason) continue;
        if (fault.status === 'shadowed') throw readOnly(kind, name, fault.reason);
        throw new Failure('invalid_request', fault.reason);
      }
      return next;
    });
    await this.#context.changed();
    return changed;
  }
}

function readOnly(kind: ConfigKind, name: string, place: string): Failure {
  const message = `the ${kind} ${JSON.stringify(name)} is set in the configuration file (${place}), which wins; change it there`;
  return codedFailure('read_only', message);
}

function openedOrNull(entry: ConfigEntry, keys: SecretKeys | null): Json | null {
  if (entry.secrets === null) return {};
  try {
    return keys?.open(entry.secrets, secretsContext(entry)) ?? null;
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** Characters of an API key that lists show, and those that it has at least for that. */
const HINT_LENGTH = 4;
const MIN_KEY_LENGTH = 12;

/** An entry with its secrets encrypted. @param keys null for a model, which has no secrets */
function sealed(entry: ConfigEntry, content: EntryContent, keys: SecretKeys | null): ConfigEntry {
  const { settings, secrets = {} } = content;
  const next = { ...entry, settings };
  const apiKey = String(secrets['apiKey'] ?? '');
  const hint = apiKey.length >= MIN_KEY_LENGTH ? `…${apiKey.slice(-HINT_LENGTH)}` : null;
  const isEmpty = Object.keys(secrets).length === 0;
  return { ...next, hint, secrets: isEmpty ? null : keys!.seal(secrets, secretsContext(next)) };
}

/** Names of options for settings, in messages. */
const OPTIONS: Readonly<Record<string, string>> = { baseUrl: 'url', apiKey: 'key' };

/** @throws Failure that names the settings at fault and quotes no secret */
function providerOf(value: Json): Provider {
  const checked = checkAll(providerSchema, value, (received) =>
    received === undefined ? 'nothing' : 'something else',
  );
  if ('output' in checked) return checked.output as Provider;
  const faults = checked.faults.map(({ path, message }) => {
    const [first, ...rest] = path.map(String);
    const option = OPTIONS[first!] ?? formatPath([first!]);
    return { option, text: named([option, ...rest].join('.'), message) };
  });
  const text = faults.map((fault) => fault.text).join('; ');
  throw new Failure('invalid_request', text, { param: faults[0]!.option });
}
