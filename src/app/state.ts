import type { LoadedConfig } from '../config/loading/load.ts';
import type { ConfigurationSource } from '../config/loading/reload.ts';
import type { Config } from '../config/settings/schema.ts';

/** The state of a daemon that changes while it runs. */
export class DaemonState {
  /** The configuration in force: a reload replaces it. */
  config: Config;
  configuration: ConfigurationSource;
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
