import { basename } from 'node:path';
import type * as v from 'valibot';
import { stringify } from 'yaml';
import { formatPath, redactUrl } from '../../schema/faults.ts';
import { describeField, metadataOf } from '../../schema/fields.ts';
import { childrenOf, declaredProperties, type Path, valueAt, walk } from '../../schema/walk.ts';
import { type Config, configSchema } from '../settings/schema.ts';
import type { Document } from '../yaml/document.ts';
import { editorSchema } from '../yaml/editor-schema.ts';
import type { ConfigOptions } from './config-file.ts';
import { type LoadedConfig, loadConfig } from './load.ts';

const REDACTED = '***';

/** The effective value of a setting: its default if the file sets none; secrets are redacted. */
function effective(
  schema: v.GenericSchema,
  given: unknown,
  path: Path,
  document: Document,
): unknown {
  const value = given ?? describeField('', schema).default;
  if (value === undefined) return undefined;
  const inside = childrenOf(schema, value);
  if (inside === null) {
    const { secret } = metadataOf(schema);
    const isSecret = secret === 'always' || (secret && document.variables(path).length > 0);
    if (isSecret) return REDACTED;
    return secret === 'url' ? redactUrl(String(value)) : value;
  }
  if (Array.isArray(value) && 'each' in inside) {
    return value.map((item, index) => effective(inside.each, item, [...path, index], document));
  }
  const parts = value as Readonly<Record<string, unknown>>;
  const entries =
    'each' in inside
      ? Object.keys(parts).map((name) => [name, inside.each] as const)
      : Object.entries(inside.entries);
  return Object.fromEntries(
    entries
      .map(([name, entry]) => [name, effective(entry, parts[name], [...path, name], document)])
      .filter(([, part]) => part !== undefined),
  );
}

/** The effective configuration in the form of a file: with defaults, and with secrets as `***`. */
export function effectiveSettingsOf(
  { settings: { value, document } }: LoadedConfig,
  { dataDir, cassettes }: Pick<Config, 'dataDir' | 'cassettes'>,
): Readonly<Record<string, unknown>> {
  const whole = effective(configSchema, value, [], document) as Record<string, unknown>;
  return { ...whole, dataDir, cassettes: { ...cassettes } };
}

/** The settings without a value and a default, by their paths. */
export function unsetIn(settings: Readonly<Record<string, unknown>>): string[] {
  return declaredProperties(configSchema)
    .filter(({ path, schema }) => {
      const isSection = 'entries' in (childrenOf(schema, undefined) ?? {});
      return !isSection && valueAt(settings, path) === undefined;
    })
    .map(({ path }) => formatPath(path));
}

/** Settings that flags of the command line may replace. */
const BY_FLAG: readonly Path[] = [
  ['dataDir'],
  ['server', 'host'],
  ['server', 'port'],
  ['log', 'format'],
  ...['mode', 'dir', 'timing', 'used'].map((name) => ['cassettes', name]),
];

/**
 * Where values come from, by the paths of settings: `oriel.yaml:12`, its environment variables, a flag. Settings
 * without one have their default.
 *
 * @param config in force, in which flags may have replaced settings
 */
export function sourcesOf(
  { file, config: own, settings: { value, document, isSandbox } }: LoadedConfig,
  config: Config,
): Readonly<Record<string, string>> {
  const sources = new Map<string, string>();
  for (const { path, value: part, schema } of walk(configSchema, value)) {
    const isList = Array.isArray(part) && part.every((item) => typeof item !== 'object');
    const isLeaf = isList || typeof part !== 'object' || part === null;
    if (!isLeaf || schema === undefined) continue;
    if (isSandbox && ['providers', 'models'].includes(String(path[0]))) {
      sources.set(formatPath(path), 'sandbox');
      continue;
    }
    const variables = document.variables(path).map((name) => `, $${name}`);
    sources.set(formatPath(path), `${basename(file!)}:${document.line(path)}${variables.join('')}`);
  }
  const differs = (path: Path) =>
    JSON.stringify(valueAt(own, path)) !== JSON.stringify(valueAt(config, path));
  for (const path of BY_FLAG.filter(differs)) sources.set(formatPath(path), 'command line');
  if (value['secretKeyFile'] === undefined && config.secretKeyFile !== undefined) {
    sources.set('secretKeyFile', '$ORIEL_SECRET_KEY_FILE');
  }
  return Object.fromEntries(sources);
}

/** @throws Failure as loadConfig */
export function effectiveSettings(options: ConfigOptions): Readonly<Record<string, unknown>> {
  const loaded = loadConfig(options);
  return effectiveSettingsOf(loaded, loaded.config);
}

/** Settings as YAML that can be loaded: `${` is escaped. */
export function toYaml(settings: unknown): string {
  const escaped = (_: string, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('${', () => '$${') : value;
  return stringify(JSON.parse(JSON.stringify(settings, escaped)), { lineWidth: 0 });
}

/** The JSON Schema by which editors check a configuration file. */
export const configJsonSchema = () => editorSchema('Oriel configuration', configSchema);
