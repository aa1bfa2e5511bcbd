import { formatPath } from '../../schema/faults.ts';
import { metadataOf } from '../../schema/fields.ts';
import { isObject } from '../../schema/untrusted.ts';
import { declaredProperties, type Path, valueAt } from '../../schema/walk.ts';
import type { Actor } from '../../store/audit/entry.ts';
import { configSchema } from '../settings/schema.ts';
import { invalidConfig } from '../yaml/invalid.ts';
import { type LoadedConfig, type LoadOptions, loadConfig, type Settings } from './load.ts';

/** Paths of the settings that the daemon reads only at start. */
const RESTART: readonly Path[] = declaredProperties(configSchema)
  .filter(({ schema }) => metadataOf(schema).restart)
  .map(({ path }) => path);

export interface ReloadedConfig extends LoadedConfig {
  /** Changed settings that take effect at the next start. */
  readonly restart: readonly string[];
  /** Models of the configuration in force that this one lacks. */
  readonly removedModels: readonly string[];
}

/**
 * Loads the configuration again for a running daemon.
 *
 * @param started the configuration of the start
 * @param current the configuration in force
 * @throws Failure as loadConfig, also for a file that was probably cut off: it has no settings, or would leave a
 *   daemon with providers of its own without models, or with those of the sandbox
 */
export function reloadConfig(
  { started, current }: { readonly started: LoadedConfig; readonly current: LoadedConfig },
  options: LoadOptions,
): ReloadedConfig {
  const loaded = loadConfig(options);
  const fault = lossOf(current, loaded);
  if (fault !== null) throw invalidConfig(`${loaded.file ?? 'oriel.yaml'}: ${fault}`);
  const differs = (path: Path) =>
    JSON.stringify(valueAt(started.config, path)) !== JSON.stringify(valueAt(loaded.config, path));
  const removedModels = Object.keys(current.config.models).filter(
    (id) => !Object.hasOwn(loaded.config.models, id),
  );
  const isCut = restOf(current.settings, loaded.settings) !== '';
  return {
    ...loaded,
    warnings: isCut ? [...loaded.warnings, CUT_OFF] : loaded.warnings,
    restart: RESTART.filter(differs).map(formatPath),
    removedModels,
  };
}

const CUT_OFF = 'the file is the beginning of the former one: was it cut off while it was written?';

/** What follows the text of a file that is the beginning of the former one; empty where it is not. */
function restOf(former: Settings, { source }: Settings): string {
  return former.source.startsWith(source) ? former.source.slice(source.length) : '';
}

const isEmpty = ({ document }: Settings): boolean => Object.keys(document.value ?? {}).length === 0;

/** What a reload would lose that is more probably a mistake than meant; null for nothing. */
function lossOf(current: LoadedConfig, { file, settings }: LoadedConfig): string | null {
  if (file === null) return current.file === null ? null : 'the file is gone';
  if (isEmpty(settings) && !isEmpty(current.settings)) return 'the file has no settings';
  // A value that was cut in two may be valid: `rpm: 6` of `rpm: 600`.
  const rest = restOf(current.settings, settings);
  if (/[^\n]$/.test(settings.source) && /^[^\r\n]/.test(rest) && rest.endsWith('\n')) {
    return 'the file ends within a line of the former one: it was probably read while it was written';
  }
  if (current.settings.isSandbox) return null;
  if (settings.isSandbox) {
    return 'the file has neither providers nor models; to change to the sandbox, start the daemon again';
  }
  const { models = null } = settings.value;
  return models === null && Object.keys(current.config.models).length > 0
    ? 'the file has no models; if that is intended, write "models: {}"'
    : null;
}

/** Paths of the settings in which two configurations differ. */
export function changedSettings(before: unknown, after: unknown, path: Path = []): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(before) || !isObject(after)) return [formatPath(path)];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => changedSettings(before[name], after[name], [...path, name]));
}

/**
 * Reads the file again.
 *
 * @param who asks for it, for the audit log; by default the user of the process
 * @returns the faults for which nothing has changed
 */
export type Reload = (who?: Actor) => Promise<readonly string[]>;

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
