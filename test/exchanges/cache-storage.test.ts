import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CacheFolder } from '../../src/exchanges/cache/cache-folder.ts';
import type { CachedAnswer, CacheStorage } from '../../src/store/cache-storage.ts';
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

type Open = (sizeOf: (model: string) => number) => Promise<CacheStorage>;

function passesFor(open: Open): void {
  const namesIn = async (storage: CacheStorage, names: readonly string[]) => {
    const found = await Promise.all(names.map((name) => storage.find('acct_1', keyOf(name))));
    return names.filter((_, index) => found[index] !== undefined);
  };

  it('finds what was added last, of its account alone', async () => {
    const storage = await open(() => 1e6);
    await storage.add(answer('a', { text: `{\n"old"${' '.repeat(200)}\n}\n` }));
    const added = answer('a', { storedAt: Date.now() + 1 });
    await storage.add(added);
    const { storedAt, expiresAt, text } = added;
    expect(await storage.find('acct_1', keyOf('a'))).toMatchObject({ storedAt, expiresAt, text });
    expect(await storage.find('acct_2', keyOf('a'))).toBeUndefined();
  });

  it('removes what has expired, and of each model what was not used for longest', async () => {
    const sizeOf = (model: string) => (model === 'gone' ? 0 : TWO);
    const storage = await open((model) => (model === 'gone' ? TWO : 1e6));
    await storage.add(answer('expired', { expiresAt: Date.now() - 1 }));
    await storage.add(answer('other', { model: 'other' }));
    await storage.add(answer('gone', { model: 'gone' }));
    for (const name of ['a', 'b', 'c']) {
      await storage.add(answer(name));
      nextMillisecond();
    }
    await storage.touch('acct_1', keyOf('a'));
    await storage.trim(sizeOf);
    const names = ['expired', 'other', 'gone', 'a', 'b', 'c'];
    expect(await namesIn(storage, names)).toEqual(['other', 'a', 'c']);
  });
}

describe('a folder', () => {
  const open = async (sizeOf: (model: string) => number, folder = temporaryFolder()) =>
    new CacheFolder(join(folder, 'cache'), sizeOf, Date.now);
  passesFor(open);

  it('has one file for an answer that is added several times at once', async () => {
    const folder = temporaryFolder();
    const storage = await open(() => TWO, folder);
    const times = Array.from({ length: 8 }, (_, index) => Date.now() + index);
    await Promise.all(times.map((storedAt) => storage.add(answer('a', { storedAt }))));
    expect(readdirSync(join(folder, 'cache', 'acct_1'))).toHaveLength(1);
    // Bytes that nothing has would leave no space for a second answer.
    await storage.add(answer('b'));
    const found = ['a', 'b'].map((name) => storage.find('acct_1', keyOf(name)));
    expect((await Promise.all(found)).map((one) => one !== undefined)).toEqual([true, true]);
  });

  it('keeps the order of use in the next process, and takes nothing larger than the size', async () => {
    const folder = temporaryFolder();
    const before = await open(() => TWO, folder);
    await before.add(answer('a'));
    await before.add(answer('large', { text: `{\n${'x'.repeat(TWO)}\n}\n` }));
    await before.add(answer('b', { model: 'n' }));
    await before.add(answer('c'));
    nextMillisecond();
    await before.touch('acct_1', keyOf('a'));
    const after = await open(() => TWO, folder);
    await after.add(answer('d'));
    const found = ['a', 'b', 'c', 'd', 'large'].map((name) => after.find('acct_1', keyOf(name)));
    const kept = (await Promise.all(found)).map((one) => one !== undefined);
    expect(kept).toEqual([true, true, false, true, false]);
    expect(readdirSync(join(folder, 'cache', 'acct_1'))).toHaveLength(3);
  });
});

describeWithPostgres('a table', (server) => {
  passesFor(async () => {
    const store = await postgresDriver(server).open(temporaryFolder());
    onTestFinished(() => store.close());
    return store.cache!;
  });
});
