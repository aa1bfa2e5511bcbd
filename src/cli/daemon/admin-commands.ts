import { type AdminCommand, GROUPS } from '../../administration/admin-command.ts';
import { ADMIN_COMMANDS } from '../../administration/registry.ts';
import { fieldsOf, fromText } from '../../schema/fields.ts';
import type { CommandDefinition } from '../command/command.ts';
import { helpOf } from '../command/flags.ts';
import { storeCopyCommand } from './daemon-commands.ts';
import { adminFlags } from './daemon-flags.ts';

const NOTES = ['Whether the daemon runs or not: where it does, it is asked to do it.'];

/** The commands that manage accounts, teams and keys, and report their usage. */
export const adminCommands: readonly CommandDefinition[] = Object.entries(GROUPS).map(
  ([name, summary]) => {
    const commands = ADMIN_COMMANDS.filter(({ group }) => group === name);
    const [first] = commands;
    if (first?.isTopLevel) return { ...definitionOf(first), name, summary, notes: NOTES };
    const others = name === 'store' ? [storeCopyCommand] : [];
    return { name, summary, notes: NOTES, subcommands: [...commands.map(definitionOf), ...others] };
  },
);

function definitionOf(command: AdminCommand): CommandDefinition {
  const { name, summary, options, positionals, examples } = command;
  const fields = positionals.map(
    (positional) => fieldsOf(options).find((field) => field.name === positional)!,
  );
  return {
    name,
    summary,
    positionals: fields.map((field) => ({
      name: field.name,
      description: helpOf(field),
      required: true,
      choices: field.choices,
      path: field.path,
    })),
    flags: [
      { heading: 'Options:', schema: options, except: positionals },
      { heading: 'Store:', schema: adminFlags },
    ],
    examples: examples.map((example) => `oriel ${example}`),
    async run({ positionals: values, flags }) {
      const typed = fields.map((field, index) => [field.name, fromText(field, `${values[index]}`)]);
      const { runAdmin } = await import('./admin-run.ts');
      return runAdmin(command, Object.fromEntries(typed), flags);
    },
  };
}
