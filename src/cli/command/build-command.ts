import { Argument, Command, Option } from 'commander';
import { type Field, fromText } from '../../schema/fields.ts';
import {
  type CommandDefinition,
  type CommandLine,
  type Flags,
  flagFields,
  flagNames,
  helpOf,
  nounOf,
} from './command.ts';

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
  const { name, summary, group, positionals = [], flags = [], subcommands = [], run } = definition;
  const command = new Command(name).description(summary).copyInheritedSettings(parent);
  for (const { syntax, description } of positionals) {
    command.addArgument(new Argument(syntax, description));
  }
  for (const own of flags) {
    for (const field of flagFields(own)) {
      command.addOption(optionOf(field).helpGroup(own.heading));
    }
  }
  if (definition.passesOptions) command.passThroughOptions();
  if (group !== undefined) command.helpGroup(group);
  const text = helpText(definition);
  if (text !== '') command.addHelpText('after', `\n${text}`);
  for (const subcommand of subcommands) addCommand(command, subcommand, line, finish);
  if (run) {
    command.action(async (...values: unknown[]) => {
      const given = values[positionals.length] as Flags;
      const input = { positionals: values.slice(0, positionals.length), flags: given };
      finish(await run(input, line));
    });
  }
  parent.addCommand(command);
}

function helpText({ notes = [], examples = [] }: CommandDefinition): string {
  // A backslash continues a command line that is too long for 80 columns.
  const lines = examples.map((example) =>
    `\n  ${example}`.replace(/^(?=.{80})(.{1,76}) (?=-)/ms, '$1 \\\n      '),
  );
  return [...notes, ...(lines.length > 0 ? [`Examples:${lines.join('')}`] : [])].join('\n\n');
}

/** `targetSize` takes a `<size>`: the last word of the name, so that columns of the help stay narrow. */
function valueName(field: Field): string {
  if (field.kind !== 'string') return 'number';
  return nounOf(field) ?? field.name.replace(/^.*(?=[A-Z])/, '').toLowerCase();
}

function optionOf(field: Field): Option {
  const names = flagNames(field).join(', ');
  if (field.kind === 'boolean') return new Option(names, helpOf(field));
  const option = new Option(`${names} <${valueName(field)}>`, helpOf(field));
  return field.repeatable
    ? option.argParser((text: string, given: readonly string[] = []) => [...given, text])
    : option.argParser((text: string) => fromText(field, text));
}
