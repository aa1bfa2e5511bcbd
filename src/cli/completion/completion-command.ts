import { type CommandDefinition, usageFailure } from '../command/command.ts';

/** Writers of the scripts, which few runs of a command need. */
const WRITERS = {
  bash: async () => (await import('./bash.ts')).bash,
  zsh: async () => (await import('./zsh.ts')).zsh,
  fish: async () => (await import('./fish.ts')).fish,
};

const SHELLS = Object.keys(WRITERS) as (keyof typeof WRITERS)[];
const NAMES = SHELLS.join(', ');

/** Prints the completion script of a shell. */
export const completionCommand: CommandDefinition = {
  name: 'completion',
  summary: 'Print a completion script for your shell',
  positionals: [{ syntax: '<shell>', description: `your shell (${NAMES})`, choices: SHELLS }],
  notes: [
    `Add one of these lines to your shell's startup file:
  ~/.bashrc                     eval "$(oriel completion bash)"
  ~/.zshrc, after compinit      source <(oriel completion zsh)
  ~/.config/fish/config.fish    oriel completion fish | source`,
  ],
  async run({ positionals: [given] }, { commands }) {
    const shell = SHELLS.find((known) => known === given);
    if (shell === undefined) {
      throw usageFailure(`<shell>: expected one of ${NAMES}, received ${JSON.stringify(given)}`);
    }
    const { print } = await import('../terminal/terminal.ts');
    await print(await completionScript(commands, shell));
    return 0;
  },
};

/**
 * A shell's completion script: commands, flags, the choices of values, and file names. The script
 * contains all of them, because starting Oriel at each press of the tab key would take 100 ms.
 */
export async function completionScript(
  commands: readonly CommandDefinition[],
  shell: keyof typeof WRITERS,
): Promise<string> {
  const { rootOf } = await import('./command-tree.ts');
  const write = await WRITERS[shell]();
  return write(rootOf(commands));
}
