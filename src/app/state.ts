import type { Config } from '../config/schema.ts';

/** The state of a daemon that changes while it runs. */
export class DaemonState {
  /** The configuration in force: a reload replaces it. */
  config: Config;
  /** Address of the public listener, `http://127.0.0.1:8787`; empty until it listens. */
  url = '';

  constructor(config: Config) {
    this.config = config;
  }

  /** How clients reach this server, without a slash at the end. */
  get publicUrl(): string {
    return (this.config.server.publicUrl ?? this.url).replace(/\/+$/, '');
  }
}
