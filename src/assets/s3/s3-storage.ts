import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { rethrowAfter } from '../../flow.ts';
import type { Asset } from '../../store/asset.ts';
import { assetExists, notFound } from '../../store/errors.ts';
import { diskFiles, FILE_MODE, makeFolder, namesIn, remove } from '../../store/files.ts';
import type { TimeRange } from '../../store/health.ts';
import { responseChunks } from '../../upstream/response-chunks.ts';
import {
  type AssetLink,
  AssetStorage,
  NOTHING_SWEPT,
  type ReadOptions,
  type SweepResult,
} from '../storage/asset-storage.ts';
import type { DiskSpace } from '../storage/disk-space.ts';
import { bucketUnavailable, onDisk } from '../storage/errors.ts';
import { isAssetId, subfolderOf } from '../storage/identifier.ts';
import { type ByteRange, chunksOf } from '../storage/local-chunks.ts';
import { measureLocalFile, type Written } from '../storage/spooled-file.ts';
import type { StoredFile } from '../storage/verification.ts';
import { Bucket, type BucketOptions, type ObjectFacts, type OpenObject } from './bucket.ts';
import { emptyBucketQuarantine, sweepBucket } from './orphans.ts';

export interface S3StorageOptions extends BucketOptions {
  /** Folder for files that are still to be stored. No other process uses it. */
  readonly spool: string;
  /** Beginning of all keys; empty, or with a slash at its end. */
  readonly prefix: string;
  /** Seconds for which links work; null if clients read files from this server. */
  readonly linkSeconds: number | null;
  /** Whether this node sweeps the bucket for all. */
  readonly isLeader: () => boolean;
  readonly onDamage: (id: string) => void;
}

/** How often the download of one file is resumed after its connection was lost. */
const MAX_RESUMPTIONS = 3;

/** Milliseconds between two sweeps of the bucket. */
const SWEEP_INTERVAL_MS = 86_400_000;

/** Milliseconds for which a probe of the bucket is valid. */
const PROBE_VALID_MS = 5000;

/** Files of assets in a bucket, which several nodes may share. Files wait in a local spool for being stored. */
export class S3Storage extends AssetStorage {
  readonly #options: S3StorageOptions;
  readonly #bucket: Bucket;
  readonly #startedAt = Date.now();
  #nextSweepAt = 0;
  #probe: { readonly at: number; readonly result: Promise<string | null> } | null = null;

  private constructor(options: S3StorageOptions) {
    super(options.spool, diskFiles, options.onDamage);
    this.#options = options;
    this.#bucket = new Bucket(options);
  }

  /** Also removes what an earlier process left in the spool: none of it was acknowledged. */
  static async open(options: S3StorageOptions): Promise<S3Storage> {
    const { spool } = options;
    await onDisk(async () => {
      await makeFolder(diskFiles, spool);
      for (const name of await namesIn(diskFiles, spool)) {
        if (isAssetId(name)) await remove(diskFiles, join(spool, name));
      }
    });
    return new S3Storage(options);
  }

  /** Asks the bucket first if its last request failed, so that no provider is paid for a result that has no place. */
  override async reserve(space: DiskSpace): Promise<() => void> {
    const fault = this.#bucket.fault === null ? null : await this.health();
    if (fault !== null) throw bucketUnavailable(fault);
    return super.reserve(space);
  }

  protected spoolPlace(id: string) {
    this.#keyOf(id);
    const path = join(this.#options.spool, id);
    let mayBeStored = false;
    let isStored = false;
    return {
      path,
      isDurable: false,
      create: () => onDisk(() => this.files.open(path, 'wx', FILE_MODE)),
      store: async (written: Written, signal?: AbortSignal) => {
        mayBeStored = true;
        await this.#put(id, path, written, signal);
        isStored = true;
        await this.removeQuietly(path);
      },
      discard: async () => {
        await this.removeQuietly(path);
        if (isStored) await this.discard([id]);
        // A service that did not answer must not delay the caller twice.
        else if (mayBeStored) void this.discard([id]);
      },
    };
  }

  async #put(id: string, path: string, written: Written, signal?: AbortSignal): Promise<void> {
    const open = () => chunksOf(() => onDisk(() => diskFiles.open(path, 'r')));
    if (!(await this.#bucket.put(this.#keyOf(id), written, open, { signal })))
      throw assetExists(id);
  }

  async copy(id: string, path: string, maxBytes: number): Promise<Written> {
    this.#keyOf(id);
    const written = await measureLocalFile(diskFiles, path, maxBytes);
    await this.#put(id, path, written).catch(rethrowAfter(() => void this.discard([id])));
    return written;
  }

  async check(asset: StoredFile): Promise<void> {
    const found = await this.#bucket.head(this.#keyOf(asset.id));
    if (found === null) throw notFound('asset', asset.id);
    this.#compare(asset, found);
  }

  /**
   * Of a range, only the size and the checksum that were stored with the object are compared: reading
   * all of it for each range would cost too much.
   */
  async *chunks(
    asset: StoredFile & Partial<Pick<Asset, 'accountId'>>,
    { range = null, signal }: ReadOptions = {},
  ): AsyncGenerator<Buffer, void> {
    // An empty object has no range, and no first chunk.
    if (asset.bytes === 0) return this.check(asset);
    const open = (part: ByteRange | null, etag?: string) =>
      this.#bucket.get(this.#keyOf(asset.id), {
        range: part,
        etag,
        signal,
        client: asset.accountId ?? '',
      });
    const first = await open(range);
    if (first === null) throw notFound('asset', asset.id);
    if (first === 'changed') throw this.verification.damaged(asset.id);
    try {
      this.#compare(asset, first);
    } catch (error) {
      first.close();
      throw error;
    }
    const part = range ?? { first: 0, last: asset.bytes - 1 };
    const chunks = this.#resumed(asset.id, first, part, open);
    if (range) yield* chunks;
    else yield* this.verification.verified(asset, first.etag, chunks);
  }

