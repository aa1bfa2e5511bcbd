import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { corruptStore, newerStore } from '../files/errors.ts';
import { JsonFile } from '../files/json-file.ts';
import type { Place } from '../files/place.ts';
import type { Extent } from './journal-file.ts';

export const STORE_FILE = 'store.json';

const FORMAT = 'oriel-store';
/** Rises with that of any file of the store, so that an older program says first that the store is newer. */
export const VERSION = 3;
const FORMER_VERSION = 2;

/**
 * Content of store.json, which distinguishes an existing store from an empty folder. It is written before
 * every other file and never removed. It is replaced when a journal starts, at a start that recovered
 * from a crash, and at a clean stop.
 */
export interface Manifest {
  /** Random identifier of the store, which its journals and checkpoints contain too. */
  readonly store: string;
  /** Time at which the store was created, in milliseconds since the epoch. */
  readonly createdAt: number;
  /**
   * The newest journal and its extent when this was written: damage within it is not a torn write.
   * Sequence 0 before the first journal.
   */
  readonly journal: Extent & { readonly sequence: number };
  readonly clock: Clock;
  /** Version of the format in which the file was found. */
  readonly version?: number;
}

/** Last trusted time, by which a wrong clock is noticed. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Whether the clock was too far ahead at the last start. `at` then stays until the clock is accepted. */
  readonly isHeld: boolean;
}

type Document = Required<Manifest> & {
  readonly format: string;
  /** CRC-32 of all of the above as JSON. */
  readonly checksum: number;
};

/** @returns null if there is none */
export async function readManifest({ files, directory }: Place): Promise<Manifest | null> {
  const path = join(directory, STORE_FILE);
  const document = await new JsonFile<Document>(files, path).read();
  // JsonFile returns null for a missing file, and for the text "null".
  if (document === null) return null;
  const { checksum, ...content } = document;
  const { format, ...manifest } = content;
  const { version } = manifest;
  if (format === FORMAT && version > VERSION) throw newerStore(path, version, VERSION);
  if (format !== FORMAT || (version !== VERSION && version !== FORMER_VERSION)) {
    throw corruptStore(path, `written as ${format} ${version}, which is unknown`);
  }
  if (crc32(JSON.stringify(content)) !== checksum)
    throw corruptStore(path, 'the content differs from what was written');
  return manifest;
}

export async function writeManifest(
  { files, directory }: Place,
  { store, createdAt, journal, clock }: Manifest,
): Promise<void> {
  const content = { format: FORMAT, version: VERSION, store, createdAt, journal, clock };
  const document = { ...content, checksum: crc32(JSON.stringify(content)) };
  await new JsonFile<Document>(files, join(directory, STORE_FILE)).write(document);
}

/** @throws Failure service_error, code `store_corrupt`, if a file belongs to another store */
export function checkStoreId(
  manifest: Manifest | null,
  directory: string,
  file: string,
  store: string,
): void {
  if (manifest === null) {
    throw corruptStore(
      join(directory, STORE_FILE),
      `missing, although ${file} belongs to store ${store}`,
    );
  }
  if (manifest.store === store) return;
  throw corruptStore(
    file,
    `belongs to store ${store}, but ${STORE_FILE} is of store ${manifest.store}`,
  );
}
