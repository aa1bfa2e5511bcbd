import { OPERATIONS } from '../operations/registry.ts';
import { adminCommands } from './daemon/admin-commands.ts';
import { clientCommands } from './client/client-commands.ts';
import type { CommandDefinition } from './command/command.ts';
import { compareCommand } from './images/compare-command.ts';
import { completionCommand } from './completion/completion-command.ts';
import { auditCommand, configCommand, serveCommand } from './daemon/daemon-commands.ts';
import { duplicatesCommand } from './images/duplicates-command.ts';
import { faviconCommand } from './images/favicon-command.ts';
import { imageCommand } from './images/image-command.ts';
import { montageCommand } from './images/montage-command.ts';
import { recipeCommand } from './images/recipe-command.ts';
import { srcsetCommand } from './images/srcset-command.ts';

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
