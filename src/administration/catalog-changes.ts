import { providerSchema } from '../config/providers/provider-kinds.ts';
import type { Provider } from '../config/settings/schema.ts';
import {
  keyOfEntry,
  mergeStored,
  placeInFile,
  secretsContext,
} from '../config/stored/merge-stored.ts';
import { Failure } from '../failure.ts';
import { checkAll, formatPath } from '../schema/faults.ts';
import { named } from '../schema/fields.ts';
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

  async add(kind: ConfigKind, name: string, content: EntryContent): Promise<ConfigEntry> {
    const now = this.#store.now;
    const named = { id: newId('cfg'), kind, name, createdAt: now, changedAt: now };
    const place = placeInFile(this.#context.file, kind, name);
    if (place !== null) throw readOnly(kind, name, place);
    const keys = await this.#keys(Object.keys(content.secrets ?? {}).length > 0);
    const entry = sealed({ ...named, settings: {}, secrets: null, hint: null }, content, keys);
    return this.#change(kind, name, addEntry(entry));
  }

  /** @param next the content after the change; `secrets` are null where they cannot be decrypted */
  async set(
    kind: ConfigKind,
    name: string,
    next: (settings: Json, secrets: Json | null) => EntryContent,
    setsSecret = false,
  ): Promise<ConfigEntry> {
    await this.#requireStored(kind, name);
    const keys = await this.#keys(setsSecret);
    const change = changeEntry(kind, name, (entry) => {
      const changed = { ...entry, changedAt: this.#store.now };
      return sealed(changed, next(entry.settings, openedOrNull(entry, keys)), keys);
    });
    return this.#change(kind, name, change);
  }

  async remove(kind: ConfigKind, name: string): Promise<ConfigEntry> {
    await this.#requireStored(kind, name);
    const removed = await this.#store.changeConfigEntry(kind, name, removeEntry(kind, name));
    await this.#context.changed();
    return removed;
  }

  /** @throws Failure `read_only` for what only the configuration file has */
  async #requireStored(kind: ConfigKind, name: string): Promise<void> {
    const place = placeInFile(this.#context.file, kind, name);
    if (place === null) return;
    if (!findEntry(await this.#store.listConfigEntries(), kind, name)) {
      throw readOnly(kind, name, place);
    }
  }

  /** The keys of the file. @param isNeeded whether a secret is to be encrypted, so that a missing file is made */
  async #keys(isNeeded: boolean): Promise<SecretKeys> {
    const { secretKeyFile } = this.#context;
    const known = SecretKeys.read(secretKeyFile);
    if (!isNeeded || !known.isEmpty) return known;
    const entries = await this.#store.listConfigEntries();
    if (this.#store.isShared && entries.some(({ secrets }) => secrets !== null)) {
      throw new Failure(
        'service_error',
        `${secretKeyFile}: there is no key, and other nodes have one; copy their file, or if it is lost write a new one for all nodes: (umask 077; openssl rand -base64 32 > secret.key)`,
        { code: 'secrets_unreadable' },
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
  return new Failure('invalid_request', message, { code: 'read_only' });
}

function openedOrNull(entry: ConfigEntry, keys: SecretKeys): Json | null {
  if (entry.secrets === null) return {};
  try {
    return keys.open(entry.secrets, secretsContext(entry));
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** Characters of an API key that lists show, and those that it has at least for that. */
const HINT_LENGTH = 4;
const MIN_KEY_LENGTH = 12;

/** An entry with its secrets encrypted. */
function sealed(entry: ConfigEntry, content: EntryContent, keys: SecretKeys): ConfigEntry {
  const { settings, secrets = {} } = content;
  const next = { ...entry, settings };
  const apiKey = String(secrets['apiKey'] ?? '');
  const hint = apiKey.length >= MIN_KEY_LENGTH ? `…${apiKey.slice(-HINT_LENGTH)}` : null;
  const isEmpty = Object.keys(secrets).length === 0;
  return { ...next, hint, secrets: isEmpty ? null : keys.seal(secrets, secretsContext(next)) };
}

/**
 * The content of a provider as it is stored: checked, with the base URL of its kind.
 *
 * @throws Failure that names the setting, and for an address that the configuration closes
 */
export function checkedProvider(
  settings: Json,
  secrets: Json,
  { network }: Pick<CatalogContext, 'network'>,
): EntryContent & { readonly provider: Provider } {
  const provider = providerOf({ ...settings, ...secrets });
  if (!('baseUrl' in provider)) return { settings, secrets, provider };
  const { baseUrl } = provider;
  const { hostname } = new URL(baseUrl);
  // The operator's own servers may be anywhere but where the configuration closes the network.
  const policy = new NetworkPolicy({ ...network, allowPrivateAddresses: true });
  const refusal = policy.refusalOfHost(hostname);
  if (refusal !== null) {
    const isDenied = refusal === 'denied';
    const reason = isDenied
      ? 'network.deny of the configuration has it'
      : 'an address of cloud metadata, which only network.allow of the configuration opens';
    const code = isDenied ? 'address_denied' : 'private_address';
    throw new Failure('invalid_request', `url: ${hostname}: ${reason}`, { code });
  }
  return { settings: { ...settings, baseUrl }, secrets, provider };
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
    return named([OPTIONS[first!] ?? formatPath([first!]), ...rest].join('.'), message);
  });
  throw new Failure('invalid_request', faults.join('; '));
}

/** A provider by its name, from the file or else the store. @throws Failure where there is none, or it is at fault */
export async function findProvider(
  store: Store,
  { file, secretKeyFile }: CatalogContext,
  name: string,
): Promise<Provider> {
  const { isSandbox, value } = file.settings;
  const inFile = isSandbox ? {} : objectOf(value['providers']);
  const entries = await store.listConfigEntries();
  if (Object.hasOwn(inFile, name)) {
    const unset = file.settings.document.faults.find(
      ({ path, variable }) => variable !== undefined && path[0] === 'providers' && path[1] === name,
    );
    if (!unset) return providerOf(objectOf(inFile[name]));
    throw new Failure(
      'invalid_request',
      `${placeInFile(file, 'provider', name)}: ${unset.message}`,
    );
  }
  const merged = mergeStored(file, entries, secretKeyFile);
  if (Object.hasOwn(merged.providers, name)) return merged.providers[name]!;
  const fault = merged.faults.get(keyOfEntry({ kind: 'provider', name }));
  if (fault) throw new Failure('service_error', fault.reason, { code: 'secrets_unreadable' });
  const known = [...Object.keys(inFile), ...Object.keys(merged.providers)];
  const expected = known.length > 0 ? `; expected one of ${known.slice(0, 50).join(', ')}` : '';
  throw new Failure('invalid_request', `there is no provider ${JSON.stringify(name)}${expected}`, {
    code: 'provider_not_found',
  });
}
