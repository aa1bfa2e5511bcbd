import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DiskStorage } from '../../src/assets/disk/disk-storage.ts';
import { isAssetId, newAssetId } from '../../src/assets/storage/identifier.ts';
import type { StoredFile } from '../../src/assets/storage/verification.ts';
import { filesBelow } from '../cli/folder.ts';
import { gate } from '../gate.ts';
import { temporaryFolder } from '../oriel.ts';
import { failureWith } from '../store/fresh-store.ts';
import { type Hook, hookedFiles, systemError } from '../store/hooked-files.ts';
import { describeAssetStorage } from './conformance.ts';

const DAY = 86_400_000;

const unavailable = failureWith('storage_unavailable', 503);

/** Files on a disk whose operations call `disk.hook`. */
async function onDisk() {
  const folder = join(temporaryFolder(), 'assets');
  const disk: { hook: Hook } = { hook: () => {} };
  const files = await DiskStorage.open(folder, {
    files: hookedFiles((...args) => disk.hook(...args)),
  });
  return { folder, disk, files };
}

/** An iterable that records whether it was closed. */
function source(chunks: readonly Uint8Array[], last?: Error) {
  const state = { isClosed: false };
  async function* walk() {
    try {
      yield* chunks;
      if (last) throw last;
    } finally {
      state.isClosed = true;
    }
  }
  return { walk: walk(), state };
}

const isKnown = async () => true;
const isUnknown = async () => false;
const ALWAYS = { from: 0, to: Infinity };
const NOTHING = { removed: 0, quarantined: 0, foreign: 0 };

/** The record of a file that was written. */
const recordOf = (id: string, content: Uint8Array | string) => ({
  id,
  bytes: Buffer.from(content).length,
  sha256: createHash('sha256').update(content).digest('hex'),
});

/** Reads a part of a file, before which the whole file is verified. */
async function verify(files: DiskStorage, asset: StoredFile): Promise<void> {
  for await (const _ of files.chunks(asset, { range: { first: 0, last: 0 } }));
}

describe('DiskStorage', () => {
  describeAssetStorage(async () => {
    const { folder, files } = await onDisk();
    const names = () => filesBelow(folder).map((path) => path.slice(3));
    return {
      storage: files,
      stored: async () => names().filter((name) => !name.endsWith('.new')),
      spooled: () => names().filter((name) => name.endsWith('.new')),
      replace: async (id, content) => writeFileSync(files.pathOf(id), content),
    };
  });

  it('generates random identifiers', () => {
    const ids = Array.from({ length: 1000 }, () => newAssetId('png'));
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) {
      expect(isAssetId(id)).toBe(true);
      expect(Buffer.from(id.slice(0, -4), 'base64url')).toHaveLength(32);
    }
    for (const extension of ['', '.png', 'a/b', '..', 'PNG', 'x'.repeat(9)]) {
      expect(() => newAssetId(extension)).toThrow(/expected an extension/);
    }
  });

  it('creates folders with mode 700 and files with mode 600', async () => {
    const mask = process.umask(0);
    try {
      const { folder, files } = await onDisk();
      const id = newAssetId('png');
      await files.write(id, Buffer.from('x'), 1);
      const modes = [folder, dirname(files.pathOf(id)), files.pathOf(id)].map((path) =>
        (statSync(path).mode & 0o777).toString(8),
      );
      expect(modes).toEqual(['700', '700', '600']);
    } finally {
      process.umask(mask);
    }
  });

  it('syncs file and folders before write resolves', async () => {
    const { folder, disk, files } = await onDisk();
    const id = newAssetId('png');
    const steps: string[] = [];
    disk.hook = (operation, path) => {
      steps.push(
        `${operation} ${path
          .slice(folder.length)
          .replace(id, 'ID')
          .replace(/^\/..(?=\/|$)/, '/XX')}`,
      );
    };
    await files.write(id, Buffer.from('x'), 1);
    expect(steps).toEqual([
      // The subfolder and its entry in the folder; the file; its entry in the subfolder.
      'open ',
      'sync ',
      'open /XX/ID.new',
      'writeFile /XX/ID.new',
      'sync /XX/ID.new',
      'rename /XX/ID',
      'open /XX',
      'sync /XX',
    ]);
  });

  it('writes two files into a new subfolder only after that is synced', async () => {
    const { folder, disk, files } = await onDisk();
    const [one, other] = ['A', 'B'].map((letter) => `AA${letter.repeat(41)}.png`) as [
      string,
      string,
    ];
    const elsewhere = ['C', 'D', 'E', 'F'].map((letter) => `CC${letter.repeat(41)}.png`);
    await files.write(elsewhere[0]!, Buffer.from('z'), 1);
    const go = gate();
    const reached = gate();
    disk.hook = async (operation, path) => {
      if (operation !== 'sync' || path !== folder) return;
      reached.open();
      await go.passed;
    };
    const first = files.write(one, Buffer.from('x'), 1);
    await reached.passed;
    let isDone = false;
    const second = files.write(other, Buffer.from('y'), 1).then(() => {
      isDone = true;
    });
    // Writes that do not wait are done by the time that these, one after another, are.
    for (const id of elsewhere.slice(1)) await files.write(id, Buffer.from('z'), 1);
    expect(isDone).toBe(false);
    go.open();
    await Promise.all([first, second]);
    expect((await files.read(recordOf(other, 'y'))).toString()).toBe('y');
  });
});

