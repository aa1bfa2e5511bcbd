import { OPERATIONS } from '../operations/registry.ts';
import { cassettesCommand } from './cassettes/cassette-commands.ts';
import { check } from './check/check-command.ts';
import { clientCommands } from './client/client-commands.ts';
import type { CommandDefinition } from './command/command.ts';
import { completionCommand } from './completion/completion-command.ts';
import {
  adminCommands,
  auditCommand,
  backupCommands,
  configCommand,
  restartCommand,
  serveCommand,
  withCommand,
} from './daemon/daemon-commands.ts';
import { doctorCommand } from './doctor/doctor-command.ts';
import { lookingCommands, makingCommands } from './images/image-commands.ts';
import { imageCommand } from './images/operation-command.ts';

/** Commands below their headings in the help, in its order. */
const GROUPS: Readonly<Record<string, readonly CommandDefinition[]>> = {
  'Make images:': [...operationCommands('image'), ...makingCommands],
  'Look at images:': [...operationCommands('data'), ...lookingCommands, check],
  'Use models:': clientCommands,
  'Run the daemon:': [
    ...[serveCommand, restartCommand, withCommand, configCommand, doctorCommand, auditCommand],
    ...backupCommands,
    cassettesCommand,
  ],
  'Accounts, keys and the store:': adminCommands,
  'Shell:': [completionCommand],
};

function operationCommands(gives: 'image' | 'data'): CommandDefinition[] {
  return OPERATIONS.filter((operation) => operation.gives === gives).map(imageCommand);
}

export const COMMANDS: readonly CommandDefinition[] = Object.entries(GROUPS).flatMap(
  ([group, commands]) => commands.map((command) => ({ ...command, group })),
);
