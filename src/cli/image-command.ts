import { Command } from 'commander';
import type { Operation } from '../operations/operation.ts';
import { addFlags } from './flags.ts';
import { inputFlags, limitFlags, outputFlags, runFlags } from './image-flags.ts';

/** The command of one operation; its flags are derived, its work is loaded when it is called. */
export function imageCommand(operation: Operation, finish: (exitCode: number) => void): Command {
  const command = new Command(operation.name)
    .description(operation.summary)
    .argument(
      '[files...]',
      'files, folders with --recursive, quoted patterns, or - for standard input',
    );
  addFlags(command, operation.options, 'Options:');
  addFlags(command, inputFlags, 'Inputs:');
  if (operation.gives === 'image') addFlags(command, outputFlags, 'Outputs:');
  addFlags(command, runFlags, 'Running:');
  addFlags(command, limitFlags, 'Limits:');
  const examples = operation.examples.map((example) => `  oriel ${example}`);
  command.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
  return command.action(async (files: string[], flags: Record<string, unknown>) => {
    const { runImageCommand } = await import('./image-run.ts');
    finish(await runImageCommand(operation, files, flags));
  });
}
