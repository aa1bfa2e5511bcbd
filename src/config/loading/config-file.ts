import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readUtf8 } from '../../utf8.ts';
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
  const failure = (reason: string, cause: unknown) => invalidConfig(`${file}: ${reason}`, cause);
  return readUtf8(() => readBytes(file), MAX_BYTES, failure);
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
