import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AssetStorage } from '../../src/assets/storage/asset-storage.ts';
import { newAssetId } from '../../src/assets/storage/identifier.ts';
import { temporaryFolder } from '../oriel.ts';
import { failureWith } from '../store/fresh-store.ts';

export interface StorageUnderTest {
  readonly storage: AssetStorage;
  /** Identifiers of the files that are stored. */
  stored(): Promise<readonly string[]>;
  /** Names of files that wait on the local disk. */
  spooled(): readonly string[];
  /** Replaces the content of a stored file behind the storage's back. */
  replace(id: string, content: Buffer): Promise<void>;
}

const unknown = failureWith('asset_not_found', 404);
const large = failureWith('file_too_large', 413);
const damaged = failureWith('asset_damaged', 500);

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const recordOf = (id: string, content: Buffer) => ({
  id,
  bytes: content.length,
  sha256: sha256(content),
});

/** Content in which every position differs from its neighbours. */
const contentOf = (bytes: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => (at * 31 + (at >> 8)) % 251));

async function partOf(storage: AssetStorage, asset: ReturnType<typeof recordOf>, range: object) {
  const chunks: Buffer[] = [];
  for await (const chunk of storage.chunks(asset, { range: range as never })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const NAME = 'A'.repeat(43);
const INVALID_IDS = [
  ...['', '.', '..', '../x', '/etc/passwd', '__proto__', NAME, `${NAME}.`, `A${NAME}.png`],
  ...[`${NAME}.PNG`, `${NAME}.png/`, `${NAME}.p/g`, `${NAME}.png\n`, `${NAME}.png.new`],
  ...[`../${NAME.slice(3)}.png`, `${NAME.slice(1)}.png`, `${NAME.slice(1)}\0.png`],
];

/** Tests that every storage of files must pass. */
export function describeAssetStorage(open: () => Promise<StorageUnderTest>): void {
  it('reads files as they were written', async () => {
    const { storage, stored, spooled } = await open();
    const content = contentOf(700_000);
    async function* pieces() {
      for (let at = 0; at < content.length; at += 99_999) yield content.subarray(at, at + 99_999);
    }
    const path = join(temporaryFolder(), 'copied');
    writeFileSync(path, content);
    const [whole, walked, copied, empty] = ['png', 'webp', 'mp4', 'wav'].map(newAssetId) as [
      string,
      string,
      string,
      string,
    ];
    const written = { bytes: content.length, sha256: sha256(content) };
    expect(await storage.write(whole, content, content.length)).toEqual(written);
    expect(await storage.write(walked, pieces(), content.length)).toEqual(written);
    expect(await storage.copy(copied, path, content.length)).toEqual(written);
    expect(await storage.write(empty, Buffer.alloc(0), 0)).toMatchObject({ bytes: 0 });
    for (const id of [whole, walked, copied]) {
      await storage.check(recordOf(id, content));
      // Later reads take another way than the first.
      for (let turn = 0; turn < 2; turn += 1) {
        expect((await storage.read(recordOf(id, content))).equals(content)).toBe(true);
      }
    }
    expect(await storage.read(recordOf(empty, Buffer.alloc(0)))).toHaveLength(0);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect([...(await stored())].sort()).toEqual([whole, walked, copied, empty].sort());
    expect(spooled()).toEqual([]);
  });

  it('reads ranges', async () => {
    const { storage } = await open();
    const content = contentOf(600_000);
    const asset = recordOf(newAssetId('mp4'), content);
    await storage.write(asset.id, content, 1e9);
    for (const [first, last] of [
      [0, 0],
      [1, 300_000],
      [299_999, 599_999],
      [599_999, 599_999],
    ] as const) {
      const part = await partOf(storage, asset, { first, last });
      expect(part.equals(content.subarray(first, last + 1))).toBe(true);
    }
  });

  it('stores a spooled file under its identifier only when asked to', async () => {
    const { storage, stored, spooled } = await open();
    const content = contentOf(1000);
    const id = newAssetId('png');
    const file = await storage.spool(id, content, 1e9);
    expect(readFileSync(file.path).equals(content)).toBe(true);
    expect(await file.isIntact()).toBe(true);
    expect(await stored()).toEqual([]);
    await expect(storage.check(recordOf(id, content))).rejects.toEqual(unknown);
    await file.store();
    await file.store();
    expect(await stored()).toEqual([id]);
    expect(spooled()).toEqual([]);
    await file.discard();
    expect(await stored()).toEqual([]);
  });

  it('keeps nothing of a spooled file that is discarded or garbled', async () => {
    const { storage, stored, spooled } = await open();
    const file = await storage.spool(newAssetId('png'), contentOf(1000), 1e9);
    writeFileSync(file.path, 'garbled');
    expect(await file.isIntact()).toBe(false);
    await file.discard();
    expect([...(await stored()), ...spooled()]).toEqual([]);
  });

  it('rejects invalid identifiers before it reads or writes', async () => {
    const { storage, stored, spooled } = await open();
    const content = contentOf(3);
    for (const id of INVALID_IDS) {
      await expect(storage.write(id, content, 9)).rejects.toEqual(unknown);
      await expect(storage.copy(id, '/etc/hostname', 1e9)).rejects.toEqual(unknown);
      await expect(storage.read(recordOf(id, content))).rejects.toEqual(unknown);
      await expect(storage.check(recordOf(id, content))).rejects.toEqual(unknown);
      await expect(storage.remove([id])).rejects.toEqual(unknown);
    }
    expect([...(await stored()), ...spooled()]).toEqual([]);
  });

  it('rejects files above the maximum size, and passes on failures of the source', async () => {
    const { storage, stored, spooled } = await open();
    const state = { isClosed: false };
    async function* source(failure: Error | null) {
      try {
        yield contentOf(6);
        if (failure) throw failure;
        yield contentOf(6);
      } finally {
        state.isClosed = true;
      }
    }
    await expect(storage.write(newAssetId('png'), source(null), 10)).rejects.toEqual(large);
    expect(state.isClosed).toBe(true);
    const broken = new Error('the sender left');
    await expect(storage.write(newAssetId('png'), source(broken), 10)).rejects.toBe(broken);
    const path = join(temporaryFolder(), 'large');
    writeFileSync(path, contentOf(11));
    await expect(storage.copy(newAssetId('png'), path, 10)).rejects.toEqual(large);
    expect([...(await stored()), ...spooled()]).toEqual([]);
  });

  it('removes files, and skips those that do not exist', async () => {
    const { storage, stored } = await open();
    const ids = Array.from({ length: 5 }, () => newAssetId('png'));
    for (const id of ids) await storage.write(id, contentOf(10), 10);
    await storage.remove([...ids.slice(1), newAssetId('png')]);
    await storage.discard([ids[1]!, newAssetId('png')]);
    await storage.remove([]);
    expect(await stored()).toEqual([ids[0]]);
    const removed = recordOf(ids[1]!, contentOf(10));
    await expect(storage.read(removed)).rejects.toEqual(unknown);
    await expect(partOf(storage, removed, { first: 0, last: 3 })).rejects.toEqual(unknown);
    await expect(storage.check(removed)).rejects.toEqual(unknown);
  });

  it.each([
    ['has another content', (content: Buffer) => Buffer.from(content).fill(7, 10, 11)],
    ['is shorter', (content: Buffer) => content.subarray(0, 300_000)],
    ['is longer', (content: Buffer) => Buffer.concat([content, content])],
    ['is empty', () => Buffer.alloc(0)],
  ])('sends no last chunk of a file that %s', async (_, change) => {
    const { storage, replace } = await open();
    const content = contentOf(600_000);
    const asset = recordOf(newAssetId('mp4'), content);
    await storage.write(asset.id, content, 1e9);
    await storage.read(asset);
    await replace(asset.id, change(content));
    await expect(storage.read(asset)).rejects.toEqual(damaged);
    let sent = 0;
    const send = async () => {
      for await (const chunk of storage.chunks(asset)) sent += chunk.length;
    };
    await expect(send()).rejects.toEqual(damaged);
    expect(sent).toBeLessThan(content.length);
  });

  it('serves many readers and writers at once, some of which stop early', async () => {
    const { storage, stored } = await open();
    const assets = await Promise.all(
      Array.from({ length: 24 }, async (_, at) => {
        const content = contentOf(50_000 + at);
        const asset = recordOf(newAssetId('png'), content);
        await storage.write(asset.id, content, 1e9);
        return { asset, content };
      }),
    );
    await Promise.all(
      assets.map(async ({ asset, content }, at) => {
        if (at % 3 === 0) {
          const chunks = storage.chunks(asset);
          await chunks.next();
          await chunks.return();
        } else expect((await storage.read(asset)).equals(content)).toBe(true);
      }),
    );
    expect(await stored()).toHaveLength(24);
  });
}
