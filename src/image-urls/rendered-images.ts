import { hash } from 'node:crypto';
import { CacheFolder, END } from '../exchanges/cache/cache-folder.ts';
import { Failure } from '../failure.ts';

/** Bytes of images in memory, which are sent without reading the disk. */
const MEMORY = 32 * 2 ** 20;

/** Bytes that wait to be written: a slow disk gets no more. */
const MAX_WRITING = 64 * 2 ** 20;

/** Milliseconds for which a failure is the answer to equal requests, and how many are remembered. */
const FAILURE_MS = 5000;
const MAX_FAILURES = 1000;

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

/** A rendering that equal requests wait for. */
interface Flight {
  readonly result: Promise<Rendered>;
  /** Requests that wait for it: without any it is aborted. */
  waiting: number;
  readonly controller: AbortController;
}

interface RenderedImagesOptions {
  readonly folder: string;
  /** Bytes on the disk. */
  readonly size: () => number;
  /** Called if the disk fails: images are served all the same. */
  readonly onFault: (error: unknown) => void;
}

/** Rendered images in memory and on the disk, and those that are being rendered, by their keys. */
export class RenderedImages {
  readonly #options: RenderedImagesOptions;
  readonly #disk: CacheFolder;
  /** The least recently used first. */
  readonly #memory = new Map<string, Rendered>();
  #memoryBytes = 0;
  #writing = 0;
  #writes: Promise<unknown> = Promise.resolve();
  readonly #flights = new Map<string, Flight>();
  readonly #failures = new Map<string, { readonly failure: Failure; readonly until: number }>();

  constructor(options: RenderedImagesOptions) {
    this.#options = options;
    const sizes = () => new Map([[GROUP, options.size()]]);
    this.#disk = new CacheFolder(options.folder, sizes, Date.now);
  }

  get rendering(): number {
    return this.#flights.size;
  }

  /** @param name of a request; its hash is the key. */
  static keyOf(name: string): string {
    return hash('sha256', name);
  }

  remembered(key: string): Rendered | undefined {
    const found = this.#memory.get(key);
    if (found === undefined) return undefined;
    this.#forget(key);
    if (found.expiresAt <= Date.now()) return undefined;
    this.#memory.set(key, found);
    this.#memoryBytes += found.bytes.length;
    return found;
  }

  /**
   * An image of the cache, or else its rendering, which equal requests share.
   *
   * @param signal ends the wait; the last that leaves aborts the rendering
   */
  async get(
    key: string,
    signal: AbortSignal,
    render: (signal: AbortSignal) => Promise<Rendered>,
  ): Promise<Rendered> {
    signal.throwIfAborted();
    const failed = this.#failures.get(key);
    if (failed !== undefined && failed.until > performance.now()) throw failed.failure;
    const flight = this.#flights.get(key) ?? this.#begin(key, render);
    flight.waiting += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        flight.waiting -= 1;
        if (flight.waiting === 0) {
          this.#end(key, flight);
          flight.controller.abort(signal.reason);
        }
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave);
      const settle = () => signal.removeEventListener('abort', leave);
      flight.result.then(resolve, reject).finally(settle);
    });
  }

  /** Resolves when all images so far are on the disk. */
  async written(): Promise<void> {
    await this.#writes;
  }

  /** Removes what has expired. */
  trim(): void {
    this.#disk.trim(new Map([[GROUP, this.#options.size()]])).catch(this.#options.onFault);
  }

  #begin(key: string, render: (signal: AbortSignal) => Promise<Rendered>): Flight {
    const controller = new AbortController();
    const result = this.#stored(key).then(async (stored) => {
      if (stored !== undefined) return stored;
      const rendered = await render(controller.signal);
      this.#store(key, rendered);
      return rendered;
    });
    const flight: Flight = { result, waiting: 0, controller };
    this.#flights.set(key, flight);
    result.then(
      () => this.#end(key, flight),
      (error: unknown) => {
        this.#end(key, flight);
        if (error instanceof Failure && !controller.signal.aborted) this.#fail(key, error);
      },
    );
    return flight;
  }

  #end(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }

  /** Remembers failures of the source or the image: a flood of equal requests asks no origin again. */
  #fail(key: string, failure: Failure): void {
    if (failure.code === 'overloaded') return;
    this.#failures.delete(key);
    this.#failures.set(key, { failure, until: performance.now() + FAILURE_MS });
    if (this.#failures.size > MAX_FAILURES) {
      this.#failures.delete(this.#failures.keys().next().value!);
    }
  }

  async #stored(key: string): Promise<Rendered | undefined> {
    const found = await this.#disk.read(key.slice(0, 2), key).catch(this.#options.onFault);
    if (!found || found.expiresAt <= Date.now()) return undefined;
    const { bytes: file, expiresAt } = found;
    const line = file.indexOf('\n');
    const [mediaType, sha256] = file.subarray(0, line).toString().split(' ') as [string, string];
    const bytes = file.subarray(line + 1, -END.length);
    if (hash('sha256', bytes) !== sha256) return undefined;
    const stored = { bytes, mediaType, sha256, expiresAt };
    this.#remember(key, stored);
    return stored;
  }

  #store(key: string, rendered: Rendered): void {
    this.#remember(key, rendered);
    const { bytes: image, mediaType, sha256, expiresAt } = rendered;
    if (this.#options.size() === 0 || this.#writing + image.length > MAX_WRITING) return;
    const bytes = Buffer.concat([Buffer.from(`${mediaType} ${sha256}\n`), image, Buffer.from(END)]);
    const entry = {
      accountId: key.slice(0, 2),
      key,
      model: GROUP,
      storedAt: Date.now(),
      expiresAt,
    };
    this.#writing += image.length;
    const write = this.#disk
      .write({ ...entry, bytes })
      .catch(this.#options.onFault)
      .finally(() => {
        this.#writing -= image.length;
      });
    this.#writes = Promise.all([this.#writes, write]);
  }

  #remember(key: string, rendered: Rendered): void {
    this.#forget(key);
    if (rendered.bytes.length > MEMORY / 8) return;
    this.#memory.set(key, rendered);
    this.#memoryBytes += rendered.bytes.length;
    for (const oldest of this.#memory.keys()) {
      if (this.#memoryBytes <= MEMORY) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#memoryBytes -= this.#memory.get(key)?.bytes.length ?? 0;
    this.#memory.delete(key);
  }
}
