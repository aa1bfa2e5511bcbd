import type { CommandDefinition } from '../command/command.ts';
import { filesPositional } from './files-positional.ts';
import { duplicatesFlags, inputFlags, limitFlags, runFlags } from '../batch/image-flags.ts';

/** Finds equal and alike images. */
export const duplicatesCommand: CommandDefinition = {
  name: 'duplicates',
  summary: 'Find groups of equal and alike images, and which of each to keep',
  positionals: [filesPositional],
  flags: [
    { heading: 'Options:', schema: duplicatesFlags },
    { heading: 'Inputs:', schema: inputFlags },
    { heading: 'Running:', schema: runFlags, except: ['dryRun', 'sha256sum'] },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    'Nothing is deleted. The file to keep has the most pixels, then bytes, then the oldest modification time.',
  ],
  examples: [
    'oriel duplicates --recursive photos',
    'oriel duplicates --perceptual none --exit-code *.jpg',
    'oriel duplicates --threshold 2 --json *.jpg',
  ],
  async run({ positionals: [files], flags }) {
    const { runDuplicates } = await import('./duplicates-run.ts');
    return runDuplicates(files as string[], flags);
  },
};
