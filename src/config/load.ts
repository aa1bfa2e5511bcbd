import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import {
  checkAll,
  type Fault,
  type FormatValue,
  formatPath,
  formatValue,
} from '../schema/faults.ts';
import { describeField, fromText, metadataOf } from '../schema/fields.ts';
import { redactUrl } from '../schema/redact-url.ts';
import { declaredProperties, type Path, schemaAt, valueAt, walk } from '../schema/walk.ts';
import { crossFaults, warningsOf } from './check.ts';
import { type Document, readDocument } from './document.ts';
import type { Environment } from './interpolate.ts';
import { invalidConfig } from './invalid.ts';
import { type Config, configSchema } from './schema.ts';

export interface ConfigOptions {
  /** `--config`; else ORIEL_CONFIG, else oriel.yaml in the working folder, else none. */
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Its absolute path; null where there is none and the sandbox stands in. */
  readonly file: string | null;
  readonly warnings: readonly string[];
}

/** A configuration as its file says it, variables put in and the sandbox's catalog where it has none. */
export interface Settings {
  readonly value: Readonly<Record<string, unknown>>;
  readonly document: Document;
}

/** More than thousands of models need; a few forms of nonsense take time by the square. */
const MAX_BYTES = 512 * 1024;

/** Enough to work on; a file of other contents altogether has thousands. */
const MAX_FAULTS = 100;

/** Reads no more than can be right, because pipes and devices have no size to ask for. */
function readBytes(file: string): Uint8Array {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = new Uint8Array(MAX_BYTES + 1);
    let length = 0;
    let read = 0;
    do {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
      length += read;
    } while (read > 0 && length < bytes.length);
    return bytes.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

function readSource(file: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readBytes(file);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const known: Readonly<Record<string, string>> = {
      ENOENT: 'no such file',
      EISDIR: 'a folder, not a file',
      EACCES: 'may not be read',
    };
    throw invalidConfig(`${file}: ${known[code] ?? message}`, error);
  }
  if (bytes.length > MAX_BYTES) throw invalidConfig(`${file}: larger than ${MAX_BYTES / 1024} KB`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalidConfig(`${file}: not UTF-8`, error);
  }
}

/** Which file a configuration is in: an absolute path, or null for none. */
function findConfig({ file, env, cwd }: ConfigOptions): string | null {
  const named = file ?? (env['ORIEL_CONFIG'] || undefined);
  if (named !== undefined) return resolve(cwd, named);
  const usual = resolve(cwd, 'oriel.yaml');
  try {
    statSync(usual);
    return usual;
  } catch (error) {
    // One that is there and cannot be read is not left out silently.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : usual;
  }
}

function failWith(file: string | null, faults: readonly Fault[], document: Document): never {
  const lines = faults
    .map((fault) => ({
      ...fault,
      path: document.pathInFile(fault.path),
      line: 'line' in fault ? Number(fault.line) : document.line(fault.path),
    }))
    .sort((a, b) => a.line - b.line)
    .map(({ path, message, line }) =>
      [`${file}:${line}`, ...(path.length > 0 ? [formatPath(path)] : []), message].join(': '),
    );
  const more = lines.length - MAX_FAULTS;
  const shown = more > 0 ? [...lines.slice(0, MAX_FAULTS), `and ${more} more`] : lines;
  throw invalidConfig(shown.join('\n'));
}

/** The catalog that works without an account anywhere. */
function sandbox(): Readonly<Record<string, unknown>> {
  const file = createRequire(import.meta.url).resolve('#config/sandbox.yaml');
  const source = readFileSync(file, 'utf8');
  return readDocument(source, {}).value as Readonly<Record<string, unknown>>;
}

/** Texts of the environment become what their settings want: a number, or true and false. */
function coerce(value: unknown, document: Document): void {
  for (const { path, value: text, schema } of walk(configSchema, value)) {
    const given = document.variables(path).length > 0;
    if (!given || schema === undefined || typeof text !== 'string') continue;
    const parent = valueAt(value, path.slice(0, -1)) as Record<string | number, unknown>;
    parent[path.at(-1)!] = fromText(describeField('', schema), text);
  }
}

/** Moves settings from their former names to their names, and adds a warning for each. */
function renameFormer(value: unknown, document: Document): Renamed {
  const faults: Fault[] = [];
  const warnings: string[] = [];
  for (const { path, value: given, alternatives } of walk(configSchema, value)) {
    const former = String(path.at(-1));
    const [name] =
      Object.entries(alternatives ?? {}).find(
        ([, schema]) => metadataOf(schema).formerName === former,
      ) ?? [];
    if (name === undefined) continue;
    const parentPath = path.slice(0, -1);
    const parent = valueAt(value, parentPath) as Record<string, unknown>;
    delete parent[former];
    if (Object.hasOwn(parent, name)) {
      faults.push({ path, message: `the former name of ${name}; leave one of both out` });
      continue;
    }
    parent[name] = given;
    document.rename(path, [...parentPath, name]);
    warnings.push(`${formatPath(path)}: renamed to ${name}; the former name is still read`);
  }
  return { faults, warnings };
}

