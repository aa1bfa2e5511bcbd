import { Argument, Command } from 'commander';
import type { Shell } from './completion.ts';
import { print } from './terminal.ts';

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

/** The command that prints a shell's completion script. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a script that completes commands, flags and values in your shell')
    .addArgument(new Argument('<shell>', 'the shell to complete in').choices(SHELLS))
    .addHelpText(
      'after',
      `
Add one of these to your shell's startup file:
  ~/.bashrc                     eval "$(oriel completion bash)"
  ~/.zshrc, after compinit      source <(oriel completion zsh)
  ~/.config/fish/config.fish    oriel completion fish | source`,
    )
    .action(async (shell: Shell, _flags: unknown, command: Command) => {
      const { completionScript } = await import('./completion.ts');
      await print(completionScript(command.parent!, shell));
    });
}
