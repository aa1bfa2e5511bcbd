import { OPERATIONS } from '../operations/registry.ts';
import { adminCommands } from './admin-commands.ts';
import { clientCommands } from './client/client-commands.ts';
import type { CommandDefinition } from './command.ts';
import { compareCommand } from './compare-command.ts';
import { completionCommand } from './completion-command.ts';
import { auditCommand, configCommand, serveCommand } from './daemon-commands.ts';
import { duplicatesCommand } from './duplicates-command.ts';
import { faviconCommand } from './favicon-command.ts';
import { imageCommand } from './image-command.ts';
import { montageCommand } from './montage-command.ts';
import { recipeCommand } from './recipe-command.ts';
import { srcsetCommand } from './srcset-command.ts';

/** All commands, in the order of the help. */
export const COMMANDS: readonly CommandDefinition[] = [
  ...OPERATIONS.map(imageCommand),
  srcsetCommand,
  faviconCommand,
  duplicatesCommand,
  recipeCommand,
  compareCommand,
  montageCommand,
  serveCommand,
  configCommand,
  ...adminCommands,
  auditCommand,
  ...clientCommands,
  completionCommand,
];
