import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Spool } from '../../../src/http/uploads/spool.ts';
import { temporaryFolder } from '../../oriel.ts';

async function* chunks(...sizes: number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield new Uint8Array(size);
}

describe('the spool', () => {
  test('is empty after the start, although a killed process left files', async () => {
    const folder = join(temporaryFolder(), 'spool');
    mkdirSync(join(folder, 'deeper'), { recursive: true });
    writeFileSync(join(folder, 'left'), 'x');
    const spool = await Spool.open(folder, 100);
    expect([readdirSync(folder), spool.bytes]).toEqual([[], 0]);
  });

  test('counts the bytes of kept files, and counts a file that is too large without keeping it', async () => {
    const folder = temporaryFolder();
    const spool = await Spool.open(folder, 100);
    const uploads = spool.uploads('a');
    expect(await uploads.receive(chunks(10, 20), 50)).toMatchObject({ size: 30 });
    expect(await uploads.receive(chunks(40, 20, 500), 50)).toEqual({ size: 560, path: null });
    expect([readdirSync(folder).length, spool.bytes]).toEqual([1, 30]);
    await uploads.discard();
    expect([readdirSync(folder), spool.bytes]).toEqual([[], 0]);
  });

  test('refuses a file without room and keeps the earlier ones', async () => {
    const spool = await Spool.open(temporaryFolder(), 100);
    const [one, other] = [spool.uploads('a'), spool.uploads('b')];
    await one.receive(chunks(60), 90);
    await expect(other.receive(chunks(30, 30), 90)).rejects.toMatchObject({
      status: 503,
      code: 'overloaded',
    });
    await other.discard();
    expect(spool.bytes).toBe(60);
    expect(() => spool.checkRoom('b', 41)).toThrow(/later/);
    spool.checkRoom('b', 40);
    await one.discard();
  });

  test('does not keep bytes that arrive after discard', async () => {
    const folder = temporaryFolder();
    const spool = await Spool.open(folder, 100);
    const uploads = spool.uploads('a');
    let discarding: Promise<void> | undefined;
    async function* late(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(10);
      discarding = uploads.discard();
      yield new Uint8Array(10);
    }
    await uploads.receive(late(), 90);
    await discarding;
    expect([readdirSync(folder), spool.bytes]).toEqual([[], 0]);
  });

  test('that cannot be written throws a Failure, not a defect', async () => {
    const folder = temporaryFolder();
    const spool = await Spool.open(folder, 100);
    rmSync(folder, { recursive: true });
    await expect(spool.uploads('a').receive(chunks(1), 9)).rejects.toMatchObject({
      type: 'service_error',
      status: 503,
      code: 'storage_unavailable',
    });
  });
});
