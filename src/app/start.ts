import type { Logger } from 'pino';
import type { ChargedKeys } from '../alerts/budget-check.ts';
import type { AlertWatch } from '../alerts/watch.ts';
import type { LoadedConfig } from '../config/loading/load.ts';
import type { ConfigurationSource, Reload } from '../config/loading/reload.ts';
import type { Config } from '../config/settings/schema.ts';
import type { CassetteReport } from '../exchanges/cassettes/upstream.ts';
import type { Metrics } from '../http/observability/metrics.ts';
import type { SharedPool } from '../operations/pool/pool.ts';
import type { RoutingObserver } from '../routing/observer.ts';
import type { Actor } from '../store/audit/entry.ts';
import type { TimeRange } from '../store/health.ts';
import type { Store } from '../store/store.ts';
import type { Tracer } from '../telemetry/tracer.ts';
import type { TextThreads } from '../threads/text-threads.ts';
import type { Upstream } from '../upstream/response.ts';
import type { Peers } from './processes/peers.ts';

export interface DaemonOptions {
  readonly version: string;
  /** The file of the configuration, in which flags may have changed settings. */
  readonly loaded: LoadedConfig;
  /** The owner's key, instead of one that the daemon generates and prints. */
  readonly bootstrapKey?: string;
  /** Accepts a bootstrap key that could be guessed. */
  readonly dev?: boolean;
  /** Trusts the clock even if it is far ahead of the newest record. */
  readonly acceptClock?: boolean;
  /** Begins a new store where the former one is gone. */
  readonly newStore?: boolean;
  /** Fixes the identifiers and times of answers. */
  readonly deterministic?: boolean;
  /** Descriptor of the file for the log; by default standard output, or `log.file`. */
  readonly logTo?: number;
  /** The connection to the other processes on the port; undefined for a single process. */
  readonly peers?: Peers | undefined;
  /** Called when all requests have ended, before the store closes. */
  readonly onEnd?: (store: Store, cassettes: CassetteReport | null) => Promise<void>;
  /** Cancels the start while it waits for the database. */
  readonly stop?: AbortSignal;
}

/** Shared by all steps of the start. */
export interface Start {
  readonly state: DaemonState;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly closers: Closers;
  /** Keys that were charged since their budgets were last compared with the thresholds of alerts. */
  readonly charged: ChargedKeys;
  readonly options: DaemonOptions;
  /** Aborted once the daemon may listen: later calls of the store fail while its database is away. */
  readonly started: AbortController;
  /** The user of this process, for the audit log. */
  readonly actor: Actor;
}

/** Shared by text and media, once the store is open. */
export interface Parts extends Start {
  readonly store: Store;
  /** The time that the records span; null without records. */
  readonly span: TimeRange | null;
  readonly upstream: Upstream;
  readonly pool: SharedPool;
  readonly textThreads: TextThreads;
  readonly alerts: AlertWatch;
  readonly routingObserver: RoutingObserver;
  readonly tracer: () => Tracer | null;
}

/** The state of a daemon that changes while it runs. */
export class DaemonState {
  /** The configuration in force: a reload replaces it. */
  config: Config;
  configuration: ConfigurationSource;
  /** Reads the file again; null where the process does not offer it. */
  reload: Reload | null = null;
  /** Address of the public listener, `http://127.0.0.1:8787`; empty until it listens. */
  url = '';

  /** @param loaded the file, of which flags may have changed settings */
  constructor(config: Config, loaded: LoadedConfig) {
    this.config = config;
    this.configuration = { loaded, readAt: Date.now(), atRestart: [], refused: null };
  }

  /** How clients reach this server, without a slash at the end. */
  get publicUrl(): string {
    return (this.config.server.publicUrl ?? this.url).replace(/\/+$/, '');
  }
}

/** The parts of a daemon to close, in the reverse order of their start. */
export class Closers {
  readonly #closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes all parts, the one that was added last first. */
  async closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}
