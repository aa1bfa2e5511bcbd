import { crc32 } from 'node:zlib';
import type { Adapter } from 'lowdb';
import { type Files, missingAs, writeDurably } from '../../../files.ts';
import { corruptStore } from './errors.ts';

/** lowdb adapter for a JSON file that is replaced atomically and synced. A missing file is not taken for an empty one. */
export class JsonFile<Data> implements Adapter<Data | null> {
  /** CRC-32 of the file as it was last read or written. */
  checksum = 0;
  readonly #files: Files;
  readonly #path: string;

  constructor(files: Files, path: string) {
    this.#files = files;
    this.#path = path;
  }

  async read(): Promise<Data | null> {
    const bytes = await this.#files.readFile(this.#path).catch(missingAs(null));
    if (bytes === null) return null;
    this.checksum = crc32(bytes);
    try {
      return JSON.parse(bytes.toString()) as Data;
    } catch {
      throw corruptStore(this.#path, 'the content is not JSON');
    }
  }

  async write(data: Data | null): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(data)}\n`);
    this.checksum = crc32(bytes);
    await writeDurably(this.#files, this.#path, bytes);
  }
}