  /** Passes on the content of an object. Resumes where a connection is lost. */
  async *#resumed(
    id: string,
    first: OpenObject,
    { first: position, last }: ByteRange,
    open: (range: ByteRange, etag: string) => Promise<OpenObject | 'changed' | null>,
  ): AsyncGenerator<Buffer, void> {
    let object = first;
    for (let resumptions = 0; ; resumptions += 1) {
      try {
        for await (const chunk of responseChunks(object.response)) {
          position += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        const isLost =
          error instanceof Failure && ['network_error', 'timeout'].includes(error.type);
        if (!isLost || error.code === 'aborted') throw error;
        if (resumptions === MAX_RESUMPTIONS || position > last) {
          throw bucketUnavailable(error.message, error);
        }
      } finally {
        object.close();
      }
      const rest = await open({ first: position, last }, first.etag);
      if (rest === null) throw notFound('asset', id);
      if (rest === 'changed') throw this.verification.damaged(id);
      object = rest;
    }
  }

  /** @throws Failure `asset_damaged` if an object is not the one of a record */
  #compare({ id, bytes, sha256 }: StoredFile, found: ObjectFacts): void {
    const differs = sha256 != null && found.sha256 !== null && found.sha256 !== sha256;
    if (found.bytes !== bytes || differs) throw this.verification.damaged(id);
  }

  link({ id, mediaType }: Pick<Asset, 'id' | 'mediaType'>): AssetLink | null {
    const { linkSeconds: seconds } = this.#options;
    if (seconds === null) return null;
    return { url: this.#bucket.presign(this.#keyOf(id), mediaType, seconds), seconds };
  }

  async remove(ids: Iterable<string>): Promise<void> {
    const removed = [...ids];
    this.verification.forget(removed);
    await this.#bucket.delete(removed.map((id) => this.#keyOf(id)));
  }

  /** Once a day, by one node for all. */
  async sweep(
    isKnown: (id: string) => Promise<boolean>,
    span: TimeRange | null,
    mayGoOn: () => boolean = () => true,
  ): Promise<SweepResult> {
    const now = Date.now();
    if (!this.#options.isLeader() || now < this.#nextSweepAt) return NOTHING_SWEPT;
    const swept = await sweepBucket(this.#bucket, this.#options.prefix, {
      isKnown,
      span,
      startedAt: this.#startedAt,
      now,
      mayGoOn: () => mayGoOn() && this.#options.isLeader(),
    });
    this.#nextSweepAt = now + SWEEP_INTERVAL_MS;
    return swept;
  }

  async emptyQuarantine(now: number): Promise<void> {
    if (!this.#options.isLeader()) return;
    await emptyBucketQuarantine(this.#bucket, this.#options.prefix, now);
  }

  /** Lists one key, at most once in a few seconds. */
  health(): Promise<string | null> {
    const now = performance.now();
    if (this.#probe === null || now - this.#probe.at > PROBE_VALID_MS) {
      const listing = this.#bucket.list(this.#options.prefix, 1).next();
      const result = listing.then(
        () => null,
        (error: unknown) =>
          (error instanceof Failure ? error.detail : null)?.replace(/^S3: /, '') ?? String(error),
      );
      this.#probe = { at: now, result };
    }
    return this.#probe.result;
  }

  #keyOf(id: string): string {
    if (!isAssetId(id)) throw notFound('asset', id);
    return `${this.#options.prefix}${subfolderOf(id)}/${id}`;
  }
}
