import { Argument, Command, Option } from 'commander';
import { type Field, fieldsOf, fromText } from '../../schema/fields.ts';
import type { CommandDefinition, CommandLine, FlagGroup, Positional } from './command.ts';
import { flagNames, helpOf } from './flags.ts';

/**
 * Adds a command and its subcommands to the one above it.
 *
 * @param finish called with the exit code when the command has run
 */
export function addCommand(
  parent: Command,
  definition: CommandDefinition,
  line: CommandLine,
  finish: (exitCode: number) => void,
): void {
  const { name, summary, positionals = [], flags = [], subcommands = [], run } = definition;
  const command = new Command(name).description(summary).copyInheritedSettings(parent);
  for (const positional of positionals) {
    command.addArgument(new Argument(syntaxOf(positional), positional.description));
  }
  for (const group of flags) addFlags(command, group);
  const text = helpText(definition);
  if (definition.group !== undefined) command.helpGroup(definition.group);
  if (text !== '') command.addHelpText('after', `\n${text}`);
  for (const subcommand of subcommands) addCommand(command, subcommand, line, finish);
  if (run) {
    command.action(async (...values: unknown[]) => {
      const input = {
        positionals: values.slice(0, positionals.length),
        flags: values[positionals.length] as Record<string, unknown>,
      };
      finish(await run(input, line));
    });
  }
  parent.addCommand(command);
}

function syntaxOf({ name, required = false, variadic = false }: Positional): string {
  const named = variadic ? `${name}...` : name;
  return required ? `<${named}>` : `[${named}]`;
}

function helpText({ notes = [], examples = [] }: CommandDefinition): string {
  const lines = examples.map((example) => `\n  ${example}`);
  return [...notes, ...(lines.length > 0 ? [`Examples:${lines.join('')}`] : [])].join('\n\n');
}

function addFlags(command: Command, { heading, schema, except = [] }: FlagGroup): void {
  for (const field of fieldsOf(schema)) {
    if (!except.includes(field.name)) command.addOption(optionOf(field).helpGroup(heading));
  }
}

function optionOf(field: Field): Option {
  const names = flagNames(field).join(', ');
  const { kind, name, repeatable } = field;
  if (kind === 'boolean') return new Option(names, helpOf(field));
  const value = kind === 'integer' || kind === 'number' ? 'number' : name;
  const option = new Option(`${names} <${value}>`, helpOf(field));
  return repeatable
    ? option.argParser((text: string, given: readonly string[] = []) => [...given, text])
    : option.argParser((text: string) => fromText(field, text));
}
