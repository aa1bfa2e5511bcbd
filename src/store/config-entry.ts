/** Secrets of an entry, encrypted by `seal`. */
export interface SealedSecrets {
  /** Identifier of the key that decrypts it. */
  readonly keyId: string;
  /** Base64 of the nonce, the ciphertext and the tag, one after the other. */
  readonly data: string;
  /** Names of the settings that are encrypted; absent in entries of earlier versions. */
  readonly names?: readonly string[];
}

export const CONFIG_KINDS = ['provider', 'model'] as const;
export type ConfigKind = (typeof CONFIG_KINDS)[number];

/** A provider or a model that a command has added: what the configuration file has under `providers` or `models`. */
export interface ConfigEntry {
  /** Drawn by the command that added it: a transaction that runs again finds its own entry. */
  readonly id: string;
  readonly kind: ConfigKind;
  /** The provider's name, or the model's identifier. */
  readonly name: string;
  /** Its settings as the configuration file has them, without secrets. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Null without secrets. */
  readonly secrets: SealedSecrets | null;
  /** The last characters of the API key, to recognise it in lists; null without one. */
  readonly hint: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly changedAt: number;
}

/**
 * Decides one change by all entries as they are under the lock: an entry is set, null removes the named one. It
 * awaits nothing, and may run more than once.
 */
export type ConfigChange = (entries: readonly ConfigEntry[]) => ConfigEntry | null;

/** The methods of a store for providers and models that commands have added. */
export interface ConfigEntries {
  /** Providers and models that commands have added, in the order of creation. */
  listConfigEntries(): Promise<readonly ConfigEntry[]>;
  /**
   * Changes one of them, by a function of `operations/config-entries.ts` that no other change comes between.
   * Other nodes hear of it by an event.
   *
   * @returns the entry as it is now, or as it was before its removal
   * @throws what the function throws; nothing has changed then
   */
  changeConfigEntry(kind: ConfigKind, name: string, change: ConfigChange): Promise<ConfigEntry>;
}
