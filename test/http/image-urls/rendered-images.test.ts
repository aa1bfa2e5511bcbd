import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Rendered, RenderedImages } from '../../../src/http/image-urls/rendered-images.ts';
import { temporaryFolder } from '../../oriel.ts';

const keyOf = (number: number) => number.toString(16).padStart(64, '0');
const imageOf = (bytes: number, expiresAt = Date.now() + 60_000): Rendered => ({
  bytes: Buffer.alloc(bytes, 1),
  ...{ mediaType: 'image/png', sha256: 'abc', expiresAt },
});
// Images may still be written when a test removes its folder.
const ignore = () => {};
const never = async () => {
  throw new Error('rendered again');
};
const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('rendered images', () => {
  it('are found by the next process', async () => {
    const folder = temporaryFolder();
    const before = new RenderedImages(folder, () => 1e6, ignore);
    const image = imageOf(1000);
    await before.get(keyOf(1), async () => image);
    await expect.poll(() => filesOf(folder).filter((one) => one.endsWith('.json'))).toHaveLength(1);
    const after = new RenderedImages(folder, () => 1e6, ignore);
    expect(after.remembered(keyOf(1))).toBeUndefined();
    expect(await after.get(keyOf(1), never)).toEqual(image);
    expect(after.remembered(keyOf(1))).toEqual(image);
  });

  it('are rendered again once they have expired, or their file was cut off', async () => {
    const folder = temporaryFolder();
    const open = () => new RenderedImages(folder, () => 1e6, ignore);
    const cache = open();
    await cache.get(keyOf(1), async () => imageOf(10, Date.now()));
    expect(cache.remembered(keyOf(1))).toBeUndefined();
    await cache.get(keyOf(2), async () => imageOf(10));
    await expect.poll(() => filesOf(folder).filter((one) => one.endsWith('.json'))).toHaveLength(2);
    for (const file of filesOf(folder)) writeFileSync(file, 'image/png abc\n\u0001');
    for (const number of [1, 2]) {
      expect(await open().get(keyOf(number), async () => imageOf(20))).toEqual(
        expect.objectContaining({ bytes: Buffer.alloc(20, 1) }),
      );
    }
  });

  it('stay within their size on the disk and in memory', async () => {
    const folder = temporaryFolder();
    const cache = new RenderedImages(folder, () => 50_000, ignore);
    for (let number = 0; number < 200; number += 1) {
      await cache.get(keyOf(number), async () => imageOf(number === 0 ? 300_000 : 5000));
    }
    expect(cache.remembered(keyOf(0))).toBeUndefined();
    const kept = Array.from({ length: 200 }, (_, at) => cache.remembered(keyOf(at)));
    expect(kept.filter((one) => one !== undefined)).toHaveLength(128);
    const bytesOf = () => filesOf(folder).reduce((sum, file) => sum + statSync(file).size, 0);
    await expect.poll(bytesOf).toBeLessThanOrEqual(50_000);
  });

  it('are served though the disk takes none', async () => {
    const folder = join(temporaryFolder(), 'images');
    // A file is where the folder would be.
    writeFileSync(folder, '');
    const faults: unknown[] = [];
    const cache = new RenderedImages(
      folder,
      () => 1e6,
      (error) => faults.push(error),
    );
    expect(await cache.get(keyOf(1), async () => imageOf(10))).toEqual(
      expect.objectContaining({ sha256: 'abc' }),
    );
    await expect.poll(() => faults.length).toBe(1);
    expect(cache.remembered(keyOf(1))).toBeDefined();
  });

  it('fail for all that wait, and are tried again', async () => {
    const cache = new RenderedImages(temporaryFolder(), () => 0, ignore);
    const both = [cache.get(keyOf(1), never), cache.get(keyOf(1), never)];
    for (const one of both) await expect(one).rejects.toThrow('rendered again');
    expect(cache.rendering).toBe(0);
    expect(await cache.get(keyOf(1), async () => imageOf(1))).toBeDefined();
  });
});
