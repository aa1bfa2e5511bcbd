import type * as v from 'valibot';
import { stringify } from 'yaml';
import { redactUrl } from '../../schema/faults.ts';
import { describeField, metadataOf } from '../../schema/fields.ts';
import { childrenOf, type Path } from '../../schema/walk.ts';
import { type Config, configSchema } from '../settings/schema.ts';
import type { Document } from '../yaml/document.ts';
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
