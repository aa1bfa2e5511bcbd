import type { CommandDefinition } from '../command/command.ts';
import { bash } from './bash.ts';
import { type CommandNode, rootOf } from './command-tree.ts';
import { fish } from './fish.ts';
import { zsh } from './zsh.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

const WRITERS: Readonly<Record<Shell, (root: CommandNode) => string>> = { bash, zsh, fish };

/**
 * A shell's completion script: commands, flags, the choices of values, and file names. The script
 * contains all of them, because starting Oriel at each press of the tab key would take 100 ms.
 */
export function completionScript(commands: readonly CommandDefinition[], shell: Shell): string {
  return WRITERS[shell](rootOf(commands));
}
