import type { CommandDefinition } from '../command/command.ts';
import { usageFailure } from '../command/usage.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Prints the completion script of a shell. */
export const completionCommand: CommandDefinition = {
  name: 'completion',
  summary: 'Print a script that completes commands, flags and values in your shell',
  positionals: [
    {
      name: 'shell',
      description: `the shell to complete in (${SHELLS.join(', ')})`,
      required: true,
      choices: SHELLS,
    },
  ],
  notes: [
    `Add one of these to your shell's startup file:
  ~/.bashrc                     eval "$(oriel completion bash)"
  ~/.zshrc, after compinit      source <(oriel completion zsh)
  ~/.config/fish/config.fish    oriel completion fish | source`,
  ],
  async run({ positionals: [given] }, { commands }) {
    const shell = SHELLS.find((known) => known === given);
    if (shell === undefined) {
      throw usageFailure(
        `<shell>: expected one of ${SHELLS.join(', ')}, received ${JSON.stringify(given)}`,
      );
    }
    const { completionScript } = await import('./script.ts');
    const { print } = await import('../terminal/terminal.ts');
    await print(completionScript(commands, shell));
    return 0;
  },
};