describe('DiskStorage on a failing disk', () => {
  it.each([
    ['cannot create the file', 'open', /\.new$/],
    ['is full during the write', 'writeFile', /\.new$/],
    ['cannot sync the file', 'sync', /\.new$/],
    ['cannot rename the file', 'rename', /png$/],
    ['cannot sync the subfolder', 'sync', /assets\/..$/],
    ['cannot sync the folder', 'sync', /assets$/],
  ])('keeps nothing when the disk %s, and accepts the next file', async (_, operation, path) => {
    const { folder, disk, files } = await onDisk();
    const id = newAssetId('png');
    disk.hook = (name, at) => {
      if (name === operation && path.test(at)) throw systemError('ENOSPC');
    };
    const { walk, state } = source([Buffer.alloc(6), Buffer.alloc(6)]);
    const write = files.write(id, walk, 100);
    await expect(write).rejects.toEqual(unavailable);
    await expect(write).rejects.toMatchObject({ message: expect.not.stringContaining('/') });
    expect(state.isClosed).toBe(true);
    expect(filesBelow(folder)).toEqual([]);
    disk.hook = () => {};
    const written = await files.write(id, Buffer.alloc(6), 100);
    expect(await files.read({ id, ...written })).toHaveLength(6);
  });

  it('discards the other files where one cannot be removed', async () => {
    const { folder, disk, files } = await onDisk();
    const ids = [1, 2, 3].map(() => newAssetId('png'));
    for (const id of ids) await files.write(id, Buffer.alloc(6), 6);
    disk.hook = (operation, path) => {
      if (operation === 'unlink' && path.endsWith(ids[0]!)) throw systemError('EIO');
    };
    await files.discard(ids);
    expect(filesBelow(folder)).toEqual([join(ids[0]!.slice(0, 2), ids[0]!)]);
  });

  it('removes an unfinished file in a later sweep when its removal fails', async () => {
    const { folder, disk, files } = await onDisk();
    disk.hook = (operation) => {
      if (operation === 'sync' || operation === 'unlink') throw systemError('EIO');
    };
    const id = `AA${'A'.repeat(41)}.png`;
    mkdirSync(join(folder, 'AA'));
    await expect(files.remove([id])).rejects.toEqual(unavailable);
    disk.hook = (operation, path) => {
      if ((operation === 'sync' && path.endsWith('.new')) || operation === 'unlink') {
        throw systemError('EIO');
      }
    };
    await expect(files.write(id, Buffer.alloc(6), 100)).rejects.toEqual(unavailable);
    expect(filesBelow(folder)).toEqual([`AA/${id}.new`]);
    disk.hook = () => {};
    // Before the next start, which may come in the same millisecond.
    utimesSync(join(folder, 'AA', `${id}.new`), 1, 1);
    const again = await DiskStorage.open(folder);
    expect(await again.sweep(isKnown, null)).toEqual({ removed: 1, quarantined: 0, foreign: 0 });
    expect(filesBelow(folder)).toEqual([]);
  });

  it('rejects with storage_unavailable at open, read and sweep', async () => {
    const fails = (wanted: string) =>
      hookedFiles((operation) => {
        if (operation === wanted) throw systemError('EIO');
      });
    const folder = temporaryFolder();
    await expect(DiskStorage.open(folder, { files: fails('open') })).rejects.toEqual(unavailable);
    const id = `AA${'A'.repeat(41)}.png`;
    mkdirSync(join(folder, 'AA', id), { recursive: true });
    const files = await DiskStorage.open(folder, { files: fails('rename') });
    const { size } = statSync(join(folder, 'AA', id));
    await expect(files.read({ id, bytes: size, sha256: null })).rejects.toEqual(unavailable);
    await expect(files.sweep(isUnknown, ALWAYS)).rejects.toEqual(unavailable);
  });
});

