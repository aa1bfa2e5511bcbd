import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { makeFolders } from '../../folders.ts';
import { overloaded } from '../errors.ts';

/** A file that a client sent. */
export interface Upload {
  /** Bytes that came, kept or not. */
  readonly size: number;
  /** Where it is; null where it was larger than may be kept. */
  readonly path: string | null;
}

/** The uploads of one request. Whoever asked for them discards them, on every way out. */
export interface Uploads {
  /**
   * Writes a file to disk as it arrives. What is larger than may be kept is counted to its end and
   * not kept. Errors of the bytes' source are thrown as they are.
   *
   * @param largest bytes of a file that is kept
   * @throws Failure service_error with status 503 where there is no room
   */
  receive(chunks: AsyncIterable<Uint8Array>, largest: number): Promise<Upload>;
  /** Deletes them all, also those that are still arriving. */
  discard(): Promise<void>;
}

/**
 * A folder for files that clients send, which no memory could hold, and a bound on their bytes.
 * What it held when the process died is deleted at the next start.
 */
export class Spool {
  readonly #folder: string;
  readonly #capacity: number;
  readonly #onFault: (error: unknown) => void;
  #bytes = 0;
  /** Bytes of files that could not be removed, by path: they still take room. */
  readonly #left = new Map<string, number>();

  private constructor(folder: string, capacity: number, onFault: (error: unknown) => void) {
    this.#folder = folder;
    this.#capacity = capacity;
    this.#onFault = onFault;
  }

  /**
   * @param capacity bytes of all files together
   * @param onFault a file could not be removed; that is tried again later
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

  /** Bytes of the files that are kept now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws Failure where so many bytes more would find no room: better told before they are sent */
  checkRoom(bytes: number): void {
    if (this.#bytes + bytes > this.#capacity) {
      throw overloaded('too many uploads are being worked on; send this one later');
    }
  }

  uploads(): Uploads {
    const kept = new Map<string, number>();
    let discarded = false;

    const drop = async (path: string) => {
      const size = kept.get(path);
      if (size === undefined) return;
      kept.delete(path);
      await this.#remove(path, size);
    };

    const write = async (file: FileHandle, path: string, chunk: Uint8Array) => {
      this.checkRoom(chunk.byteLength);
      this.#bytes += chunk.byteLength;
      kept.set(path, kept.get(path)! + chunk.byteLength);
      await file.appendFile(chunk).catch(refuse);
    };

    return {
      receive: async (chunks, largest) => {
        const path = join(this.#folder, randomUUID());
        const file = await open(path, 'wx', 0o600).catch(refuse);
        kept.set(path, 0);
        let size = 0;
        try {
          for await (const chunk of chunks) {
            size += chunk.byteLength;
            if (size > largest) await drop(path);
            else if (!discarded) await write(file, path, chunk);
          }
        } finally {
          await file.close().catch(refuse);
          // It may have been created after the others were deleted.
          if (discarded) await drop(path);
        }
        return { size, path: size > largest ? null : path };
      },
      discard: async () => {
        discarded = true;
        await Promise.all([...kept.keys()].map(drop));
        await Promise.all([...this.#left].map(([path, size]) => this.#remove(path, size)));
      },
    };
  }

  /** Removes a file. One that cannot be removed is no fault of the request that sent it. */
  async #remove(path: string, size: number): Promise<void> {
    // Nobody else tries meanwhile.
    const isKnown = this.#left.delete(path);
    try {
      await rm(path, { force: true });
      this.#bytes -= size;
    } catch (error) {
      this.#left.set(path, size);
      if (!isKnown) this.#onFault(error);
    }
  }
}

/** A full disk is no defect, and passes. */
function refuse(error: NodeJS.ErrnoException): never {
  throw new Failure('service_error', 'uploads cannot be stored at present', {
    code: 'storage_unavailable',
    status: 503,
    retryAfter: 30,
    cause: error,
  });
}
