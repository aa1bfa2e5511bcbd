import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Asset } from '../../store/asset.ts';
import type { Files } from '../../store/files.ts';
import { onDisk, tooLarge } from './errors.ts';
import { chunksOf } from './local-chunks.ts';

export type FileSource = Uint8Array | AsyncIterable<Uint8Array>;

/** Size and checksum of a file that was written. */
export type Written = Pick<Asset, 'bytes'> & { readonly sha256: string };

/** A whole file on the local disk that is still to be stored. */
export interface SpooledFile extends Written {
  readonly id: string;
  /** Path until it is stored or discarded. */
  readonly path: string;
  /** Whether the file reads back as written. */
  isIntact(): Promise<boolean>;
  /**
   * Stores the file under its identifier. May be called again after a failure; does nothing after a
   * success.
   */
  store(signal?: AbortSignal): Promise<void>;
  /** Removes the file, also after `store`, and ignores errors. */
  discard(): Promise<void>;
}

interface WriteOptions {
  /** Creates the file. */
  readonly create: () => Promise<FileHandle>;
  readonly maxBytes: number;
  /** Whether the content is synced to disk. */
  readonly isDurable: boolean;
}

/**
 * Writes a new file. `source` is read to its end or closed in every case, also when the disk fails. The
 * caller removes the file after a failure.
 */
export async function writeLocalFile(
  source: FileSource,
  { create, maxBytes, isDurable }: WriteOptions,
): Promise<Written> {
  const hash = createHash('sha256');
  let handle: FileHandle | undefined;
  let bytes = 0;
  try {
    for await (const chunk of source instanceof Uint8Array ? [source] : source) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      // Inside the loop, because opening may fail and only the loop closes the source.
      handle ??= await create();
      await onDisk(() => handle!.writeFile(chunk));
      hash.update(chunk);
    }
    handle ??= await create();
    if (isDurable) await onDisk(() => handle!.sync());
  } catch (error) {
    await handle?.close().catch(() => {});
    throw error;
  }
  await onDisk(() => handle.close());
  return { bytes, sha256: hash.digest('hex') };
}

/** Size and checksum of a local file. @throws Failure 413 `file_too_large`, above `maxBytes` */
export async function measureLocalFile(
  files: Pick<Files, 'open'>,
  path: string,
  maxBytes: number,
): Promise<Written> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunksOf(() => onDisk(() => files.open(path, 'r')))) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    hash.update(chunk);
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Whether a local file still has the size and the checksum with which it was written. */
export async function isAsWritten(
  files: Pick<Files, 'open'>,
  path: string,
  { bytes, sha256 }: Written,
): Promise<boolean> {
  const found = await measureLocalFile(files, path, bytes).catch(() => null);
  return found?.bytes === bytes && found.sha256 === sha256;
}
