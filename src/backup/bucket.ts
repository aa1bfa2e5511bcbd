import { bucketOf } from '../assets/open.ts';
import type { Config } from '../config/settings/schema.ts';
import { codedFailure } from '../failure.ts';
import type { Upstream } from '../upstream/response.ts';
import { responseChunks } from '../upstream/response-chunks.ts';
import {
  type BackupFile,
  cannotWrite,
  invalidBackup,
  isBackupName,
  MANIFEST,
  type Manifest,
  readManifest,
} from './manifest.ts';
import { beyond, copyChunks, type Target } from './target.ts';

type Bucket = ReturnType<typeof bucketOf>;

/** A place of backups in a bucket of S3. */
export interface BucketPlace {
  readonly bucket: string;
  /** Ends with a slash, or is empty. */
  readonly prefix: string;
}

/** @returns null for another place than a bucket @throws Failure invalid_request */
export function bucketPlace(text: string): BucketPlace | null {
  if (!text.startsWith('s3://')) return null;
  const [, bucket, prefix = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/.exec(text) ?? [];
  if (bucket === undefined) {
    throw codedFailure(
      'usage',
      `expected s3://BUCKET/PREFIX, received ${JSON.stringify(text.slice(0, 200))}`,
    );
  }
  const trimmed = prefix.replace(/\/+$/, '');
  return { bucket, prefix: trimmed === '' ? '' : `${trimmed}/` };
}

/** The backups of a place in a bucket. */
export class BucketBackups {
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #url: string;

  constructor({ bucket, prefix }: BucketPlace, assets: Config['assets'], upstream: Upstream) {
    if (assets.accessKeyId === undefined) {
      throw codedFailure(
        'usage',
        's3:// needs assets.driver: s3 in the configuration, with endpoint and credentials',
      );
    }
    this.#bucket = bucketOf(assets, bucket, upstream);
    this.#prefix = prefix;
    this.#url = `s3://${bucket}/${prefix}`;
  }

  /** Names of the whole backups, oldest first. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    for await (const page of this.#bucket.list(`${this.#prefix}oriel-`)) {
      for (const { key } of page) {
        const [name, file, ...rest] = key.slice(this.#prefix.length).split('/');
        if (file === MANIFEST && rest.length === 0 && isBackupName(name!)) names.push(name!);
      }
    }
    return names.toSorted();
  }

  async manifest(name: string): Promise<Manifest> {
    const path = `${name}/${MANIFEST}`;
    return readManifest(this.#read(path), this.#url + path);
  }

  read(name: string, { path, from = name }: BackupFile): AsyncGenerator<Buffer, void> {
    return this.#read(`${from}/${path}`);
  }

  async *#read(path: string): AsyncGenerator<Buffer, void> {
    const found = await this.#bucket.get(this.#prefix + path, { range: null });
    if (found === null || found === 'changed') {
      throw invalidBackup(`${this.#url}${path}: the object is missing`);
    }
    try {
      yield* responseChunks(found.response);
    } finally {
      found.close();
    }
  }

  /** Opens a new backup. Files that do not change stay where an earlier backup has put them. */
  async target(name: string): Promise<Target> {
    const newest = (await this.names()).at(-1);
    const former = newest === undefined ? null : await this.manifest(newest).catch(() => null);
    const written: string[] = [];
    return {
      ...{ place: this.#url + name, former },
      // The manifest of the former backup names it only once it is there.
      reuse: async (file) => ({ ...file, from: file.from ?? former!.name }),
      copy: async ({ path, chunks }) => {
        // The signature needs the hash first.
        const file = await copyChunks(path, chunks(), async () => {});
        const key = `${this.#prefix}${name}/${path}`;
        written.push(key);
        if (await this.#bucket.put(key, file, chunks)) return file;
        throw cannotWrite(`${this.#url}${name}/${path}`, new Error('the object exists already'));
      },
      finish: async () => {},
      abort: () => this.#bucket.delete(written),
      prune: (keep) => this.#prune(keep),
      close: async () => {},
    };
  }

  /** Removes the oldest backups, but no object that a later backup uses, and what a killed backup has left. */
  async #prune(keep: number): Promise<readonly string[]> {
    const names = await this.names();
    const old = beyond(names, keep);
    const used = new Set<string>();
    for (const name of names.filter((each) => !old.includes(each))) {
      used.add(`${this.#prefix}${name}/${MANIFEST}`);
      const { files } = await this.manifest(name);
      for (const { path, from = name } of files) used.add(`${this.#prefix}${from}/${path}`);
    }
    // Manifests first: without its manifest a backup is not seen.
    await this.#bucket.delete(old.map((name) => `${this.#prefix}${name}/${MANIFEST}`));
    const newest = names.at(-1) ?? '';
    const unused: string[] = [];
    for await (const page of this.#bucket.list(`${this.#prefix}oriel-`)) {
      for (const { key } of page) {
        const [name] = key.slice(this.#prefix.length).split('/');
        // Another node may be writing a later one.
        if (isBackupName(name!) && name! <= newest && !used.has(key)) unused.push(key);
      }
    }
    await this.#bucket.delete(unused);
    return old;
  }
}
