import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CacheFolder } from '../../src/exchanges/cache/cache-folder.ts';
import type { CachedAnswer, CacheSizes, CacheStorage } from '../../src/store/cache-storage.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { temporaryFolder } from '../oriel.ts';
import { postgresDriver } from '../store/postgres/postgres-driver.ts';

const TEXT = `{\n${'x'.repeat(3000)}\n}\n`;
/** Bytes of two answers, as files take whole blocks. */
const TWO = 9000;

const keyOf = (name: string) => Buffer.from(name.padEnd(32, '.')).toString('hex');

function answer(name: string, more: Partial<CachedAnswer> = {}): CachedAnswer {
  const now = Date.now();
  const times = { storedAt: now, expiresAt: now + 3_600_000 };
  return { accountId: 'acct_1', key: keyOf(name), model: 'm', text: TEXT, ...times, ...more };
}

/** Times of use are compared in milliseconds. */
function nextMillisecond(): void {
  const at = Date.now();
  while (Date.now() === at);
}

const sizes = (of: Record<string, number>) => () => new Map(Object.entries(of));

type Open = (sizes: () => CacheSizes) => Promise<CacheStorage>;

async function namesIn(storage: CacheStorage, names: readonly string[]) {
  const found = await Promise.all(names.map((name) => storage.find('acct_1', keyOf(name))));
  return names.filter((_, index) => found[index] !== undefined);
}

const filesOf = (folder: string) => readdirSync(join(folder, 'cache', 'acct_1'));

function passesFor(open: Open): void {
  it('finds what was added last, of its account alone', async () => {
    const storage = await open(sizes({ m: 1e6 }));
    await storage.add(answer('a', { text: `{\n"old"${' '.repeat(200)}\n}\n` }));
    const added = answer('a', { storedAt: Date.now() + 1 });
    await storage.add(added);
    const { storedAt, expiresAt, text } = added;
    expect(await storage.find('acct_1', keyOf('a'))).toMatchObject({ storedAt, expiresAt, text });
    expect(await storage.find('acct_2', keyOf('a'))).toBeUndefined();
  });

  it('removes what has expired, and of each model what was not used for longest', async () => {
    const storage = await open(sizes({ expired: TWO, other: TWO, gone: TWO, m: 1e6 }));
    await storage.add(answer('expired', { expiresAt: Date.now() - 1 }));
    await storage.add(answer('other', { model: 'other' }));
    await storage.add(answer('gone', { model: 'gone' }));
    for (const name of ['a', 'b', 'c']) {
      await storage.add(answer(name));
      nextMillisecond();
    }
    await storage.touch('acct_1', keyOf('a'));
    await storage.trim(sizes({ other: TWO, m: TWO })());
    const names = ['expired', 'other', 'gone', 'a', 'b', 'c'];
    expect(await namesIn(storage, names)).toEqual(['other', 'a', 'c']);
  });
}

describe('a folder', () => {
  const open = async (limits: () => CacheSizes, folder = temporaryFolder()) =>
    new CacheFolder(join(folder, 'cache'), limits, Date.now);
  passesFor(open);

  it('removes the oldest in the next process, by sizes that have changed since', async () => {
    const folder = temporaryFolder();
    const before = await open(sizes({ m: 1e6, gone: 1e6 }), folder);
    await before.add(answer('other', { model: 'gone' }));
    const names = ['a', 'b', 'c', 'd'];
    for (const [at, name] of names.entries()) await before.add(answer(name, { storedAt: at }));
    const after = await open(sizes({ m: TWO }), folder);
    await after.trim(sizes({ m: TWO })());
    await after.add(answer('large', { text: `{\n${'x'.repeat(TWO)}\n}\n` }));
    expect(await namesIn(after, [...names, 'other', 'large'])).toEqual(['c', 'd']);
    expect(filesOf(folder)).toHaveLength(2);
  });

  it('has one file for a key that is replaced many times at once, and while it is read', async () => {
    const folder = temporaryFolder();
    const storage = await open(sizes({ m: 1e6 }), folder);
    const added = Array.from({ length: 20 }, (_, at) => [
      storage.add(answer('a', { storedAt: at })),
      storage.find('acct_1', keyOf('a')),
    ]);
    await Promise.all(added.flat());
    expect(filesOf(folder)).toHaveLength(1);
    expect(await namesIn(storage, ['a'])).toEqual(['a']);
    await storage.trim(new Map());
    expect(filesOf(folder)).toEqual([]);
  });
});

describeWithPostgres('a table', (server) => {
  const driver = postgresDriver(server);
  passesFor(async () => {
    const store = await driver.open(temporaryFolder());
    onTestFinished(() => store.close());
    return store.cache!;
  });
});
