import type { Logger } from 'pino';
import type {
  CatalogContext,
  ProviderTest,
  TestReport,
} from '../administration/catalog-context.ts';
import type { Alerts } from '../alerts/alerts.ts';
import type { LoadedConfig } from '../config/loading/load.ts';
import type { Config } from '../config/settings/schema.ts';
import {
  type FileCatalog,
  mergeStored,
  type StoredCatalog,
  withStored,
} from '../config/stored/merge-stored.ts';
import type { ConfigEntry } from '../store/config-entry.ts';
import { secretKeyFile } from '../store/secret-key.ts';
import type { Store } from '../store/store.ts';
import { testProvider } from '../text/provider-test.ts';
import type { DaemonState } from './start.ts';

/** How often the entries are read if nodes share the store, in milliseconds: events of other nodes may be lost. */
const READ_INTERVAL_MS = 10_000;

/**
 * Maintains the current configuration: the file, plus the providers and models of the store. It is replaced as a whole
 * when the file is reloaded or entries change, so that requests never read the store.
 */
export class StoredProviders implements CatalogContext {
  readonly testAlerts: CatalogContext['testAlerts'];
  readonly #state: DaemonState;
  readonly #store: Store;
  readonly #log: Logger;
  /** The configuration of the file, with the flags of the command line. */
  #base: Config;
  #file: FileCatalog;
  #entries: readonly ConfigEntry[] = [];
  #faults: StoredCatalog['faults'] = new Map();
  #reading: Promise<void> = Promise.resolve();
  /** A scheduled read. It will see all changes made until it begins. */
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #unwatch = () => {};
  /** Called after each change of the configuration in force by entries. */
  onChange = () => {};
  /** Called after a test of a provider. */
  onTest = (_provider: string, _report: TestReport) => {};

  constructor(state: DaemonState, store: Store, log: Logger, alerts: Alerts) {
    this.testAlerts = (name) => alerts.test(name);
    this.#state = state;
    this.#store = store;
    this.#log = log;
    this.#base = state.config;
    this.#file = state.configuration.loaded;
  }

  get file(): FileCatalog {
    return this.#file;
  }

  get network(): Config['network'] {
    return this.#base.network;
  }

  get secretKeyFile(): string {
    return secretKeyFile(this.#base.dataDir, this.#base.secretKeyFile);
  }

  async testProvider(test: ProviderTest): Promise<TestReport> {
    const report = await testProvider(test);
    // A provider that was rejected, and not added, has no health.
    if (report.cause === null || Object.hasOwn(this.#state.config.providers, test.name)) {
      this.onTest(test.name, report);
    }
    return report;
  }

  /** Reads the entries, and follows their changes at other nodes. @throws Failure `store_unavailable` */
  async start(): Promise<void> {
    await this.#read();
    this.#unwatch = this.#store.watch(({ kind }) => {
      if (kind === 'config') void this.changed();
    });
    if (!this.#store.isShared) return;
    this.#timer = setInterval(() => void this.changed(), READ_INTERVAL_MS).unref();
  }

  /** Uses another configuration of the file. */
  use(base: Config, file: LoadedConfig): void {
    this.#base = base;
    this.#file = file;
    this.#apply();
  }

  /** Applies the current entries. Never rejects: the former ones stay until the store answers. */
  changed(): Promise<void> {
    const read = () => {
      this.#next = undefined;
      return this.#read().catch((error: unknown) =>
        this.#log.warn({ err: error }, 'providers and models of the store cannot be read'),
      );
    };
    this.#next ??= this.#reading = this.#reading.then(read);
    return this.#next;
  }

  async close(): Promise<void> {
    this.#unwatch();
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #read(): Promise<void> {
    const entries = await this.#store.listConfigEntries();
    const isSame = JSON.stringify(entries) === JSON.stringify(this.#entries);
    // A key file may have come back: entries at fault are tried again.
    if (isSame && this.#faults.size === 0 && this.#state.config !== this.#base) return;
    this.#entries = entries;
    this.#apply();
    if (!isSame) this.onChange();
  }

  #apply(): void {
    const merged = mergeStored(this.#file, this.#entries, this.secretKeyFile);
    for (const [entry, { status, reason }] of merged.faults) {
      if (this.#faults.get(entry)?.reason === reason) continue;
      this.#log.warn({ entry, reason }, `a provider or model of the store is ${status}`);
    }
    this.#faults = merged.faults;
    this.#state.config = withStored(this.#base, merged);
  }
}