interface Renamed {
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
}

/** Shows values in faults, and of those that may be secret only where they come from. */
function quoting({ value, document }: Settings): FormatValue {
  return (came, path) => {
    const variables = document.variables(path).map((name) => `\${${name}}`);
    if (variables.length > 0) return `what ${variables.join(', ')} gives`;
    const place = schemaAt(configSchema, value, path);
    const secret = place && metadataOf(place.schema).secret;
    if (secret === 'always' && came) return 'something else';
    if (secret && typeof came === 'string') return formatValue(redactUrl(came), path);
    return came === null ? 'nothing' : formatValue(came, path);
  };
}

/** Reads the file, and stops at what makes it unreadable. */
function readSettings(file: string | null, env: Environment): Settings & Renamed {
  const document = readDocument(file === null ? '' : readSource(file), env);
  const read = document.value ?? {};
  if (typeof read !== 'object' || Array.isArray(read)) {
    failWith(file, [{ path: [], message: 'expected settings, each with its name' }], document);
  }
  const own = read as Readonly<Record<string, unknown>>;
  const { faults, warnings } = renameFormer(own, document);
  coerce(own, document);
  const bare = (own['providers'] ?? null) === null && (own['models'] ?? null) === null;
  return {
    document,
    faults: [...document.faults, ...faults],
    warnings,
    value: bare ? { ...own, ...sandbox() } : own,
  };
}

/**
 * Reads and checks everything.
 *
 * @param needed whether a setting is used, so that environment variables in it must be set
 */
function readChecked(options: ConfigOptions, needed: (path: Path) => boolean) {
  const file = findConfig(options);
  const settings = readSettings(file, options.env);
  const { document, value } = settings;
  const show = quoting(settings);
  const checked = checkAll(configSchema, value, show);
  const own = new Set(settings.faults.map(({ path }) => JSON.stringify(path)));
  const others = [...('faults' in checked ? checked.faults : []), ...crossFaults(value, show)];
  // What a missing variable left behind is not a fault of its own.
  const faults = [
    ...settings.faults.filter(
      (fault) => !('variable' in fault) || fault.variable === undefined || needed(fault.path),
    ),
    ...others.filter(({ path }) => !own.has(JSON.stringify(document.pathInFile(path)))),
  ];
  if (faults.length > 0) failWith(file, faults, document);
  const folder = file === null ? options.cwd : dirname(file);
  return { file, settings, checked, inFolder: (path: string) => resolve(folder, path) };
}

/** A configuration that holds, with the settings that it was made of. */
export function loadSettings(
  options: ConfigOptions,
): LoadedConfig & { readonly settings: Settings } {
  const { file, settings, checked, inFolder } = readChecked(options, () => true);
  const { output } = checked as { readonly output: Config };
  const config = freeze({ ...output, dataDir: inFolder(output.dataDir) });
  return { config, file, warnings: [...settings.warnings, ...warningsOf(config)], settings };
}

/** What commands that work on the store use of a configuration. */
export interface StoreSettings {
  readonly dataDir: string;
  /** The identifiers of its models. */
  readonly models: readonly string[];
}

/**
 * Finds, reads and checks the configuration for a command that works on the store: environment
 * variables that other settings use, such as the keys of providers, need not be set.
 *
 * @throws Failure as loadConfig
 */
export function loadStoreSettings(options: ConfigOptions): StoreSettings {
  const { settings, inFolder } = readChecked(options, ([first]) => first === 'dataDir');
  const { dataDir, models } = settings.value;
  const { default: usual } = describeField('', configSchema.entries.dataDir);
  return { dataDir: inFolder(String(dataDir ?? usual)), models: Object.keys(models ?? {}) };
}

/**
 * Finds, reads and checks the configuration.
 *
 * @throws Failure with code `invalid_config` whose message lists every fault, one a line
 */
export function loadConfig(options: ConfigOptions): LoadedConfig {
  const { config, file, warnings } = loadSettings(options);
  return { config, file, warnings };
}

function freeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) freeze(part);
    Object.freeze(value);
  }
  return value;
}

/** The settings that a server reads once, as they are marked where they are declared. */
const RESTART: readonly Path[] = declaredProperties(configSchema)
  .filter(({ schema }) => metadataOf(schema).restart)
  .map(({ path }) => path);

/**
 * Loads the configuration again for a server that is running. Where it fails, the caller keeps
 * what it has.
 *
 * @returns also the settings that changed and count only from the next start
 * @throws Failure as loadConfig
 */
export function reloadConfig(
  previous: LoadedConfig,
  options: ConfigOptions,
): LoadedConfig & { readonly restart: readonly string[] } {
  const loaded = loadConfig(options);
  const differs = (path: Path) =>
    JSON.stringify(valueAt(previous.config, path)) !== JSON.stringify(valueAt(loaded.config, path));
  return { ...loaded, restart: RESTART.filter(differs).map(formatPath) };
}
