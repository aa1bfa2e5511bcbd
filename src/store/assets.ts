import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Stands here until the files of assets are there: it writes no more than bytes. */
export class AssetFiles {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<AssetFiles> {
    await mkdir(folder, { recursive: true });
    return new AssetFiles(folder);
  }

  newId(extension: string): string {
    return `${randomBytes(32).toString('base64url')}.${extension}`;
  }

  isId(text: string): boolean {
    return /^[\w-]{43}\.[a-z0-9]{1,8}$/.test(text);
  }

  async write(id: string, source: Uint8Array, _most: number): Promise<number> {
    await writeFile(join(this.#folder, id), source);
    return source.length;
  }

  async read(id: string): Promise<Buffer> {
    return readFile(join(this.#folder, id));
  }
}
