import type { Operation } from '../operations/operation.ts';
import type { CommandDefinition } from './command.ts';
import { inputFlags, limitFlags, outputFlags, runFlags } from './image-flags.ts';

/** The command of one image operation. */
export function imageCommand(operation: Operation): CommandDefinition {
  const { name, summary, gives, options, examples, checksum } = operation;
  return {
    name,
    summary,
    positionals: [
      {
        name: 'files',
        description: 'files, folders with --recursive, quoted patterns, or - for standard input',
        variadic: true,
        path: true,
      },
    ],
    flags: [
      { heading: 'Options:', schema: options },
      { heading: 'Inputs:', schema: inputFlags },
      ...(gives === 'image' ? [{ heading: 'Outputs:', schema: outputFlags }] : []),
      { heading: 'Running:', schema: runFlags, except: checksum ? [] : ['sha256sum'] },
      { heading: 'Limits:', schema: limitFlags },
    ],
    examples: examples.map((example) => `oriel ${example}`),
    async run({ positionals: [files], flags }) {
      const { runImageCommand } = await import('./image-run.ts');
      return runImageCommand(operation, files as string[], flags);
    },
  };
}
