import { join } from 'node:path';
import type { Files } from '../../../files.ts';

/** The folder of a store, and those within it. */
export type Place = Readonly<ReturnType<typeof placeIn>>;

export function placeIn(files: Files, directory: string) {
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
