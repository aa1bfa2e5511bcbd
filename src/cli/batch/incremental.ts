import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import type { StoredImage, StoredResult } from '../../operations/cache/cache-index.ts';
import { cachedPool } from '../../operations/cache/cached-pool.ts';
import { ResultCache, type WrittenFile } from '../../operations/cache/result-cache.ts';
import type { Job } from '../../operations/definition/job.ts';
import type { BatchPool } from '../../operations/pool/pool.ts';
import { usageFailure } from '../command/command.ts';
import type { Input } from '../files/inputs.ts';
import type { Choices } from './image-choices.ts';

const DEFAULT_FOLDER = '.oriel-cache';

const MEGABYTE = 1e6;

type CacheChoices = Pick<Choices, 'run'> & Partial<Pick<Choices, 'outputs'>>;

/** The folder of the cache; undefined for a run without one. */
export function cacheFolder({ run, outputs }: CacheChoices): string | undefined {
  return run.cache ?? (run.incremental || outputs?.watch ? DEFAULT_FOLDER : undefined);
}

/**
 * Opens the cache of a run.
 *
 * @returns null for a run without one
 * @throws Failure with code `usage` where its folder cannot be used
 */
export function openIncremental(
  job: Omit<Job, 'source'>,
  choices: CacheChoices,
): Incremental | null {
  const folder = cacheFolder(choices);
  return folder === undefined ? null : new Incremental(folder, job, choices);
}

/** The cache of one run: an operation with its options over many files. */
export class Incremental {
  readonly #cache: ResultCache;
  readonly #job: Omit<Job, 'source'>;

  constructor(folder: string, job: Omit<Job, 'source'>, { run, outputs }: CacheChoices) {
    try {
      this.#cache = new ResultCache({
        folder,
        maxBytes: run.cacheSize * MEGABYTE,
        maxFileBytes: job.limits.fileBytes,
        readOnly: run.dryRun || outputs?.check === true,
      });
    } catch (error) {
      if (error instanceof Failure) throw error;
      throw usageFailure(`--cache ${folder}: expected a folder, ${(error as Error).message}`);
    }
    this.#job = job;
  }

  /** Inputs without those that a run with this cache made from another of them. */
  withoutOutputs(inputs: readonly Input[]): Input[] {
    const paths = new Set(inputs.map(({ filename }) => resolve(filename)));
    return inputs.filter(({ filename }) => {
      const path = resolve(filename);
      const source = this.#cache.made(path)?.source;
      return source === undefined || source === path || !paths.has(source);
    });
  }

  #makerOf({ variables }: Input): string {
    return this.#cache.keys.makerOf(variables ? { ...this.#job, variables } : this.#job);
  }

  /** The stored result of an input. */
  find(input: Input): StoredResult | undefined {
    const { source, problem, answer } = input;
    if (problem || answer) return undefined;
    const sha256 =
      'path' in source
        ? this.#cache.digest(source.path)
        : createHash('sha256').update(source.bytes).digest('hex');
    return sha256 === null ? undefined : this.#cache.find(this.#makerOf(input), sha256);
  }

  /** Whether an input is the output that this operation wrote over it. */
  isDone(input: Input, path: string): boolean {
    const { filename } = input;
    if (resolve(path) !== resolve(filename)) return false;
    const made = this.#cache.made(path);
    return made?.maker === this.#makerOf(input) && made.sha256 === this.#cache.digest(path);
  }

  /** Whether an output has the content of an image. */
  holds(path: string, image: Pick<StoredImage, 'sha256' | 'size'>): boolean {
    return this.#cache.holds(path, image);
  }

  /** Whether a run with this cache made a file, which then may be replaced. */
  mayReplace(path: string): boolean {
    return this.#cache.made(path) !== undefined;
  }

  /** Notes an output that was written or found. */
  note(path: string, input: Input, sha256: string, written?: WrittenFile): void {
    const made = { maker: this.#makerOf(input), source: resolve(input.filename) };
    this.#cache.noteOutput(path, made, sha256, written);
  }

  poolOf(pool: BatchPool): BatchPool {
    return cachedPool(pool, this.#cache);
  }

  /** Writes what is not yet in the index. */
  flush(): void {
    this.#cache.flush();
  }
}
