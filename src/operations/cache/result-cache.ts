import { type BigIntStats, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { JobImage, JobSuccess } from '../definition/job.ts';
import { imagesOf } from '../definition/operation.ts';
import {
  CacheIndex,
  type OutputOrigin,
  type StoredImage,
  type StoredResult,
} from './cache-index.ts';
import { digestFile, identityAt, identityOf, isSettled, statAt } from './file-identity.ts';
import { CacheObjects } from './objects.ts';
import { keyOf, ResultKeys } from './result-keys.ts';

/** An output as it was just written: before its rename, which changes the time of the inode. */
export type WrittenFile = Pick<BigIntStats, 'ino' | 'size' | 'mtimeNs'>;

interface UnsettledOutput {
  readonly path: string;
  readonly sha256: string;
  readonly made: OutputOrigin;
  readonly written: WrittenFile;
}

export interface CacheOptions {
  readonly folder: string;
  /** Bytes of objects and index. */
  readonly maxBytes: number;
  /** Maximum bytes of an input that is hashed: jobs reject larger ones. */
  readonly maxFileBytes: number;
  /** Whether the cache is never written. */
  readonly readOnly?: boolean;
}

/** How many lines may be pending before the index is written, and outputs before their identities are. */
const BATCH = 64;
/** How often the use of a result is recorded, in minutes: recording each use would grow the index. */
const USE_INTERVAL = 60;
/** Share of the limit that a clean-up keeps, so that not every new result causes another one. */
const KEPT_SHARE = 0.9;

/**
 * Results of jobs in a folder, by the hash of the input's bytes, the operation, its options and the versions of
 * the encoders; and the files of the user whose content is known without reading them.
 *
 * Runs may share the folder, on this machine and later by a restored copy. They append to the index and rename objects
 * into place, so that none waits for another. Lost results are made again.
 */
export class ResultCache {
  readonly #folder: string;
  readonly #options: CacheOptions;
  #index: CacheIndex;
  readonly #objects: CacheObjects;
  readonly keys = new ResultKeys();
  /** Bytes of each object that a result in the index names. */
  readonly #sizes = new Map<string, number>();
  #objectBytes = 0;
  /** The first error of the disk. */
  failure: NodeJS.ErrnoException | undefined;
  #unsettled: UnsettledOutput[] = [];

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#folder = resolve(options.folder);
    if (!options.readOnly) prepare(this.#folder);
    this.#index = new CacheIndex(this.#folder);
    this.#objects = new CacheObjects(this.#folder);
    this.#count();
  }

  /**
   * The hash of a file's content. It is read where its identity is unknown or too young.
   *
   * @returns null if it cannot be read, or if no result is stored, so that the hash is not needed
   */
  digest(path: string): string | null {
    if (this.#index.results.size === 0) return null;
    return this.#digest(path);
  }

  #digest(path: string): string | null {
    const name = this.#nameOf(path);
    const known = this.#index.files.get(name);
    if (known && known.identity !== '' && known.identity === identityAt(path)) return known.sha256;
    const now = Date.now();
    const found = digestFile(path, this.#options.maxFileBytes);
    if (!found) return null;
    const identity = isSettled(found.stat, now) ? identityOf(found.stat) : '';
    if (identity !== '' || known?.sha256 !== found.sha256) {
      // An output that the user changed is still an output.
      this.#index.add('file', name, { identity, sha256: found.sha256, made: known?.made });
    }
    return found.sha256;
  }

  /** The result of a job for an input with this hash. */
  find(maker: string, sha256: string): StoredResult | undefined {
    const key = keyOf(maker, sha256);
    const found = this.#index.results.get(key);
    if (!found) return undefined;
    const minutes = Math.floor(Date.now() / 60_000);
    if (minutes - found.used > USE_INTERVAL) this.#index.add('used', key, minutes);
    return found.result;
  }

  /** The result with the bytes of its images; undefined if some were removed. */
  load(stored: StoredResult): JobSuccess | undefined {
    const { image, images, ...result } = stored;
    const all: JobImage[] = [];
    for (const { size: _, ...one } of imagesOf(stored)) {
      const bytes = this.#objects.read(one.sha256);
      if (!bytes) return undefined;
      all.push({ ...one, bytes });
    }
    const base = { ...result, ok: true, cached: true } as const;
    return images ? { ...base, images: all } : { ...base, ...(image && { image: all[0]! }) };
  }

  /** Stores the result of a job for an input with this hash. */
  store(maker: string, sha256: string, success: JobSuccess): void {
    if (this.#options.readOnly) return;
    const all = imagesOf(success);
    const bytes = all.reduce((sum, one) => sum + one.bytes.byteLength, 0);
    if (bytes > this.#options.maxBytes * KEPT_SHARE) return;
    const { originalSize, data, warnings, image, images } = success;
    const result: StoredResult = {
      ...{ originalSize, warnings },
      ...(data && { data }),
      ...(image && { image: withoutBytes(image) }),
      ...(images && { images: images.map(withoutBytes) }),
    };
    this.#orForget(() => {
      for (const one of all) this.#objects.write(one.sha256, one.bytes);
      this.#addSizes(result);
      const used = Math.floor(Date.now() / 60_000);
      this.#index.add('result', keyOf(maker, sha256), { result, used });
    });
    if (this.#index.pending >= BATCH) this.flush();
  }

  /**
   * Records the content of an input that a job has read.
   *
   * @param before the file's state before the job
   * @param now milliseconds since the epoch, before the job
   */
  noteInput(path: string, before: ReturnType<typeof statAt>, now: number, sha256: string): void {
    if (!before || !isSettled(before, now)) return;
    const identity = identityOf(before);
    if (identity !== identityAt(path)) return;
    const name = this.#nameOf(path);
    const known = this.#index.files.get(name);
    if (known?.identity === identity && known.sha256 === sha256) return;
    this.#index.add('file', name, { identity, sha256, made: known?.made });
  }

  /**
   * Records an output.
   *
   * @param made with the absolute path of the input
   * @param written undefined for an output that was found with this content
   */
  noteOutput(path: string, made: OutputOrigin, sha256: string, written?: WrittenFile): void {
    if (this.#options.readOnly) return;
    const relative = { ...made, source: this.#nameOf(made.source) };
    const name = this.#nameOf(path);
    const identity = written ? '' : (this.#index.files.get(name)?.identity ?? '');
    // Written at once: if the run is killed now, its output must not count as a file of the user.
    this.#index.add('file', name, { identity, sha256, made: relative });
    this.#tryWrite();
    if (!written) return;
    this.#unsettled.push({ path, sha256, made: relative, written });
    if (this.#unsettled.length >= BATCH) this.flush();
  }

  /** The origin of an output, with the absolute path of its input. */
  made(path: string): (OutputOrigin & { readonly sha256: string }) | undefined {
    const known = this.#index.files.get(this.#nameOf(path));
    if (!known?.made) return undefined;
    const { maker, source } = known.made;
    return { maker, source: resolve(this.#folder, source), sha256: known.sha256 };
  }

  /** Whether a file has this content. The file is read if its identity is unknown. */
  holds(path: string, { sha256, size }: { readonly sha256: string; readonly size: number }) {
    return statAt(path)?.size === BigInt(size) && this.#digest(path) === sha256;
  }

  /** Writes the index, and removes results beyond the limit. */
  flush(): void {
    if (this.#options.readOnly) return;
    this.#settleOutputs();
    this.#tryWrite();
    const { bytes, lines, files, results } = this.#index;
    const isLarge = this.#objectBytes + bytes > this.#options.maxBytes;
    if (isLarge || lines > 3 * (files.size + results.size) + 1000)
      this.#orForget(() => this.#clean());
  }

  #tryWrite(): void {
    this.#orForget(() => this.#index.write());
  }

  /** A full disk or a missing permission loses results, which the next run makes again, but no output. */
  #orForget(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.failure ??= error as NodeJS.ErrnoException;
    }
  }

  /** Adds the identities of outputs to the index, except for those that a later change could share. */
  #settleOutputs(): void {
    const outputs = this.#unsettled;
    this.#unsettled = [];
    for (const { path, sha256, made, written } of outputs) {
      const now = Date.now();
      const stat = statAt(path);
      const isOurs =
        stat?.ino === written.ino && stat.size === written.size && stat.mtimeNs === written.mtimeNs;
      if (!stat || !isOurs || !isSettled(stat, now)) continue;
      this.#index.add('file', this.#nameOf(path), { identity: identityOf(stat), sha256, made });
    }
  }

  /** Removes the least recently used results, files that are gone, and objects without a result. */
  #clean(): void {
    // Other runs may have appended to the file.
    const index = new CacheIndex(this.#folder);
    for (const name of index.files.keys()) {
      if (!statAt(resolve(this.#folder, name))) index.files.delete(name);
    }
    const kept = new Map<string, number>();
    const room = this.#options.maxBytes * KEPT_SHARE;
    let bytes = index.bytes * (index.files.size / Math.max(1, index.lines));
    const share = index.bytes / Math.max(1, index.lines);
    const removed = new Set<string>();
    for (const [key, { result }] of [...index.results].reverse()) {
      const fresh = imagesOf(result).filter(({ sha256 }) => !kept.has(sha256));
      bytes += share + fresh.reduce((sum, { size }) => sum + size, 0);
      if (bytes <= room) for (const { sha256, size } of fresh) kept.set(sha256, size);
      else {
        index.results.delete(key);
        for (const { sha256 } of fresh) removed.add(sha256);
      }
    }
    index.rewrite();
    for (const sha256 of removed) if (!kept.has(sha256)) this.#objects.remove(sha256);
    this.#objects.sweep((sha256) => kept.has(sha256));
    this.#index = index;
    this.#count();
  }

  #count(): void {
    this.#sizes.clear();
    this.#objectBytes = 0;
    for (const { result } of this.#index.results.values()) this.#addSizes(result);
  }

  #addSizes(result: StoredResult): void {
    for (const { sha256, size } of imagesOf(result)) {
      if (!this.#sizes.has(sha256)) this.#objectBytes += size;
      this.#sizes.set(sha256, size);
    }
  }

  /** Relative to the cache, so that a copy of the cache and its project is valid in another place. */
  #nameOf(path: string): string {
    return relative(this.#folder, path);
  }
}

/** Creates the folder with the marks by which Git and backups leave it out. */
function prepare(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const marks = {
    '.gitignore': '*\n',
    'CACHEDIR.TAG': 'Signature: 8a477f597d28d172789f06886806bc55\n',
  };
  for (const [name, content] of Object.entries(marks)) {
    try {
      writeFileSync(join(folder, name), content, { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function withoutBytes({ bytes, ...image }: JobImage): StoredImage {
  return { ...image, size: bytes.byteLength };
}
