import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Low } from 'lowdb';
import type { Files } from '../files.ts';
import type { SegmentList } from './archive/archive.ts';
import { corruptStore } from './errors.ts';
import type { Extent, Journal } from './journal/journal.ts';
import { checkStoreId, type Manifest, STORE_FILE } from './journal/manifest.ts';
import { JsonFile } from './json-file.ts';
import { SHARD_ROWS, type ShardKey, shardName } from './state/shard.ts';
import type { Change, Collection } from './state/state.ts';

/** Written before ended tasks were archived: names no segments. */
const WITHOUT_ARCHIVE = 2;
/** Written before stores had an identity; names neither the store nor the journal before. */
const WITHOUT_IDENTITY = 1;
const VERSION = 3;
const FILE = 'checkpoint.json';

/** Where a shard is, and what to know it by. */
export interface ShardEntry {
  readonly collection: Collection;
  /** It reservations the rows of orders from this times 512 on. */
  readonly number: number;
  readonly file: string;
  readonly checksum: number;
}

/** What a checkpoint consists of. Shards are never changed: newer ones get new names. */
interface CheckpointFile {
  readonly version: number;
  /** Identifier of the store. */
  readonly store: string;
  /** The first journal that reservations what the shards do not. */
  readonly journal: number;
  /** What the journal before it held. */
  readonly previous: Extent | null;
  readonly shards: readonly ShardEntry[];
  /** Segments of the archive. */
  readonly segments: SegmentList;
  /** Places of the next rows: those of rows in the archive are not given again. */
  readonly next: Partial<Record<Collection, number>>;
  /** Of all of the above, as JSON. */
  readonly checksum: number;
}

interface Shard extends ShardKey {
  readonly rows: readonly (readonly [order: number, row: unknown])[];
}

/** The state on disk without its journal: shards of rows, and the list of them that counts. */
export class Checkpoint {
  readonly #files: Files;
  readonly #directory: string;
  readonly #folder: string;
  #shards = new Map<string, ShardEntry>();
  #names: ReadonlySet<string> = new Set();

  /** The first journal to replay upon it; 1 where there has been no checkpoint. */
  journal = 1;
  /** What the journal before that one held; undefined where the checkpoint does not say. */
  previous: Extent | null | undefined;
  /** As it was read. */
  segments: SegmentList = { files: [], next: 1 };
  /** Places of the next rows, as they were read. */
  next: CheckpointFile['next'] = {};
  /** Whether the last one that failed may be on disk all the same. */
  isInDoubt = false;

  constructor(files: Files, directory: string, folder: string) {
    this.#files = files;
    this.#directory = directory;
    this.#folder = folder;
  }

  /** Names in the folder of shards that are part of the checkpoint. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /**
   * Reads the checkpoint, shard by shard.
   *
   * @param manifest null for a store of the version before, or a new one
   * @returns whether there is one
   * @throws Failure service_error, code `store_corrupt`, where a file of it is missing or not as written
   */
  async read(manifest: Manifest | null, take: (change: Change) => void): Promise<boolean> {
    const path = join(this.#directory, FILE);
    const low = new Low<CheckpointFile | null>(new JsonFile(this.#files, path), null);
    await low.read();
    if (low.data === null) return false;
    const { checksum, ...list } = low.data;
    const { version, journal, shards } = list;
    if (![VERSION, WITHOUT_ARCHIVE, WITHOUT_IDENTITY].includes(version)) {
      throw corruptStore(path, `written as version ${version}, which is unknown`);
    }
    if (crc32(JSON.stringify(list)) !== checksum) throw corruptStore(path, 'not as it was written');
    if (version !== WITHOUT_IDENTITY) {
      checkStoreId(manifest, this.#directory, path, list.store);
      this.previous = list.previous;
    }
    if (manifest && manifest.journal.sequence < journal) {
      const what = `names journal ${manifest.journal.sequence}, but checkpoint.json begins at journal ${journal}`;
      throw corruptStore(
        join(this.#directory, STORE_FILE),
        `${what}: files of two backups are mixed`,
      );
    }
    for (const entry of shards) {
      await this.#readShard(entry, take);
    }
    if (version === VERSION) {
      this.segments = list.segments;
      this.next = list.next;
    }
    this.#adopt(journal, shards);
    return true;
  }

  async #readShard(entry: ShardEntry, take: (change: Change) => void): Promise<void> {
    const path = join(this.#folder, entry.file);
    const adapter = new JsonFile<Shard>(this.#files, path);
    const low = new Low<Shard | null>(adapter, null);
    await low.read();
    if (low.data === null)
      throw corruptStore(
        path,
        'missing, although checkpoint.json names it: it is lost, or that is of an older backup',
      );
    if (adapter.checksum !== entry.checksum) throw corruptStore(path, 'not as it was written');
    const { collection, rows } = low.data;
    for (const [order, row] of rows) take([collection, order, row] as Change);
  }

  /**
   * Writes the shards that changed, then the list that makes them count. Until then the former
   * checkpoint and its journals hold everything.
   *
   * @param first the first journal that reservations what these shards may not
   * @param changed names of shards
   * @param durable the row as it is to be in a shard; null for none
   */
  async write(
    first: Journal,
    changed: Iterable<ShardKey>,
    { durable, segments, next }: CheckpointContent,
  ): Promise<void> {
    const { store, sequence: journal, previous } = first;
    const shards = new Map(this.#shards);
    for (const { collection, number } of changed) {
      const name = shardName({ collection, number });
      shards.delete(name);
      const rows: [number, unknown][] = [];
      for (let order = number * SHARD_ROWS; order < (number + 1) * SHARD_ROWS; order += 1) {
        const row = durable(collection, order);
        if (row !== null) rows.push([order, row]);
      }
      if (rows.length > 0) {
        const file = `${name}.${journal}.json`;
        const adapter = new JsonFile<Shard>(this.#files, join(this.#folder, file));
        await new Low<Shard | null>(adapter, { collection, number, rows }).write();
        shards.set(name, { collection, number, file, checksum: adapter.checksum });
      }
      await setImmediate();
    }
    const content = { shards: [...shards.values()], segments, next };
    const list = { version: VERSION, store, journal, previous, ...content };
    const manifest = { ...list, checksum: crc32(JSON.stringify(list)) };
    const path = join(this.#directory, FILE);
    try {
      await new Low<CheckpointFile | null>(new JsonFile(this.#files, path), manifest).write();
    } catch (error) {
      // It has its name already where it was the folder that could not be synced.
      const { checksum } = manifest;
      this.isInDoubt ||= (await this.#checksumOnDisk(path).catch(() => checksum)) === checksum;
      throw error;
    }
    this.isInDoubt = false;
    this.#adopt(journal, manifest.shards);
  }

  async #checksumOnDisk(path: string): Promise<number | undefined> {
    const low = new Low<CheckpointFile | null>(new JsonFile(this.#files, path), null);
    await low.read();
    return low.data?.checksum;
  }

  #adopt(journal: number, shards: readonly ShardEntry[]): void {
    this.journal = journal;
    this.#shards = new Map(shards.map((entry) => [shardName(entry), entry]));
    this.#names = new Set(shards.map(({ file }) => file));
  }
}

interface CheckpointContent {
  readonly durable: (collection: Collection, order: number) => unknown;
  readonly segments: SegmentList;
  readonly next: CheckpointFile['next'];
}
