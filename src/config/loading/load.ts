import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import * as v from 'valibot';
import {
  checkAll,
  type Fault,
  type FormatValue,
  formatValue,
  redactUrl,
} from '../../schema/faults.ts';
import { describeField, metadataOf } from '../../schema/fields.ts';
import { isObject } from '../../schema/untrusted.ts';
import { type Path, schemaAt, valueAt } from '../../schema/walk.ts';
import { allNames } from '../catalog/model-names.ts';
import { credentialFaults, withCredentials } from '../settings/assets.ts';
import { type Config, configSchema } from '../settings/schema.ts';
import {
  coerceVariables,
  type Document,
  faultLines,
  type LineFault,
  readDocument,
} from '../yaml/document.ts';
import type { Environment } from '../yaml/interpolate.ts';
import { invalidConfig } from '../yaml/invalid.ts';
import { type ConfigOptions, findConfig, readSource } from './config-file.ts';
import { crossFaults } from './cross-faults.ts';
import { warningsOf } from './warnings.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path of the file; null if there is none and the sandbox is used. */
  readonly file: string | null;
  readonly warnings: readonly string[];
  readonly settings: Settings;
}

/** The settings of a file, with environment variables replaced and the sandbox's catalog if it has none. */
export interface Settings {
  readonly value: Readonly<Record<string, unknown>>;
  readonly document: Document;
  /** The text of the file; empty without one. */
  readonly source: string;
  /** Whether the file names neither providers nor models, so that the catalog is the sandbox's. */
  readonly isSandbox: boolean;
}

/** Reported faults: a file that is no configuration has thousands. */
const MAX_FAULTS = 100;

function failWith(file: string | null, faults: readonly Fault[], document: Document): never {
  throw invalidConfig(faultLines(String(file), faults, document, MAX_FAULTS).join('\n'));
}

/** What is read where there is no file. */
const NO_DOCUMENT: Document = { value: null, faults: [], line: () => 1, variables: () => [] };

