import { join } from 'node:path';
import type { Files } from '../../../files.ts';

/** The folder of a store, and those within it. */
export interface Place {
  readonly files: Files;
  readonly directory: string;
  readonly journals: string;
  readonly shards: string;
  readonly archive: string;
  readonly requests: string;
  readonly documents: string;
}

export function placeIn(files: Files, directory: string): Place {
  return {
    files,
    directory,
    journals: join(directory, 'journal'),
    shards: join(directory, 'shards'),
    archive: join(directory, 'archive'),
    requests: join(directory, 'requests'),
    documents: join(directory, 'documents'),
  };
}
