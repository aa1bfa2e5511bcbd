import type * as v from 'valibot';
import { stringify } from 'yaml';
import { describeField, metadataOf } from '../schema/fields.ts';
import { childrenOf, type Path } from '../schema/walk.ts';
import type { Document } from './document.ts';
import { type ConfigOptions, loadSettings } from './load.ts';
import { configSchema } from './schema.ts';

const HIDDEN = '***';

/** A setting as it counts: its default where the file has none, and no secrets. */
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
    const hidden = secret === 'always' || (secret && document.variables(path).length > 0);
    return hidden ? HIDDEN : value;
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

/**
 * The configuration as it counts, defaults included, in the words of a file; secrets as `***`.
 *
 * @throws Failure as loadConfig
 */
export function effectiveSettings(options: ConfigOptions): Readonly<Record<string, unknown>> {
  const { config, settings } = loadSettings(options);
  const { value, document } = settings;
  const whole = effective(configSchema, value, [], document) as Record<string, unknown>;
  return { ...whole, dataDir: config.dataDir };
}

/** Settings as YAML that loads again: what looks like a variable is escaped. */
export function toYaml(settings: unknown): string {
  const escaped = (_: string, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('${', () => '$${') : value;
  return stringify(JSON.parse(JSON.stringify(settings, escaped)), { lineWidth: 0 });
}
