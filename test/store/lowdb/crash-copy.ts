import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import { memoryFolder } from '../../oriel.ts';

/**
 * Copies a store as a crash would leave it now. Synchronous, so that nothing else of this process runs
 * meanwhile. A part of a write in progress may be in the copy. The lock is left out: it names a live process.
 */
export function copyAsCrashed(folder: string): string {
  for (let tries = 1; ; tries += 1) {
    const copy = memoryFolder();
    try {
      cpSync(folder, copy, {
        recursive: true,
        filter: (source) => !basename(source).startsWith('lock'),
      });
      return copy;
    } catch (error) {
      // Another thread renamed or removed a file at this moment.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === 5) throw error;
    }
  }
}
