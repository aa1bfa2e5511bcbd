import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../failure.ts';

/** The files of assets. */
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

  pathOf(id: string): string {
    return join(this.#folder, id);
  }

  read(id: string): Promise<Buffer> {
    return readFile(this.pathOf(id));
  }

  async write(
    id: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    most: number,
  ): Promise<number> {
    const half = `${this.pathOf(id)}.half`;
    const file = await open(half, 'wx');
    let bytes = 0;
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        bytes += chunk.length;
        if (bytes > most) throw new Failure('invalid_request', `over ${most} bytes`);
        await file.write(chunk);
      }
      await file.close();
      await rename(half, this.pathOf(id));
      return bytes;
    } catch (error) {
      await file.close().catch(() => {});
      await rm(half, { force: true });
      throw error;
    }
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) await rm(this.pathOf(id), { force: true });
  }
}
