import { Command } from 'commander';
import { auditFlags, auditStoreFlags } from './audit-flags.ts';
import { addFlags } from './flags.ts';

/** The command that shows the audit log. */
export function auditCommand(finish: (exitCode: number) => void): Command {
  const command = new Command('audit').description(
    'Show who did what to accounts, keys and the daemon, and verify that no line is missing',
  );
  addFlags(command, auditFlags, 'Options:');
  addFlags(command, auditStoreFlags, 'Store:');
  command.addHelpText(
    'after',
    `
Whether the daemon runs or not. Exits with 1 where lines are missing or were changed.

Examples:
  oriel audit --since 7d
  oriel audit --act keys.revoke --json`,
  );
  return command.action(async (flags: Record<string, unknown>) => {
    const { runAudit } = await import('./audit-run.ts');
    finish(await runAudit(flags));
  });
}
