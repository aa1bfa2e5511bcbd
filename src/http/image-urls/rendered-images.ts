import { CacheFolder, END } from '../../exchanges/cache/cache-folder.ts';
import { remember } from '../../maps.ts';

/** Images in memory, which are sent without reading the disk, and the bytes of the largest: 32 MB in all. */
const MAX_REMEMBERED = 128;
const MAX_REMEMBERED_BYTES = 256 * 1024;

/** Bytes that wait to be written: a slow disk gets no more. */
const MAX_WRITING = 64 * 2 ** 20;

/** The name of all images among the sizes of a `CacheFolder`. */
const GROUP = 'images';

/** A rendered image. */
export interface Rendered {
  readonly bytes: Buffer;
  readonly mediaType: string;
  /** SHA-256 of its bytes, hexadecimal. */
  readonly sha256: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Rendered images in memory and on the disk, and those that are being rendered, by keys of 64 hexadecimal digits. */
export class RenderedImages {
  readonly #disk: CacheFolder;
  /** Called if the disk fails: images are served all the same. */
  readonly #onFault: (error: unknown) => void;
  readonly #memory = new Map<string, Rendered>();
  readonly #rendering = new Map<string, Promise<Rendered>>();
  #writing = 0;

  /** @param size bytes on the disk */
  constructor(folder: string, size: () => number, onFault: (error: unknown) => void) {
    this.#disk = new CacheFolder(folder, () => new Map([[GROUP, size()]]), Date.now);
    this.#onFault = onFault;
  }

  get rendering(): number {
    return this.#rendering.size;
  }

  remembered(key: string): Rendered | undefined {
    const found = this.#memory.get(key);
    if (found === undefined || found.expiresAt <= Date.now()) return undefined;
    remember(this.#memory, key, found, MAX_REMEMBERED);
    return found;
  }

  /** An image of the disk, or else its rendering, which equal requests share. Clients that leave do not abort it. */
  get(key: string, render: () => Promise<Rendered>): Promise<Rendered> {
    const running = this.#rendering.get(key);
    if (running !== undefined) return running;
    const result = this.#stored(key).then(async (stored) => {
      const image = stored ?? (await render());
      if (image.bytes.length <= MAX_REMEMBERED_BYTES) {
        remember(this.#memory, key, image, MAX_REMEMBERED);
      }
      if (stored === undefined) this.#store(key, image);
      return image;
    });
    this.#rendering.set(key, result);
    const end = () => this.#rendering.delete(key);
    result.then(end, end);
    return result;
  }

  async #stored(key: string): Promise<Rendered | undefined> {
    const found = await this.#disk.read(key.slice(0, 2), key).catch(this.#onFault);
    if (!found || found.expiresAt <= Date.now()) return undefined;
    const { bytes: file, expiresAt } = found;
    const line = file.indexOf('\n');
    const [mediaType, sha256] = file.subarray(0, line).toString().split(' ') as [string, string];
    return { bytes: file.subarray(line + 1, -END.length), mediaType, sha256, expiresAt };
  }

  #store(key: string, { bytes: image, mediaType, sha256, expiresAt }: Rendered): void {
    if (this.#writing + image.length > MAX_WRITING) return;
    const bytes = Buffer.concat([Buffer.from(`${mediaType} ${sha256}\n`), image, Buffer.from(END)]);
    const storedAt = Date.now();
    const entry = { accountId: key.slice(0, 2), key, model: GROUP, storedAt, expiresAt, bytes };
    this.#writing += image.length;
    const end = () => {
      this.#writing -= image.length;
    };
    this.#disk.write(entry).catch(this.#onFault).finally(end);
  }
}
