import type { AdminCommand } from '../../administration/admin-command.ts';
import type { LoadedConfig } from '../../config/loading/load.ts';
import type { Failure } from '../../failure.ts';
import type { UpstreamClient } from '../../upstream/client.ts';

export type Status = 'ok' | 'warning' | 'failed' | 'skipped';

/** What a check has found. */
export interface Finding {
  readonly status: Status;
  readonly text: string;
  /** What to do, in one sentence; null where there is nothing to do. */
  readonly remedy: string | null;
}

/** A daemon that runs on the data folder. */
export interface RunningDaemon {
  readonly pid: number;
  readonly version: string | null;
}

/** What checks examine. */
export interface Examined {
  readonly version: string;
  /** The configuration, or its faults. */
  readonly loaded: LoadedConfig | Failure;
  /** The settings, without providers and models where only their environment is missing; null if they are invalid. */
  readonly config: LoadedConfig['config'] | null;
  readonly dataDir: string;
  /** Null where none runs, or this user may not ask it. */
  readonly daemon: RunningDaemon | null;
  readonly network: UpstreamClient;
  /** Runs a command in the daemon, or in this process where none runs. @returns its result, or why it must not */
  readonly inStore: (command: AdminCommand, input?: object) => Promise<Finding | object>;
  /** Runs a command for providers, also without a store: on the providers of the file. */
  readonly inCatalog: (command: AdminCommand, input?: object) => Promise<object>;
}

/** What a check does. The failures that it throws are findings. */
export type Run = (examined: Examined) => Promise<Finding | readonly Finding[]>;

export const ok = (text: string): Finding => ({ status: 'ok', text, remedy: null });
export const skipped = (text: string): Finding => ({ status: 'skipped', text, remedy: null });
type Judge = (text: string, remedy: string) => Finding;
export const warning: Judge = (text, remedy) => ({ status: 'warning', text, remedy });
export const failed: Judge = (text, remedy) => ({ status: 'failed', text, remedy });

/** Chooses between three findings by two conditions. */
export function judged(
  text: string,
  { fails = false, warns = false }: { readonly fails?: boolean; readonly warns?: boolean },
  remedy: string,
): Finding {
  if (fails) return failed(text, remedy);
  return warns ? warning(text, remedy) : ok(text);
}

/** Stands for what needs a valid configuration. */
export const INVALID = skipped('the configuration is invalid');

/** A check that needs a valid configuration. */
export function configured(
  run: (config: LoadedConfig['config'], examined: Examined) => ReturnType<Run>,
): Run {
  return async (examined) => (examined.config ? run(examined.config, examined) : INVALID);
}
