import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Spool } from '../../../src/http/uploads/spool.ts';
import { temporaryFolder } from '../../oriel.ts';

async function* chunks(...sizes: number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield new Uint8Array(size);
}

describe('a spool', () => {
  test('begins empty, whatever a killed process left', async () => {
    const folder = join(temporaryFolder(), 'spool');
    mkdirSync(join(folder, 'deeper'), { recursive: true });
    writeFileSync(join(folder, 'left'), 'x');
    const spool = await Spool.open(folder, 100);
    expect([readdirSync(folder), spool.bytes]).toEqual([[], 0]);
  });

  test('counts what it keeps, and drops what is too large while it counts on', async () => {
    const folder = temporaryFolder();
    const spool = await Spool.open(folder, 100);
    const uploads = spool.uploads();
    expect(await uploads.receive(chunks(10, 20), 50)).toMatchObject({ size: 30 });
    expect(await uploads.receive(chunks(40, 20, 500), 50)).toEqual({ size: 560, path: null });
    expect([readdirSync(folder).length, spool.bytes]).toEqual([1, 30]);
    await uploads.discard();
    expect([readdirSync(folder), spool.bytes]).toEqual([[], 0]);
  });

  test('refuses what has no room, and keeps what was there', async () => {
    const spool = await Spool.open(temporaryFolder(), 100);
    const [one, other] = [spool.uploads(), spool.uploads()];
    await one.receive(chunks(60), 90);
    await expect(other.receive(chunks(30, 30), 90)).rejects.toMatchObject({
      status: 503,
      code: 'overloaded',
    });
    await other.discard();
    expect(spool.bytes).toBe(60);
    expect(() => spool.checkRoom(41)).toThrow(/later/);
    spool.checkRoom(40);
    await one.discard();
  });

  test('keeps nothing of what arrives after it was discarded', async () => {
    const folder = temporaryFolder();
    const spool = await Spool.open(folder, 100);
    const uploads = spool.uploads();
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

  test('that cannot be written is an error of the service, not a defect', async () => {
    const folder = temporaryFolder();
    const spool = await Spool.open(folder, 100);
    rmSync(folder, { recursive: true });
    await expect(spool.uploads().receive(chunks(1), 9)).rejects.toMatchObject({
      type: 'service_error',
      status: 503,
      code: 'storage_unavailable',
    });
  });
});
