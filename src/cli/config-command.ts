import { Argument, Command } from 'commander';
import { printable, printableJson } from '../operations/filename.ts';
import { print, say } from './terminal.ts';

const FILE = 'the configuration; ORIEL_CONFIG, then oriel.yaml, where not given';

function options(file: string | undefined) {
  return { file, env: process.env, cwd: process.cwd() };
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

async function check(file: string | undefined): Promise<void> {
  await import('../text/dialects/built-in.ts');
  const { loadConfig } = await import('../config/load.ts');
  const loaded = loadConfig(options(file));
  for (const warning of loaded.warnings) say(`oriel: warning: ${warning}`);
  const { providers, models } = loaded.config;
  const contents = `${count(Object.keys(providers).length, 'provider')}, ${count(Object.keys(models).length, 'model')}`;
  const name = printable(loaded.file ?? 'no file, the defaults');
  await print(`${name}: good: ${contents}\n`);
}

async function printEffective(
  file: string | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<void> {
  await import('../text/dialects/built-in.ts');
  const { effectiveSettings, toYaml } = await import('../config/print.ts');
  const settings = effectiveSettings(options(file));
  await print(json ? `${printableJson(JSON.stringify(settings, null, 2))}\n` : toYaml(settings));
}

async function printSchema(): Promise<void> {
  await import('../text/dialects/built-in.ts');
  const { configJsonSchema } = await import('../config/json-schema.ts');
  await print(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
}

/**
 * The commands that look at the daemon's configuration. What reads YAML is loaded when one runs.
 *
 * @param program whose settings they follow; commands pass theirs on only to those made later
 */
export function configCommand(program: Command): Command {
  const file = () => new Argument('[file]', FILE);
  const command = new Command('config')
    .description("Look at the daemon's configuration")
    .copyInheritedSettings(program);
  command
    .command('check')
    .description('Name every fault of a configuration, or say that it is good')
    .addArgument(file())
    .action(check);
  command
    .command('print')
    .description('Print the configuration as it counts, defaults included and secrets hidden')
    .addArgument(file())
    .option('--json', 'print JSON instead of YAML')
    .action(printEffective);
  command
    .command('schema')
    .description('Print the JSON Schema that editors check a configuration with')
    .action(printSchema);
  return command;
}
