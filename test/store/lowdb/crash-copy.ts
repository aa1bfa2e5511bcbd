import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import { temporaryFolder } from '../../oriel.ts';

/**
 * What is on disk now. Nothing else of this process runs meanwhile, so that between two writes this
 * is what a crash would leave; a write under way may be in it in part. The lock names a live process.
 */
export function copyOfCrashed(folder: string): string {
  for (let tries = 1; ; tries += 1) {
    const copy = temporaryFolder();
    try {
      cpSync(folder, copy, {
        recursive: true,
        filter: (source) => !basename(source).startsWith('lock'),
      });
      return copy;
    } catch (error) {
      // A file that a thread renames or removes at this moment.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === 5) throw error;
    }
  }
}
