import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codedFailure } from '../../failure.ts';
import { makeFolders } from '../../folders.ts';
import { Sums } from '../../store/sums.ts';
import { overloaded } from '../responses/errors.ts';

/** An uploaded file. */
export interface Upload {
  /** Bytes received, kept or not. */
  readonly size: number;
  /** Path in the spool; null if the file was larger than the limit. */
  readonly path: string | null;
}

/** The uploads of one request, which discards them in `finally`. */
export interface Uploads {
  /**
   * Writes a file to disk as it arrives. A file that is larger than the limit is counted to its end and
   * not kept. Errors of `chunks` are thrown as they are.
   *
   * @param maxBytes limit of a file
   * @throws Failure service_error with status 503 if the spool or the disk is full, rate_limit if the account uses its
   *   share
   */
  receive(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Upload>;
  /** Deletes all files of the request, also those that are still arriving. */
  discard(): Promise<void>;
}

/** Bytes that an account may use, for each byte that is left for all: two thirds of an empty spool. */
const SHARE = 2;

/**
 * A folder for uploads, which are too large for memory, with a limit for their bytes. Files of an earlier
 * process are deleted at the start.
 */
export class Spool {
  readonly #folder: string;
  readonly #capacity: number;
  readonly #onFault: (error: unknown) => void;
  readonly #bytesByAccount = new Sums();
  /** Bytes of files that could not be removed, by path: they still count, but for no account. */
  readonly #unremoved = new Map<string, number>();

  private constructor(folder: string, capacity: number, onFault: (error: unknown) => void) {
    this.#folder = folder;
    this.#capacity = capacity;
    this.#onFault = onFault;
  }

  /**
   * @param capacity bytes of all files together
   * @param onFault called if a file could not be removed, which is retried later
   */
  static async open(
    folder: string,
    capacity: number,
    onFault: (error: unknown) => void = () => {},
  ): Promise<Spool> {
    await rm(folder, { recursive: true, force: true });
    await makeFolders(folder, 0o700);
    return new Spool(folder, capacity, onFault);
  }

  /** Bytes of all files in the spool. */
  get bytes(): number {
    return this.#bytesByAccount.total;
  }

  /**
   * Checks for room before a client sends a body, or a part of it. Slow uploads of one account leave room for others.
   *
   * @param own bytes of the same request, which may use the whole spool while it is the only one of its account
   * @throws Failure `overloaded`, `too_many_large_requests`
   */
  checkRoom(accountId: string, bytes: number, own = 0): void {
    const free = this.#capacity - this.bytes;
    if (bytes > free) throw overloaded('too many uploads are in progress; send this one later');
    const used = this.#bytesByAccount.of(accountId);
    if (used === own || used + bytes <= free * SHARE) return;
    const message = 'too many uploads of this account are in progress; send this one later';
    throw codedFailure('too_many_large_requests', message, { retryAfter: 5 });
  }

  uploads(accountId: string): Uploads {
    const kept = new Map<string, number>();
    let own = 0;
    let discarded = false;

    const drop = async (path: string) => {
      const size = kept.get(path);
      if (size === undefined) return;
      kept.delete(path);
      own -= size;
      await this.#remove(path, size, accountId);
    };

    const write = async (file: FileHandle, path: string, chunk: Uint8Array) => {
      this.checkRoom(accountId, chunk.byteLength, own);
      this.#bytesByAccount.add(accountId, chunk.byteLength);
      own += chunk.byteLength;
      kept.set(path, kept.get(path)! + chunk.byteLength);
      await file.appendFile(chunk).catch(refuse);
    };

    return {
      receive: async (chunks, maxBytes) => {
        const path = join(this.#folder, randomUUID());
        const file = await open(path, 'wx', 0o600).catch(refuse);
        kept.set(path, 0);
        let size = 0;
        try {
          for await (const chunk of chunks) {
            size += chunk.byteLength;
            if (size > maxBytes) await drop(path);
            else if (!discarded) await write(file, path, chunk);
          }
        } finally {
          await file.close().catch(refuse);
          // This file may have been created after the others were deleted.
          if (discarded) await drop(path);
        }
        return { size, path: size > maxBytes ? null : path };
      },
      discard: async () => {
        discarded = true;
        await Promise.all([...kept.keys()].map(drop));
        await Promise.all([...this.#unremoved].map(([path, size]) => this.#remove(path, size)));
      },
    };
  }

  /** Removes a file. The request does not fail if the file cannot be removed. */
  async #remove(path: string, size: number, accountId = ''): Promise<void> {
    // Taken out of the map, so that no other request removes it at the same time.
    const isKnown = this.#unremoved.delete(path);
    try {
      await rm(path, { force: true });
    } catch (error) {
      this.#bytesByAccount.add('', size);
      this.#unremoved.set(path, size);
      if (!isKnown) this.#onFault(error);
    } finally {
      this.#bytesByAccount.add(accountId, -size);
    }
  }
}

/** A full disk is an error of the service, not a defect. */
function refuse(error: NodeJS.ErrnoException): never {
  throw codedFailure('storage_unavailable', 'uploads cannot be stored at present; retry later', {
    retryAfter: 30,
    cause: error,
  });
}
