import type { Operation } from '../operations/operation.ts';
import type { CommandDefinition, Positional } from './command.ts';
import { inputFlags, limitFlags, outputFlags, runFlags } from './image-flags.ts';

/** The command of one image operation. */
export function imageCommand(operation: Operation): CommandDefinition {
  const { name, summary, gives, options, examples, document, checksum } = operation;
  const first: Positional[] = document
    ? [
        {
          name: document.option,
          description: document.description,
          required: true,
          path: true,
          choices: document.names,
        },
      ]
    : [];
  return {
    name,
    summary,
    positionals: [
      ...first,
      {
        name: 'files',
        description: 'files, folders with --recursive, quoted patterns, or - for standard input',
        variadic: true,
        path: true,
      },
    ],
    flags: [
      { heading: 'Options:', schema: options, ...(document && { except: [document.option] }) },
      { heading: 'Inputs:', schema: inputFlags },
      ...(gives === 'image' ? [{ heading: 'Outputs:', schema: outputFlags }] : []),
      { heading: 'Running:', schema: runFlags, except: checksum ? [] : ['sha256sum'] },
      { heading: 'Limits:', schema: limitFlags },
    ],
    examples: examples.map((example) => `oriel ${example}`),
    async run({ positionals, flags }) {
      const { runImageCommand } = await import('./image-run.ts');
      const files = positionals.at(-1) as string[];
      if (!document) return runImageCommand(operation, files, flags);
      const { readText } = await import('./text-argument.ts');
      const origin = positionals[0] as string;
      const isFile = !document.names.includes(origin);
      const load = () => ({
        ...flags,
        [document.option]: isFile ? readText(origin, document.names) : origin,
      });
      return runImageCommand(operation, files, load(), { origin, ...(isFile && { reload: load }) });
    },
  };
}
