import { createHash } from 'node:crypto';
import { codedFailure } from '../../failure.ts';
import { remember } from '../../maps.ts';
import type { Asset } from '../../store/asset.ts';

/** What the record of a file says about it. */
export type StoredFile = Pick<Asset, 'id' | 'bytes' | 'sha256'>;

/** Maximum number of files whose verification is remembered. */
const MAX_VERIFIED = 100_000;

/**
 * Compares files with their records while they are read. A file is hashed when it is first read; later
 * reads are not hashed until it changes, so that repeated downloads of a large file do not slow other
 * requests.
 */
export class Verification {
  /** Versions of the files whose checksum matched: the ctime on disk, the ETag in a bucket. */
  readonly #verified = new Map<string, number | string>();
  readonly #onDamage: (id: string) => void;
  readonly #most: number;

  /**
   * @param onDamage called with the identifier of each file that differs from its record
   * @param most files that are remembered
   */
  constructor(onDamage: (id: string) => void, most = MAX_VERIFIED) {
    this.#onDamage = onDamage;
    this.#most = most;
  }

  isVerified(id: string, version: number | string): boolean {
    return this.#verified.get(id) === version;
  }

  /** Passes on the chunks of a whole file; the last one only if size and checksum match. */
  async *verified(
    { id, bytes, sha256 }: StoredFile,
    version: number | string,
    chunks: AsyncIterable<Buffer>,
  ): AsyncGenerator<Buffer, void> {
    // Records of earlier versions have no checksum.
    const expected = this.isVerified(id, version) ? null : (sha256 ?? null);
    const hash = expected === null ? null : createHash('sha256');
    let read = 0;
    let last: Buffer | undefined;
    for await (const chunk of chunks) {
      if (last) yield last;
      hash?.update(chunk);
      read += chunk.length;
      last = chunk;
    }
    if (read !== bytes || (hash && hash.digest('hex') !== expected)) throw this.damaged(id);
    remember(this.#verified, id, version, this.#most);
    if (last) yield last;
  }

  /** Forgets files that are deleted: their names are never used again. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) this.#verified.delete(id);
  }

  /** Reports a file that differs from its record. */
  damaged(id: string): Error {
    this.#onDamage(id);
    return codedFailure('asset_damaged', 'the file is damaged in the storage of this server');
  }
}
