import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import { describe } from 'vitest';
import { openStore } from '../../src/store/lowdb/open.ts';
import { temporaryFolder } from '../oriel.ts';
import { conforms } from './conformance.ts';

/**
 * What is on disk now. Nothing else of this process runs meanwhile, so that between two writes this
 * is what a crash would leave; a write under way may be in it in part. The lock names a live process.
 */
function copyOfCrashed(folder: string): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, {
    recursive: true,
    filter: (source) => !basename(source).startsWith('lock'),
  });
  return copy;
}

describe('the lowdb driver', () => {
  conforms({
    // Journals of a few kilobytes, so that checkpoints happen all the time.
    open: (directory, options) => openStore({ directory, journalLimit: 4000, ...options }),
    copyOfCrashed,
  });
});
