import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeyCache } from '../../../src/store/drivers/postgres/readers/key-cache.ts';
import type { KeyHolder } from '../../../src/store/store.ts';
import { gate } from '../../gate.ts';

/** A database with the names of keys by hash. */
function databaseOf(names: Record<string, string>) {
  const database = {
    names,
    revision: 1,
    loads: [] as (readonly string[])[],
    isAway: false,
    /** Resolves when the database answers again; null while it answers. */
    stopped: null as Promise<void> | null,
    async load(hashes: readonly string[]) {
      database.loads.push(hashes);
      await database.stopped;
      if (database.isAway) throw new Error('the database is away');
      const found = hashes.filter((hash) => hash in database.names);
      const keys = found.map((hash): [string, KeyHolder] => [
        hash,
        {
          key: { name: database.names[hash] },
          account: { id: `account of ${hash}` },
        } as unknown as KeyHolder,
      ]);
      return { revision: database.revision, keys: new Map(keys) };
    },
  };
  return database;
}

describe('the cache of keys', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A cache of a database, which is closed after the test. */
  function setUp(names: Record<string, string>) {
    const database = databaseOf(names);
    const cache = new KeyCache({ load: database.load, now: () => Date.now() });
    onTestFinished(() => cache.close());
    return { database, cache };
  }
  const nameOf = async (cache: KeyCache, hash: string) => (await cache.find(hash))?.key.name;

  it('reads the hashes of many requests at once in one query', async () => {
    const { database, cache } = setUp({ a: 'one', b: 'two' });
    const first = cache.find('a');
    const others = ['a', 'b', 'unknown'].map((hash) => nameOf(cache, hash));
    await first;
    expect(await Promise.all(others)).toEqual(['one', 'two', undefined]);
    expect(database.loads).toHaveLength(1);
  });

  it('sees a change within a second of use', async () => {
    const { database, cache } = setUp({ a: 'one' });
    await cache.find('a');
    database.names.a = 'changed';
    database.revision += 1;
    for (let elapsed = 0; elapsed < 1000; elapsed += 100) {
      await vi.advanceTimersByTimeAsync(100);
      await cache.find('a');
    }
    expect(await nameOf(cache, 'a')).toBe('changed');
  });

  it('reads a key again after a pause, and after a hint', async () => {
    const { database, cache } = setUp({ a: 'one' });
    await cache.find('a');
    await vi.advanceTimersByTimeAsync(5000);
    database.names.a = 'changed';
    database.revision += 1;
    expect(await nameOf(cache, 'a')).toBe('changed');
    database.names.a = 'again';
    database.revision += 1;
    cache.forget(['account of a']);
    expect(await nameOf(cache, 'a')).toBe('again');
    database.names.a = 'once more';
    database.revision += 1;
    cache.invalidate();
    expect(await nameOf(cache, 'a')).toBe('once more');
  });

  it('finds a known key without a query, and makes none while no key is used', async () => {
    const { database, cache } = setUp({ a: 'one' });
    for (let round = 0; round < 20; round += 1) expect(await nameOf(cache, 'a')).toBe('one');
    expect(database.loads).toEqual([['a']]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(database.loads.length).toBeLessThanOrEqual(2);
  });

  it('finds known keys while a database that was stopped gives no answer', async () => {
    const { database, cache } = setUp({ a: 'one', b: 'two' });
    await cache.find('a');
    const { passed, open: resume } = gate();
    database.stopped = passed;
    // After the end of the last check, with none under way.
    await vi.advanceTimersByTimeAsync(5000);
    const first = nameOf(cache, 'a');
    await vi.advanceTimersByTimeAsync(500);
    expect(await first).toBe('one');
    for (let elapsed = 0; elapsed < 20_000; elapsed += 100) {
      await vi.advanceTimersByTimeAsync(100);
      expect(await nameOf(cache, 'a')).toBe('one');
    }
    const unknown = nameOf(cache, 'b');
    database.stopped = null;
    database.names.a = 'changed';
    database.revision += 1;
    resume();
    expect(await unknown).toBe('two');
    expect(await nameOf(cache, 'a')).toBe('changed');
  });

  it('waits for a database that answers slowly', async () => {
    const database = databaseOf({ a: 'one' });
    const load = async (hashes: readonly string[]) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return database.load(hashes);
    };
    const cache = new KeyCache({ load, now: () => Date.now() });
    const known = cache.find('a');
    await vi.advanceTimersByTimeAsync(5000);
    await known;
    // The query after one that is under way, so that the answer takes longer than silence may.
    const unknown = cache.find('unknown');
    await vi.advanceTimersByTimeAsync(100);
    delete database.names.a;
    database.revision += 1;
    const revoked = cache.find('a');
    await vi.advanceTimersByTimeAsync(700);
    expect(await unknown).toBeUndefined();
    expect(await revoked).toBeUndefined();
  });

  it('accepts no key in an outage that was revoked before it', async () => {
    const { database, cache } = setUp({ a: 'one', b: 'two' });
    await Promise.all([cache.find('a'), cache.find('b')]);
    await vi.advanceTimersByTimeAsync(100);
    delete database.names.a;
    database.revision += 1;
    for (let elapsed = 0; elapsed < 10_000; elapsed += 100) {
      await vi.advanceTimersByTimeAsync(100);
      await cache.find('b');
    }
    database.isAway = true;
    await vi.advanceTimersByTimeAsync(2000);
    expect(await nameOf(cache, 'b')).toBe('two');
    await expect(cache.find('a')).rejects.toThrow('away');
  });

  it('accepts no key while the database is away of whose change it knows', async () => {
    const { database, cache } = setUp({ a: 'one', b: 'two' });
    await Promise.all([cache.find('a'), cache.find('b')]);
    cache.forget(['account of a']);
    database.isAway = true;
    await expect(cache.find('a')).rejects.toThrow('away');
    expect(await nameOf(cache, 'b')).toBe('two');
  });

  it('accepts known keys for a minute while the database is away, and no others', async () => {
    const { database, cache } = setUp({ a: 'one', b: 'two' });
    await cache.find('a');
    database.isAway = true;
    for (let elapsed = 0; elapsed < 59_000; elapsed += 1000) {
      await vi.advanceTimersByTimeAsync(1000);
      expect(await nameOf(cache, 'a')).toBe('one');
      await expect(cache.find('b')).rejects.toThrow('away');
    }
    await vi.advanceTimersByTimeAsync(2000);
    await expect(cache.find('a')).rejects.toThrow('away');
    database.isAway = false;
    expect(await nameOf(cache, 'a')).toBe('one');
  });
});
