import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Environment } from '../yaml/interpolate.ts';
import { invalidConfig } from '../yaml/invalid.ts';

export interface ConfigOptions {
  /** Path from `--config`; if undefined, ORIEL_CONFIG or oriel.yaml in the working folder. */
  readonly file?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}

/** Thousands of models need less; some malformed files take quadratic time. */
const MAX_BYTES = 512_000;

/** Reads at most one byte more than the limit, because pipes and devices have no size. */
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

/** The text of the file. @throws Failure that names it */
export function readSource(file: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readBytes(file);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const known: Readonly<Record<string, string>> = {
      ENOENT: 'no such file',
      EISDIR: 'a folder, not a file',
      EACCES: 'no permission to read it',
    };
    throw invalidConfig(`${file}: ${known[code] ?? message}`, error);
  }
  if (bytes.length > MAX_BYTES) throw invalidConfig(`${file}: larger than ${MAX_BYTES / 1000} KB`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalidConfig(`${file}: not UTF-8`, error);
  }
}

/** The absolute path of the configuration file; null if there is none. */
export function findConfig({ file, env, cwd }: ConfigOptions): string | null {
  const named = file ?? (env['ORIEL_CONFIG'] || undefined);
  if (named !== undefined) return resolve(cwd, named);
  const defaultPath = resolve(cwd, 'oriel.yaml');
  try {
    statSync(defaultPath);
    return defaultPath;
  } catch (error) {
    // A file that exists and cannot be read must fail later, not be ignored.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : defaultPath;
  }
}
