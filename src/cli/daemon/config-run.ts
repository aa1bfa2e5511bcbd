import { printable, printableJson } from '../../operations/batch/filename.ts';
import { stepsFault } from '../../operations/recipe/url-steps.ts';
import '../../text/built-in-dialects.ts';
import { counted } from '../../words.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { print, printStderr } from '../terminal/terminal.ts';
import { configPrintFlags } from './daemon-flags.ts';

function sourceOf({ positionals: [file] }: CommandInput) {
  return { file: file as string | undefined, env: process.env, cwd: process.cwd(), stepsFault };
}

/** Checks a configuration. */
export async function runConfigCheck(input: CommandInput): Promise<number> {
  const { loadConfig } = await import('../../config/loading/load.ts');
  const { config, file, warnings, settings } = loadConfig(sourceOf(input));
  for (const warning of warnings) printStderr(`oriel: warning: ${warning}`);
  const [providers, models] = [config.providers, config.models].map((all) => Object.keys(all));
  const contents = `${counted(providers!.length, 'provider')}, ${counted(models!.length, 'model')}`;
  const origin = settings.isSandbox ? ' of the sandbox, unless the store has some' : '';
  await print(`${printable(file ?? 'no file, the defaults')}: good: ${contents}${origin}\n`);
  return 0;
}

/** Prints the effective settings. */
export async function runConfigPrint(input: CommandInput): Promise<number> {
  const { json } = readFlags(configPrintFlags, input.flags);
  const { effectiveSettings, toYaml } = await import('../../config/loading/print.ts');
  const settings = effectiveSettings(sourceOf(input));
  await print(json ? `${printableJson(JSON.stringify(settings, null, 2))}\n` : toYaml(settings));
  return 0;
}

/** Prints the JSON Schema of the configuration. */
export async function runConfigSchema(): Promise<number> {
  const { configJsonSchema } = await import('../../config/loading/print.ts');
  await print(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}