describe('DiskStorage.sweep', () => {
  it('removes unfinished files and quarantines files without a record', async () => {
    const { folder, files } = await onDisk();
    const ids = ['png', 'webp', 'mp4', 'wav'].map((extension) => newAssetId(extension));
    for (const id of ids) await files.write(id, Buffer.from('x'), 1);
    const half = `${files.pathOf(newAssetId('png'))}.new`;
    mkdirSync(dirname(half), { recursive: true });
    writeFileSync(half, 'half');
    // An unfinished file with the identifier of a recorded one.
    writeFileSync(`${files.pathOf(ids[0]!)}.new`, 'half');
    const otherFiles = ['notes.txt', 'AA/notes.png', 'lost+found/x', `BB/${ids[0]}`];
    for (const name of otherFiles) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), 'mine');
    }
    const asked: string[] = [];
    const again = await DiskStorage.open(folder);
    const removed = await again.sweep(async (id) => {
      asked.push(id);
      return ids.indexOf(id) < 2;
    }, ALWAYS);
    expect(removed).toEqual({ removed: 2, quarantined: 2, foreign: 0 });
    expect(asked.sort()).toEqual([...ids].sort());
    const left = ids.slice(0, 2).map((id) => join(id.slice(0, 2), id));
    const day = new Date().toISOString().slice(0, 10);
    const moved = ids.slice(2).map((id) => join('quarantine', day, id));
    expect(filesBelow(folder).sort()).toEqual([...otherFiles, ...left, ...moved].sort());
    expect(await again.sweep(isUnknown, ALWAYS)).toEqual(NOTHING);
    expect(filesBelow(folder)).toHaveLength(8);
  });

  it('keeps files that this process has written or is writing', async () => {
    const { folder, disk, files } = await onDisk();
    const done = newAssetId('png');
    await files.write(done, Buffer.from('x'), 1);
    const go = gate();
    const reached = gate();
    disk.hook = async (operation, path) => {
      if (operation !== 'sync' || !path.endsWith('.new')) return;
      reached.open();
      await go.passed;
    };
    const half = newAssetId('png');
    const writing = files.write(half, Buffer.from('y'), 1);
    await reached.passed;
    expect(await files.sweep(isUnknown, ALWAYS)).toEqual(NOTHING);
    go.open();
    await writing;
    expect(await files.sweep(isUnknown, ALWAYS)).toEqual(NOTHING);
    expect((await files.read(recordOf(done, 'x'))).toString()).toBe('x');
    expect((await files.read(recordOf(half, 'y'))).toString()).toBe('y');
    expect(filesBelow(folder)).toHaveLength(2);
  });

  it('can be repeated after a failure', async () => {
    const { folder, files } = await onDisk();
    for (let n = 0; n < 3; n += 1) await files.write(newAssetId('png'), Buffer.from('x'), 1);
    const again = await DiskStorage.open(folder);
    const failure = new Error('the store is closed');
    await expect(again.sweep(() => Promise.reject(failure), ALWAYS)).rejects.toBe(failure);
    expect(filesBelow(folder)).toHaveLength(3);
    expect(await again.sweep(isUnknown, ALWAYS)).toMatchObject({ quarantined: 3 });
  });

  it('keeps files that are older or newer than the records', async () => {
    const { folder, files } = await onDisk();
    const [older, within, newer] = [1000, 2000, 3000].map((seconds) => {
      const id = newAssetId('png');
      mkdirSync(join(folder, id.slice(0, 2)), { recursive: true });
      writeFileSync(files.pathOf(id), 'x');
      utimesSync(files.pathOf(id), seconds, seconds);
      return id;
    }) as [string, string, string];
    const noRecords = await DiskStorage.open(folder);
    expect(await noRecords.sweep(isUnknown, null)).toEqual({ ...NOTHING, foreign: 3 });
    const again = await DiskStorage.open(folder);
    const span = { from: 1_500_000, to: 2_500_000 };
    expect(await again.sweep(isUnknown, span)).toEqual({ removed: 0, quarantined: 1, foreign: 2 });
    for (const id of [older, newer]) expect(existsSync(files.pathOf(id))).toBe(true);
    expect(existsSync(files.pathOf(within))).toBe(false);
  });

  it('keeps quarantined files for 30 days', async () => {
    const { folder, files } = await onDisk();
    const id = newAssetId('png');
    await files.write(id, Buffer.from('x'), 1);
    const again = await DiskStorage.open(folder);
    await again.sweep(isUnknown, ALWAYS);
    const [moved] = filesBelow(folder);
    mkdirSync(join(folder, 'quarantine', 'mine'));
    const now = Date.now();
    await again.emptyQuarantine(now + 30 * DAY);
    expect(filesBelow(folder)).toEqual([moved]);
    await again.emptyQuarantine(now + 31 * DAY);
    expect(filesBelow(folder)).toEqual([]);
    expect(readdirSync(join(folder, 'quarantine'))).toEqual(['mine']);
  });
});

