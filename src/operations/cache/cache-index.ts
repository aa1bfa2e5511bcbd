import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { temporaryName } from '../../temporary.ts';
import type { JobImage, JobSuccess } from '../definition/job.ts';
import type { SomeImages } from '../definition/operation.ts';

export type StoredImage = Omit<JobImage, 'bytes'> & { readonly size: number };

/** The result of a job. The bytes of its images are objects, named by their SHA-256. */
export type StoredResult = Pick<JobSuccess, 'originalSize' | 'data' | 'warnings'> &
  SomeImages<StoredImage>;

/** A file of the user: an input, an output, or both. */
export interface KnownFile {
  /** Its identity when it had this content; empty if the content must be compared. */
  readonly identity: string;
  readonly sha256: string;
  /** Undefined unless a run with this cache made the file. */
  readonly made?: OutputOrigin | undefined;
}

/** The origin of an output. */
export interface OutputOrigin {
  /** Key of the operation with its options. */
  readonly maker: string;
  /** Path of the input; in the index, relative to the cache's folder. */
  readonly source: string;
}

export interface UsedResult {
  readonly result: StoredResult;
  /** Minutes since the epoch. */
  readonly used: number;
}

type Line =
  | readonly ['file', path: string, file: KnownFile]
  | readonly ['result', key: string, used: UsedResult]
  | readonly ['used', key: string, minutes: number];

/** The name contains the version of the format, so that other versions ignore the file. */
const NAME = 'index-1.log';

/**
 * The index of a cache: lines of a checksum and JSON. Concurrent runs append to it with one write each, which the
 * kernel does not interleave. Incomplete lines, of a killed run or a full disk, are ignored.
 */
export class CacheIndex {
  readonly #path: string;
  readonly #folder: string;
  #pending: string[] = [];
  /** By path relative to the cache's folder. */
  readonly files = new Map<string, KnownFile>();
  /** By key, the least recently used first. */
  readonly results = new Map<string, UsedResult>();
  /** Bytes of the file. */
  bytes = 0;
  /** Lines of the file. */
  lines = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, NAME);
    this.#read();
  }

  get pending(): number {
    return this.#pending.length;
  }

  add(...line: Line): void {
    this.#apply(line);
    this.#pending.push(lineOf(line));
  }

  /** Appends the lines added since the last call. */
  write(): void {
    if (this.#pending.length === 0) return;
    // The line break separates the first line from an incomplete one at the end of the file.
    const text = `\n${this.#pending.join('\n')}\n`;
    this.lines += this.#pending.length;
    this.#pending = [];
    appendFileSync(this.#path, text);
    this.bytes += Buffer.byteLength(text);
  }

  /** Rewrites the file from memory. */
  rewrite(): void {
    const lines = [
      ...[...this.files].map(([path, file]) => lineOf(['file', path, file])),
      ...[...this.results].map(([key, used]) => lineOf(['result', key, used])),
    ];
    this.#pending = [];
    const text = lines.map((line) => `${line}\n`).join('');
    const temporary = join(this.#folder, temporaryName('index'));
    writeFileSync(temporary, text);
    renameSync(temporary, this.#path);
    this.lines = lines.length;
    this.bytes = Buffer.byteLength(text);
  }

  #read(): void {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    this.bytes = Buffer.byteLength(text);
    for (const stored of text.split('\n')) {
      if (stored === '') continue;
      this.lines += 1;
      const json = stored.slice(CHECKSUM_LENGTH + 1);
      if (checksum(json) === stored.slice(0, CHECKSUM_LENGTH)) {
        this.#apply(JSON.parse(json) as Line);
      }
    }
  }

  #apply(line: Line): void {
    const [kind, name, value] = line;
    if (kind === 'file') {
      this.files.set(name, value);
      return;
    }
    const used =
      kind === 'result'
        ? value
        : this.results.has(name) && { ...this.results.get(name)!, used: value };
    this.results.delete(name);
    if (used) this.results.set(name, used);
  }
}

const CHECKSUM_LENGTH = 8;

const checksum = (json: string): string => crc32(json).toString(16).padStart(CHECKSUM_LENGTH, '0');

function lineOf(line: Line): string {
  const json = JSON.stringify(line);
  return `${checksum(json)} ${json}`;
}
