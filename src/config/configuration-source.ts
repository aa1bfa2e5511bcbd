import type { LoadedConfig } from './load.ts';

/** Where the configuration in force comes from. */
export interface ConfigurationSource {
  readonly loaded: LoadedConfig;
  /** Time of the read, in milliseconds since the epoch. */
  readonly readAt: number;
  /** Changed settings that take effect at the next start. */
  readonly atRestart: readonly string[];
  /** Faults of a later version of the file; null without one. */
  readonly refused: { readonly at: number; readonly faults: readonly string[] } | null;
}
