import { Argument, Command } from 'commander';
import { type AdminCommand, GROUPS } from '../administration/admin-command.ts';
import { ADMIN_COMMANDS } from '../administration/registry.ts';
import { fieldsOf, fromText } from '../schema/fields.ts';
import { administrationFlags } from './administration-flags.ts';
import { addFlags, attachField, describeField } from './flags.ts';

/** The commands of all that can be done to accounts and keys. */
export function administrationCommands(): Command[] {
  return Object.entries(GROUPS).map(([group, summary]) => {
    const command = new Command(group).description(summary);
    for (const verb of ADMIN_COMMANDS)
      if (verb.group === group) command.addCommand(verbCommand(verb));
    return command.addHelpText(
      'after',
      `
Whether the daemon runs or not: where it does, it is asked to do it.`,
    );
  });
}

function verbCommand(verb: AdminCommand): Command {
  const command = new Command(verb.name).description(verb.summary);
  const fields = fieldsOf(verb.options);
  const placed = verb.positionals.map((name) => fields.find((one) => one.name === name)!);
  for (const place of placed) {
    const argument = new Argument(`<${place.name}>`, describeField(place));
    command.addArgument(attachField(argument, place));
  }
  addFlags(command, verb.options, 'Options:', verb.positionals);
  addFlags(command, administrationFlags, 'Store:');
  if (verb.examples.length > 0) {
    const lines = verb.examples.map((example) => `  oriel ${example}`);
    command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  }
  return command.action(async (...values: unknown[]) => {
    const flags = values[placed.length] as Record<string, unknown>;
    const typed = placed.map((place, index) => [place.name, fromText(place, `${values[index]}`)]);
    const { runAdministration } = await import('./administration-run.ts');
    await runAdministration(verb, Object.fromEntries(typed), flags);
  });
}