describe('a damaged asset file', () => {
  const LONG = Buffer.alloc(600_000, 'harbour');

  async function damaged(damage: (path: string) => void) {
    const folder = temporaryFolder();
    const reported: string[] = [];
    const files = await DiskStorage.open(folder, { onDamage: (id) => reported.push(id) });
    const id = newAssetId('png');
    const asset = { id, ...(await files.write(id, LONG, LONG.length)) };
    await verify(files, asset);
    damage(files.pathOf(id));
    return {
      asset,
      reported,
      files: await DiskStorage.open(folder, { onDamage: (at) => reported.push(at) }),
    };
  }

  const flip = (path: string) => {
    const bytes = readFileSync(path);
    bytes[10]! ^= 1;
    writeFileSync(path, bytes);
  };
  const broken = failureWith('asset_damaged', 500);

  it('is reported by every read of it', async () => {
    const { asset, reported, files } = await damaged(flip);
    await expect(files.read(asset)).rejects.toEqual(broken);
    await expect(verify(files, asset)).rejects.toEqual(broken);
    expect(reported).toEqual([asset.id, asset.id]);
  });

  it('is found by its size if its checksum was not stored', async () => {
    const { asset, files } = await damaged(flip);
    const former = { ...asset, sha256: null };
    expect(await files.read(former)).toHaveLength(LONG.length);
    await files.check(former);
    truncateSync(files.pathOf(asset.id), 5);
    await expect(files.check(former)).rejects.toEqual(broken);
    await expect(files.read(former)).rejects.toEqual(broken);
  });
});

describe('DiskStorage.reserve', () => {
  const MB = 2 ** 20;
  const disk = (free: number, ffree = 100, blocks = 16) =>
    ({ bsize: MB, blocks, bavail: free, ffree, files: ffree === 0 ? 1 : ffree }) as never;

  async function onDiskOf(statfs: () => never) {
    const files = { ...hookedFiles(() => {}), statfs: async () => statfs() };
    return DiskStorage.open(temporaryFolder(), { files });
  }

  it('keeps space until the reservation ends', async () => {
    const files = await onDiskOf(() => disk(9));
    // One of sixteen blocks stays free for the journal.
    const end = await files.reserve({ bytes: 5 * MB, files: 1 });
    await files.checkFreeSpace({ bytes: 3 * MB, files: 1 });
    await expect(files.checkFreeSpace({ bytes: 3 * MB + 1, files: 1 })).rejects.toEqual(
      unavailable,
    );
    end();
    end();
    await files.checkFreeSpace({ bytes: 8 * MB, files: 1 });
    await expect(files.checkFreeSpace({ bytes: 8 * MB + 1, files: 1 })).rejects.toEqual(
      unavailable,
    );
  });

  it('does not reserve the same space for concurrent calls', async () => {
    const files = await onDiskOf(() => disk(9));
    const ask = () => files.reserve({ bytes: 2 * MB, files: 1 });
    const asked = await Promise.allSettled(Array.from({ length: 20 }, ask));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
  });

  it('counts files where the file system limits their number', async () => {
    const few = await onDiskOf(() => disk(9, 2));
    await few.reserve({ bytes: 1, files: 2 });
    await expect(few.checkFreeSpace({ bytes: 1, files: 1 })).rejects.toEqual(unavailable);
    const uncounted = await onDiskOf(
      () => ({ ...(disk(9) as object), files: 0, ffree: 0 }) as never,
    );
    await uncounted.checkFreeSpace({ bytes: 1, files: 1000 });
    const unreported = await onDiskOf(() => disk(0, 100, 0));
    await unreported.checkFreeSpace({ bytes: MB, files: 1 });
  });
});
