import type { CommandDefinition } from '../command/command.ts';
import { filesPositional } from './files-positional.ts';
import { inputFlags, limitFlags, montageFlags, runFlags } from '../batch/image-flags.ts';

/** Draws images onto contact sheets. */
export const montageCommand: CommandDefinition = {
  name: 'montage',
  summary: 'Draw images onto contact sheets',
  positionals: [filesPositional],
  flags: [
    { heading: 'Options:', schema: montageFlags },
    { heading: 'Inputs:', schema: inputFlags },
    {
      heading: 'Running:',
      schema: runFlags,
      except: ['sha256sum'],
    },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Images that do not fit onto one sheet go onto further ones: sheet-1.jpg, sheet-2.jpg. An image that fails
leaves a cell with a cross.`,
  ],
  examples: [
    'oriel montage --out sheet.jpg *.jpg',
    "oriel montage --columns 6 --cell 200x150 --label '{name}' --out sheet.png *.jpg",
    'oriel montage --rows 5 --out contact-{index}.webp --recursive photos',
  ],
  async run({ positionals: [files], flags }) {
    const { runMontage } = await import('./montage-run.ts');
    return runMontage(files as string[], flags);
  },
};
