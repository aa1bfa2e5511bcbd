import type { Command } from 'commander';
import { administrationCommands } from './administration-command.ts';
import { auditCommand } from './audit-command.ts';
import { clientCommands } from './client/client-commands.ts';
import { configCommand } from './config-command.ts';
import { serveCommand } from './serve-command.ts';

/** Adds the commands that run the daemon, look after it or talk to it. */
export function addDaemonCommands(
  program: Command,
  version: string,
  finish: (exitCode: number) => void,
): void {
  program.addCommand(serveCommand(version, finish).copyInheritedSettings(program));
  program.addCommand(configCommand(program));
  for (const group of administrationCommands()) {
    program.addCommand(group.copyInheritedSettings(program));
    for (const verb of group.commands) verb.copyInheritedSettings(group);
  }
  program.addCommand(auditCommand(finish).copyInheritedSettings(program));
  for (const command of clientCommands(finish)) {
    program.addCommand(command.copyInheritedSettings(program));
  }
}
