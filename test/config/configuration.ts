import '../../src/text/built-in-dialects.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../src/config/loading/load.ts';
import { temporaryFolder } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

type Environment = Readonly<Record<string, string>>;

/** `oriel` in a resident process, for tables of configurations. */
export const resident = residentCommand();

/** Unsets ORIEL_CONFIG, which the shell of the tests may have set. */
export const BLANK = { ORIEL_CONFIG: undefined };

/** Writes a configuration to a new folder and returns its path. */
export function configFile(contents: string | Uint8Array): string {
  const file = join(temporaryFolder(), 'oriel.yaml');
  writeFileSync(file, contents);
  return file;
}

/** Loads a configuration as the daemon does. */
export function load(
  contents: string,
  env: Environment = {},
  options: Partial<LoadOptions> = {},
): LoadedConfig {
  const file = configFile(contents);
  return loadConfig({ file, env, cwd: '/', ...options });
}

/** The faults that `oriel config check` reports, as `LINE: PATH: MESSAGE`; none for a valid file. */
export async function faultsOf(
  contents: string | Uint8Array,
  env: Environment = {},
): Promise<string[]> {
  const file = configFile(contents);
  const { status, out, stderr } = await resident(['config', 'check', file], {
    env: { ...BLANK, ...env },
  });
  const lines = stderr.split('\n').slice(0, -1);
  const faults = lines.map((line) => {
    if (/^and \d+ more$/.test(line)) return line;
    if (!line.startsWith(`${file}:`)) throw new Error(`not about the file: ${line}`);
    return line.slice(file.length + 1).trimStart();
  });
  if (
    faults.length === 0 ? status !== 0 || !out.includes(': good: ') : status !== 1 || out !== ''
  ) {
    throw new Error(`exit code ${status} with ${JSON.stringify({ out, stderr })}`);
  }
  return faults;
}
