import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Low } from 'lowdb';
import type { SegmentList } from './archive/layout.ts';
import { corruptStore, newerStore } from './files/errors.ts';
import { JsonFile } from './files/json-file.ts';
import type { Place } from './files/place.ts';
import type { Journal } from './journal/journal.ts';
import type { Extent } from './journal/journal-file.ts';
import { checkStoreId, type Manifest, STORE_FILE } from './journal/manifest.ts';
import type { Change, Collection } from './state/state.ts';
import { SHARD_ROWS, type ShardKey, shardName } from './state/state.ts';

/** Version before the archive: names no segments. */
const WITHOUT_ARCHIVE = 2;
/** Version before stores had identifiers: names neither the store nor the previous journal. */
const WITHOUT_IDENTITY = 1;
const VERSION = 3;
const FILE = 'checkpoint.json';

/** A shard file with its checksum. */
export interface ShardEntry {
  readonly collection: Collection;
  /** The shard has the orders from `number * SHARD_ROWS` on. */
  readonly number: number;
  readonly file: string;
  readonly checksum: number;
}

/** Content of checkpoint.json. Shards are never changed: a newer one gets a new name. */
interface CheckpointFile {
  readonly version: number;
  /** Identifier of the store. */
  readonly store: string;
  /** Number of the first journal whose changes the shards do not have. */
  readonly journal: number;
  /** Extent of the journal before that one. */
  readonly previous: Extent | null;
  readonly shards: readonly ShardEntry[];
  /** Segments of the archive. */
  readonly segments: SegmentList;
  /** Next order of each collection, so that orders of archived rows are not used again. */
  readonly next: Partial<Record<Collection, number>>;
  /** CRC-32 of all of the above as JSON. */
  readonly checksum: number;
}

interface Shard extends ShardKey {
  readonly rows: readonly (readonly [order: number, row: unknown])[];
}

/** The state on disk without its journals: shards of rows, and checkpoint.json, which lists the valid ones. */
export class Checkpoint {
  readonly #place: Place;
  #shards = new Map<string, ShardEntry>();
  #names: ReadonlySet<string> = new Set();

  /** Number of the first journal to replay; 1 without a checkpoint. */
  journal = 1;
  /** Extent of the journal before that one; undefined if the checkpoint does not say. */
  previous: Extent | null | undefined;
  /** Segments, as they were read. */
  segments: SegmentList = { files: [], next: 1 };
  /** Next orders, as they were read. */
  next: CheckpointFile['next'] = {};
  /** Whether the last checkpoint failed in a way that it may be on disk nevertheless. */
  isInDoubt = false;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Names of the checkpoint's shard files. */
  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /**
   * Reads the checkpoint, shard by shard.
   *
   * @param manifest null for a new store, and for one of version 1
   * @returns whether a checkpoint exists
   * @throws Failure service_error, code `store_corrupt`, if a file is missing or differs from what was written
   */
  async read(manifest: Manifest | null, take: (change: Change) => void): Promise<boolean> {
    const path = join(this.#place.directory, FILE);
    const low = new Low<CheckpointFile | null>(new JsonFile(this.#place.files, path), null);
    await low.read();
    if (low.data === null) return false;
    const { checksum, ...list } = low.data;
    const { version, journal, shards } = list;
    if (version > VERSION) throw newerStore(path, version, VERSION);
    if (![VERSION, WITHOUT_ARCHIVE, WITHOUT_IDENTITY].includes(version)) {
      throw corruptStore(path, `written as version ${version}, which is unknown`);
    }
    if (crc32(JSON.stringify(list)) !== checksum)
      throw corruptStore(path, 'the content differs from what was written');
    if (version !== WITHOUT_IDENTITY) {
      checkStoreId(manifest, this.#place.directory, path, list.store);
      this.previous = list.previous;
    }
    if (manifest && manifest.journal.sequence < journal) {
      const what = `names journal ${manifest.journal.sequence}, but checkpoint.json begins at journal ${journal}`;
      throw corruptStore(
        join(this.#place.directory, STORE_FILE),
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
    const path = join(this.#place.shards, entry.file);
    const adapter = new JsonFile<Shard>(this.#place.files, path);
    const low = new Low<Shard | null>(adapter, null);
    await low.read();
    if (low.data === null)
      throw corruptStore(
        path,
        'missing, although checkpoint.json names it: the file was lost, or checkpoint.json is from an older backup',
      );
    if (adapter.checksum !== entry.checksum)
      throw corruptStore(path, 'the content differs from what was written');
    const { collection, rows } = low.data;
    for (const [order, row] of rows) take([collection, order, row] as Change);
  }

  /**
   * Writes the changed shards, then checkpoint.json, which makes them valid. Until then the previous
   * checkpoint and its journals have everything.
   *
   * @param first first journal whose changes may be missing in these shards
   * @param changed shards to write
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
        const adapter = new JsonFile<Shard>(this.#place.files, join(this.#place.shards, file));
        await new Low<Shard | null>(adapter, { collection, number, rows }).write();
        shards.set(name, { collection, number, file, checksum: adapter.checksum });
      }
      await setImmediate();
    }
    const content = { shards: [...shards.values()], segments, next };
    const list = { version: VERSION, store, journal, previous, ...content };
    const manifest = { ...list, checksum: crc32(JSON.stringify(list)) };
    const path = join(this.#place.directory, FILE);
    try {
      await new Low<CheckpointFile | null>(new JsonFile(this.#place.files, path), manifest).write();
    } catch (error) {
      // If only the sync of the folder failed, the new file already has its name.
      const { checksum } = manifest;
      this.isInDoubt ||= (await this.#checksumOnDisk(path).catch(() => checksum)) === checksum;
      throw error;
    }
    this.isInDoubt = false;
    this.#adopt(journal, manifest.shards);
  }

  async #checksumOnDisk(path: string): Promise<number | undefined> {
    const low = new Low<CheckpointFile | null>(new JsonFile(this.#place.files, path), null);
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
