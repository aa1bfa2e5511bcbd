import type { CommandDefinition } from '../command/command.ts';
import { filesPositional } from './files-positional.ts';
import { inputFlags, limitFlags, outputFlags, runFlags } from '../batch/image-flags.ts';
import { srcsetOptions } from './srcset-options.ts';

/** Makes the files of responsive images, and the markup that shows them. */
export const srcsetCommand: CommandDefinition = {
  name: 'srcset',
  summary: 'Make images in several widths and formats, and the HTML that shows them',
  positionals: [filesPositional],
  flags: [
    { heading: 'Options:', schema: srcsetOptions },
    { heading: 'Inputs:', schema: inputFlags },
    { heading: 'Outputs:', schema: outputFlags, except: ['name'] },
    { heading: 'Running:', schema: runFlags, except: ['sha256sum'] },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Widths beyond an image give one output of its own width. The snippets go to standard output in the
order of the files, and everything else to standard error.`,
  ],
  examples: [
    'oriel srcset *.jpg --out public/img --base-url /img/',
    "oriel srcset --widths 320,640 --formats webp,jpeg --sizes '(min-width: 40em) 50vw, 100vw' *.jpg --out img",
    'oriel srcset --snippet json --snippet-out images.json *.jpg --out img',
  ],
  async run({ positionals: [files], flags }) {
    const { runSrcset } = await import('./srcset-run.ts');
    return runSrcset(files as string[], flags);
  },
};
