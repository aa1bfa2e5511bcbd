import type { CommandDefinition } from '../command/command.ts';
import { compareFlags, limitFlags, recursiveFlags, runFlags } from '../batch/image-flags.ts';

/** Measures how much images differ from a reference, or from those of equal names in a folder. */
export const compareCommand: CommandDefinition = {
  name: 'compare',
  summary: 'Measure how much images differ from others, by SSIM and PSNR',
  positionals: [
    {
      name: 'reference',
      description: 'the original image, or a folder of originals',
      required: true,
      path: true,
    },
    {
      name: 'files',
      description: 'images to compare with it, or - for standard input, or one folder',
      required: true,
      variadic: true,
      path: true,
    },
  ],
  flags: [
    { heading: 'Options:', schema: compareFlags },
    { heading: 'Inputs:', schema: recursiveFlags },
    { heading: 'Running:', schema: runFlags, except: ['dryRun', 'sha256sum'] },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Images of two folders are compared by their paths below the folders; where a path is in one
folder only, its name without the extension counts.`,
  ],
  examples: [
    'oriel compare photo.png photo.webp',
    'oriel compare photo.png photo.webp --min-ssim 0.98 --diff difference.png',
    'oriel compare --recursive photos web --json',
  ],
  async run({ positionals: [reference, files], flags }) {
    const { runCompare } = await import('./compare-run.ts');
    return runCompare(reference as string, files as string[], flags);
  },
};
