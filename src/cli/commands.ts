import { OPERATIONS } from '../operations/registry.ts';
import { clientCommands } from './client/client-commands.ts';
import type { CommandDefinition } from './command/command.ts';
import { completionCommand } from './completion/completion-command.ts';
import { adminCommands } from './daemon/admin-commands.ts';
import { auditCommand, configCommand, serveCommand } from './daemon/daemon-commands.ts';
import {
  compareCommand,
  duplicatesCommand,
  faviconCommand,
  montageCommand,
  recipeCommand,
  srcsetCommand,
} from './images/image-commands.ts';
import { imageCommand } from './images/operation-command.ts';

/** Commands below their headings in the help, in its order. */
const GROUPS: readonly (readonly [string, readonly CommandDefinition[]])[] = [
  [
    'Make images:',
    [...imageCommands('image'), recipeCommand, srcsetCommand, faviconCommand, montageCommand],
  ],
  ['Look at images:', [...imageCommands('data'), compareCommand, duplicatesCommand]],
  ['Use models:', clientCommands],
  ['Run the daemon:', [serveCommand, configCommand, auditCommand]],
  ['Accounts, keys and the store:', adminCommands],
  ['Shell:', [completionCommand]],
];

function imageCommands(gives: 'image' | 'data'): CommandDefinition[] {
  return OPERATIONS.filter((operation) => operation.gives === gives).map(imageCommand);
}

export const COMMANDS: readonly CommandDefinition[] = GROUPS.flatMap(([group, commands]) =>
  commands.map((command) => ({ ...command, group })),
);
