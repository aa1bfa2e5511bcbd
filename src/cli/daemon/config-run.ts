import { printable, printableJson } from '../../operations/batch/filename.ts';
import '../../text/built-in-dialects.ts';
import { readFlags } from '../command/flags.ts';
import { counted, print, printStderr } from '../terminal/terminal.ts';
import { configPrintFlags } from './daemon-flags.ts';

function options(file: string | undefined) {
  return { file, env: process.env, cwd: process.cwd() };
}

/** Checks a configuration. @returns the exit code */
export async function runConfigCheck(file: string | undefined): Promise<number> {
  const { loadConfig } = await import('../../config/loading/load.ts');
  const loaded = loadConfig(options(file));
  for (const warning of loaded.warnings) printStderr(`oriel: warning: ${warning}`);
  const { providers, models } = loaded.config;
  const contents = [
    counted(Object.keys(providers).length, 'provider'),
    counted(Object.keys(models).length, 'model'),
  ].join(', ');
  const name = printable(loaded.file ?? 'no file, the defaults');
  await print(`${name}: good: ${contents}\n`);
  return 0;
}

/** Prints the effective settings. @returns the exit code */
export async function runConfigPrint(
  file: string | undefined,
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { json } = readFlags(configPrintFlags, flags);
  const { effectiveSettings, toYaml } = await import('../../config/loading/print.ts');
  const settings = effectiveSettings(options(file));
  await print(json ? `${printableJson(JSON.stringify(settings, null, 2))}\n` : toYaml(settings));
  return 0;
}

/** Prints the JSON Schema of the configuration. @returns the exit code */
export async function runConfigSchema(): Promise<number> {
  const { configJsonSchema } = await import('../../config/loading/default-file.ts');
  await print(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}