/** The catalog of the embedded sandbox, which needs no account. JSON, because the first start loads no YAML then. */
function sandbox(): Readonly<Record<string, unknown>> {
  const file = createRequire(import.meta.url).resolve('#config/sandbox.json');
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Formats values in faults; for possible secrets, names the environment variable instead. */
function formatFor({ value, document }: Settings): FormatValue {
  return (received, path) => {
    const variables = document.variables(path).map((name) => `\${${name}}`);
    if (variables.length > 0) return `the value of ${variables.join(', ')}`;
    const found = schemaAt(configSchema, value, path);
    const secret = found && metadataOf(found.schema).secret;
    if (secret === 'always' && received) return 'something else';
    if (secret && typeof received === 'string') return formatValue(redactUrl(received), path);
    return received === null ? 'nothing' : formatValue(received, path);
  };
}

/** How a command that replaces settings, or asks no provider, reads a file. */
export interface LoadOptions extends ConfigOptions {
  /** Settings that are left out, whose environment variables may be unset. */
  readonly without?: readonly Path[];
  /** Whether providers are replayed; by default what `cassettes.mode` of the file says. */
  readonly isReplay?: boolean | undefined;
  /** Why the steps of a preset for images by URL cannot be used; presets are not checked without it. */
  readonly stepsFault?: (steps: string) => string | null;
}

/** Whether a fault is an environment variable that is not set. */
const isUnset = (fault: Fault): fault is LineFault & { readonly variable: string } =>
  'variable' in fault && fault.variable !== undefined;

/** Fills in settings of providers whose variables are not set: a replay sends no key, and asks no address. */
function fillProviders({ value, faults }: Document): void {
  for (const { path, variable } of faults.filter(isUnset)) {
    const name = String(path.at(-1));
    if (path[0] !== 'providers') continue;
    const parent = valueAt(value, path.slice(0, -1)) as Record<string, unknown>;
    parent[name] = /^(baseUrl|proxy)$/.test(name) ? 'http://unset.invalid' : `unset-${variable}`;
  }
}

/** Reads the file. Throws if it is no map of settings. */
function readSettings(
  file: string | null,
  { env, without = [], isReplay }: LoadOptions,
): Settings & { readonly faults: readonly Fault[] } {
  const source = file === null ? '' : readSource(file);
  const document = file === null ? NO_DOCUMENT : readDocument(source, env);
  const replays = isReplay ?? valueAt(document.value, ['cassettes', 'mode']) === 'replay';
  if (replays) fillProviders(document);
  const read = document.value ?? {};
  if (typeof read !== 'object' || Array.isArray(read)) {
    failWith(file, [{ path: [], message: 'expected a map of settings' }], document);
  }
  const own = read as Readonly<Record<string, unknown>>;
  for (const path of without) {
    const parent = valueAt(own, path.slice(0, -1));
    if (isObject(parent)) delete (parent as Record<string, unknown>)[String(path.at(-1))];
  }
  coerceVariables(configSchema, own, document);
  const left = replays ? [...without, ['providers']] : without;
  const isOptional = (path: Path) =>
    left.some((section) => section.every((name, index) => path[index] === name));
  const isSandbox = (own['providers'] ?? null) === null && (own['models'] ?? null) === null;
  return {
    document,
    source,
    isSandbox,
    faults: document.faults.filter((fault) => !isUnset(fault) || !isOptional(fault.path)),
    value: isSandbox ? { ...own, ...sandbox() } : own,
  };
}

function presetFaults(value: unknown, { stepsFault }: LoadOptions): readonly Fault[] {
  const presets = valueAt(value, ['images', 'presets']);
  if (stepsFault === undefined || !isObject(presets)) return [];
  return Object.entries(presets).flatMap(([name, steps]) => {
    const message = typeof steps === 'string' ? stepsFault(steps) : null;
    return message === null ? [] : [{ path: ['images', 'presets', name], message }];
  });
}

/**
 * Finds, reads and validates the configuration.
 *
 * @param needed whether a setting is used, so that its environment variables must be set
 */
function readChecked(options: LoadOptions, needed: (path: Path) => boolean) {
  const file = findConfig(options);
  const settings = readSettings(file, options);
  const { document, value } = settings;
  const format = formatFor(settings);
  const checked = checkAll(configSchema, value, format);
  const own = new Set(settings.faults.map(({ path }) => JSON.stringify(path)));
  const others = [
    ...('faults' in checked ? checked.faults : []),
    ...crossFaults(value, format),
    ...presetFaults(value, options),
  ];
  // A value with an unset variable has one fault only.
  const faults = [
    ...settings.faults.filter((fault) => !isUnset(fault) || needed(fault.path)),
    ...others.filter(({ path }) => !own.has(JSON.stringify(path))),
  ];
  if (faults.length > 0) failWith(file, faults, document);
  const folder = file === null ? options.cwd : dirname(file);
  return { file, settings, checked, inFolder: (path: string) => resolve(folder, path) };
}

/**
 * Finds, reads and validates a configuration file that is to be changed. Environment variables may be
 * unset.
 *
 * @throws Failure as loadConfig, also if there is no file
 */
export function readForEdit(options: ConfigOptions) {
  const file = findConfig(options);
  if (file === null) {
    throw invalidConfig('there is no oriel.yaml here; name the configuration by --config');
  }
  checkFile(file, options.env);
  return { file, source: readSource(file) };
}

/** @throws Failure as loadConfig; environment variables may be unset */
export function checkFile(file: string, env: Environment): void {
  readChecked({ file, env, cwd: '/' }, () => false);
}

const NEEDED_BY_STORE: readonly string[] = ['dataDir', 'store', 'secretKeyFile', 'network'];

/** The file of the key that the configuration or else the environment names. */
function configuredKeyFile(
  setting: unknown,
  { env, cwd }: ConfigOptions,
  inFolder = (path: string) => resolve(cwd, path),
): string | undefined {
  if (typeof setting === 'string') return inFolder(setting);
  const named = env['ORIEL_SECRET_KEY_FILE'];
  return named ? resolve(cwd, named) : undefined;
}

/**
 * Finds, reads and validates the configuration for a store command. Environment variables of other
 * settings, such as the keys of providers, may be unset.
 *
 * @throws Failure as loadConfig
 */
export function loadStoreSettings(options: ConfigOptions) {
  const { file, settings, inFolder } = readChecked(options, ([first]) =>
    NEEDED_BY_STORE.includes(String(first)),
  );
  const { value } = settings;
  const { store, network } = configSchema.entries;
  const { default: defaultDataDir } = describeField('', configSchema.entries.dataDir);
  const dataDir = inFolder(String(value['dataDir'] ?? defaultDataDir));
  return {
    ...{ dataDir, file, settings },
    store: v.parse(store, value['store']),
    network: v.parse(network, value['network']),
    models: allNames(value['models']),
    secretKeyFile: configuredKeyFile(value['secretKeyFile'], options, inFolder),
  };
}

/**
 * Finds, reads and validates the configuration.
 *
 * @throws Failure with code `invalid_config`, whose message lists the faults, one on each line
 */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const { file, settings, checked, inFolder } = readChecked(options, () => true);
  const { output } = checked as { readonly output: Config };
  const { backup, cassettes, images, log } = output;
  const folders = Object.entries(images.folders).map(([name, path]) => [name, inFolder(path)]);
  const assets = withCredentials(output.assets, options.env);
  const faults = credentialFaults(assets);
  if (faults.length > 0) failWith(file, faults, settings.document);
  const located = (name: string, path: string | undefined) =>
    path === undefined ? {} : { [name]: inFolder(path) };
  const config = freeze({
    ...output,
    assets,
    backup: { ...backup, ...(backup.to?.startsWith('s3://') ? {} : located('to', backup.to)) },
    cassettes: { ...cassettes, dir: inFolder(cassettes.dir), ...located('used', cassettes.used) },
    dataDir: inFolder(output.dataDir),
    images: { ...images, folders: Object.fromEntries(folders) },
    log: { ...log, ...located('file', log.file) },
    secretKeyFile: configuredKeyFile(output.secretKeyFile, options, inFolder),
  });
  return { config, file, warnings: warningsOf(config), settings };
}

function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}
