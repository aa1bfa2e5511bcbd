import { createHash } from 'node:crypto';
import {
  appendFileSync,
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
import type { StoredFile } from '../../src/assets/storage/asset-storage.ts';
import { isAssetId, newAssetId } from '../../src/assets/storage/identifier.ts';
import { filesBelow } from '../cli/folder.ts';
import { gate } from '../gate.ts';
import { temporaryFolder } from '../oriel.ts';
import { failureWith } from '../store/fresh-store.ts';
import { type Hook, hookedFiles, systemError } from '../store/hooked-files.ts';
import { describeAssetStorage } from './conformance.ts';

const DAY = 86_400_000;

const unavailable = failureWith('storage_unavailable', 503);
const unknown = failureWith('asset_not_found', 404);

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

  it('reads files as they were written', async () => {
    const { folder, files } = await onDisk();
    const bytes = Buffer.from('harbour'.repeat(1000));
    const chunks = [bytes.subarray(0, 3), bytes.subarray(3, 3), bytes.subarray(3)];
    const [whole, walked, empty, copied] = [1, 2, 3, 4].map(() => newAssetId('webp')) as [
      string,
      string,
      string,
      string,
    ];
    expect({ id: whole, ...(await files.write(whole, bytes, bytes.length)) }).toEqual(
      recordOf(whole, bytes),
    );
    expect(await files.write(walked, source(chunks).walk, bytes.length)).toMatchObject({
      sha256: recordOf(whole, bytes).sha256,
    });
    expect(await files.write(empty, source([]).walk, 0)).toMatchObject({ bytes: 0 });
    const other = join(folder, '..', 'other.webp');
    const large = Buffer.alloc(2_500_000, 'oriel');
    writeFileSync(other, large);
    expect(await files.copy(copied, other, large.length)).toMatchObject({ bytes: large.length });
    expect(readFileSync(other).equals(large)).toBe(true);
    const again = await DiskStorage.open(folder);
    for (const one of [files, again]) {
      expect(await one.read(recordOf(whole, bytes))).toEqual(bytes);
      expect(await one.read(recordOf(walked, bytes))).toEqual(bytes);
      expect(await one.read(recordOf(empty, ''))).toHaveLength(0);
      expect((await one.read(recordOf(copied, large))).equals(large)).toBe(true);
      expect(readFileSync(one.pathOf(whole))).toEqual(bytes);
    }
    expect(dirname(files.pathOf(whole))).toBe(join(folder, whole.slice(0, 2)));
    await files.remove([whole, copied, newAssetId('png')]);
    await expect(again.read(recordOf(whole, bytes))).rejects.toEqual(unknown);
    expect(filesBelow(folder).sort()).toEqual(
      [walked, empty].map((id) => join(id.slice(0, 2), id)).sort(),
    );
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

  it.each([
    '',
    '.',
    '..',
    '../x',
    `../${'A'.repeat(40)}.png`,
    `${'A'.repeat(43)}`,
    `${'A'.repeat(43)}.`,
    `${'A'.repeat(42)}.png`,
    `${'A'.repeat(44)}.png`,
    `${'A'.repeat(43)}.png\n`,
    `${'A'.repeat(43)}.png/`,
    `${'A'.repeat(43)}.p/g`,
    `${'A'.repeat(43)}.png.new`,
    `${'A'.repeat(20)}/${'A'.repeat(22)}.png`,
    `${'A'.repeat(42)}\0.png`,
    `${'A'.repeat(42)}ä.png`,
    '/etc/passwd',
    '__proto__',
  ])('rejects the identifier %j', async (name) => {
    const { folder, files } = await onDisk();
    const kept = newAssetId('png');
    await files.write(kept, Buffer.from('x'), 1);
    expect(isAssetId(name)).toBe(false);
    expect(() => files.pathOf(name)).toThrow(expect.objectContaining({ status: 404 }));
    await expect(files.read(recordOf(name, ''))).rejects.toEqual(unknown);
    await expect(files.write(name, Buffer.from('x'), 1)).rejects.toEqual(unknown);
    await expect(files.copy(name, files.pathOf(kept), 1)).rejects.toEqual(unknown);
    await expect(files.remove([kept, name])).rejects.toEqual(unknown);
    expect(filesBelow(folder)).toEqual([join(kept.slice(0, 2), kept)]);
    expect(filesBelow(join(folder, '..'))).toHaveLength(1);
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

  it('rejects files above the maximum size and keeps nothing', async () => {
    const { folder, files } = await onDisk();
    const large = failureWith('file_too_large', 413);
    const id = newAssetId('png');
    await expect(files.write(id, Buffer.alloc(11), 10)).rejects.toEqual(large);
    const { walk, state } = source([Buffer.alloc(6), Buffer.alloc(5), Buffer.alloc(1)]);
    await expect(files.write(id, walk, 10)).rejects.toEqual(large);
    expect(state.isClosed).toBe(true);
    const other = join(folder, '..', 'other');
    writeFileSync(other, Buffer.alloc(11));
    await expect(files.copy(id, other, 10)).rejects.toEqual(large);
    await expect(files.copy(id, `${other}.none`, 10)).rejects.toEqual(unavailable);
    expect(filesBelow(folder)).toEqual([]);
  });

  it('keeps nothing when the source fails', async () => {
    const { folder, files } = await onDisk();
    const broken = new Error('the sender left');
    for (const chunks of [[], [Buffer.alloc(10)]]) {
      const write = files.write(newAssetId('png'), source(chunks, broken).walk, 100);
      await expect(write).rejects.toBe(broken);
    }
    expect(filesBelow(folder)).toEqual([]);
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

  it('keeps nothing when the disk gets full during a write', async () => {
    const { folder, disk, files } = await onDisk();
    let writes = 0;
    disk.hook = (operation) => {
      if (operation !== 'writeFile') return;
      writes += 1;
      if (writes === 3) throw systemError('ENOSPC');
    };
    const chunks = Array.from({ length: 5 }, () => Buffer.alloc(100_000));
    const { walk, state } = source(chunks);
    await expect(files.write(newAssetId('png'), walk, Infinity)).rejects.toEqual(unavailable);
    expect(state.isClosed).toBe(true);
    expect(writes).toBe(3);
    expect(filesBelow(folder)).toEqual([]);
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

  it.each([
    ['one bit is flipped', flip],
    ['it is truncated', (path: string) => truncateSync(path, 300_000)],
    ['it is empty', (path: string) => truncateSync(path, 0)],
    ['it is longer', (path: string) => appendFileSync(path, 'x')],
  ])('is not read, and its last chunk not sent, when %s', async (_, damage) => {
    const { asset, reported, files } = await damaged(damage);
    await expect(files.read(asset)).rejects.toEqual(broken);
    await expect(verify(files, asset)).rejects.toEqual(broken);
    let sent = 0;
    const send = async () => {
      for await (const chunk of files.chunks(asset)) sent += chunk.length;
    };
    await expect(send()).rejects.toEqual(broken);
    expect(sent).toBeLessThan(LONG.length);
    expect(reported).toEqual([asset.id, asset.id, asset.id]);
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
