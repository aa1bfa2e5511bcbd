import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { temporaryFolder } from '../../oriel.ts';
import { contender, expectOneWinner } from './lock-contender.ts';

const hooks = vi.hoisted(() => ({ unsupported: false }));
vi.mock('../../../src/libc.ts', async (original) => {
  const libc = await original<typeof import('../../../src/libc.ts')>();
  return {
    ...libc,
    lockDescriptor: (descriptor: number) =>
      hooks.unsupported ? 'unsupported' : libc.lockDescriptor(descriptor),
  };
});
afterEach(() => {
  hooks.unsupported = false;
});

const EMPTY_STORE = ['journal', 'lock', 'shards', 'store.json'];

/** A closed store, and the owner that this process would write without kernel locks. */
async function closedStore() {
  const directory = temporaryFolder();
  const path = join(directory, 'lock');
  const store = await openLowdbStore({ directory });
  const { kernel, ...owner } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  expect(kernel).toBe(true);
  await store.close();
  return { directory, path, owner };
}

describe('the lock of a store', () => {
  it('keeps a second process out, and names the first', async () => {
    const directory = temporaryFolder();
    const store = await openLowdbStore({ directory });
    const other = await contender(directory);
    other.proceed();
    const said = await other.readLine();
    expect(said).toContain('store_locked');
    expect(said).toContain(`process ${process.pid} is using this store`);
    await expect(openLowdbStore({ directory })).rejects.toMatchObject({
      name: 'Failure',
      code: 'store_locked',
      status: 503,
    });
    await store.close();
    const third = await contender(directory);
    third.proceed();
    expect(await third.readLine()).toBe('open');
    await expect(openLowdbStore({ directory })).rejects.toMatchObject({
      message: expect.stringContaining(`process ${third.child.pid} `),
    });
    third.proceed();
    expect(await third.readLine()).toBe('closed');
    await (await openLowdbStore({ directory })).close();
  });

  it('keeps processes of other pid namespaces out', async (context) => {
    const within = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
    if (spawnSync(within[0]!, [...within.slice(1), 'true']).status !== 0) {
      context.skip('unshare --pid is not allowed here');
    }
    const directory = temporaryFolder();
    const store = await openLowdbStore({ directory });
    const inside = await contender(directory, { within });
    inside.proceed();
    expect(await inside.readLine()).toContain('store_locked');
    await store.close();
    const holder = await contender(directory, { within });
    holder.proceed();
    expect(await holder.readLine()).toBe('open');
    await expect(openLowdbStore({ directory })).rejects.toMatchObject({
      message: expect.stringContaining('process 1 '),
    });
    const neighbour = await contender(directory, { within });
    neighbour.proceed();
    expect(await neighbour.readLine()).toContain('store_locked');
    holder.proceed();
    expect(await holder.readLine()).toBe('closed');
    await (await openLowdbStore({ directory })).close();
  });

  it('of a killed process is free at once', async () => {
    const directory = temporaryFolder();
    const first = await contender(directory);
    first.proceed();
    expect(await first.readLine()).toBe('open');
    await first.kill();
    expect(readFileSync(join(directory, 'lock'), 'utf8')).toContain(`"pid":${first.child.pid}`);
    await (await openLowdbStore({ directory })).close();
    expect(readdirSync(directory).sort()).toEqual(EMPTY_STORE);
  });

  it('is not inherited by children of a killed process', async () => {
    const directory = temporaryFolder();
    const first = await contender(directory, { mode: 'child' });
    first.proceed();
    const child = Number((await first.readLine()).split(' ')[1]);
    onTestFinished(() => {
      process.kill(child, 'SIGKILL');
    });
    await first.kill();
    expect(process.kill(child, 0)).toBe(true);
    await (await openLowdbStore({ directory })).close();
  });

  it('remains while its file is removed', async () => {
    const directory = temporaryFolder();
    const store = await openLowdbStore({ directory });
    rmSync(join(directory, 'lock'));
    const other = await contender(directory);
    other.proceed();
    expect(await other.readLine()).toContain('store_locked');
    await store.close();
  });

  it('leaves an empty file when it is released', async () => {
    const { directory, path } = await closedStore();
    const { ino, size } = statSync(path);
    expect(size).toBe(0);
    await (await openLowdbStore({ directory })).close();
    expect(statSync(path).ino).toBe(ino);
  });

  it('is released when a store could not be opened', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'checkpoint.json'), '');
    for (let time = 0; time < 2; time += 1) {
      await expect(openLowdbStore({ directory })).rejects.toMatchObject({ code: 'store_corrupt' });
    }
    expect(readdirSync(directory)).toEqual(['checkpoint.json', 'lock']);
  });

  it.each(['', 'null', '{}', '12345', '{"pid":"1","token":"../x"}', '{"pid":'])(
    'does not depend on the content of its file: %j',
    async (text) => {
      const { directory, path } = await closedStore();
      writeFileSync(path, text);
      await (await openLowdbStore({ directory })).close();
    },
  );

  it('without kernel locks is respected while its process lives', async () => {
    const { directory, path, owner } = await closedStore();
    const text = JSON.stringify(owner);
    writeFileSync(path, text);
    await expect(openLowdbStore({ directory })).rejects.toMatchObject({ code: 'store_locked' });
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('is acquired by one of six processes', async () => {
    const directory = temporaryFolder();
    await expectOneWinner(directory);
  });

  it('is acquired by one of eight calls in a process', async () => {
    const directory = temporaryFolder();
    for (let round = 0; round < 20; round += 1) {
      const tries = await Promise.allSettled(
        Array.from({ length: 8 }, () => openLowdbStore({ directory })),
      );
      const open = tries.flatMap((tried) => (tried.status === 'fulfilled' ? [tried.value] : []));
      expect(open).toHaveLength(1);
      await open[0]!.close();
    }
    expect(readdirSync(directory).sort()).toEqual(EMPTY_STORE);
  });

  it('falls back to the pid without kernel locks, and reports that', async () => {
    const directory = temporaryFolder();
    hooks.unsupported = true;
    let fallbacks = 0;
    const onLockFallback = () => {
      fallbacks += 1;
    };
    for (let time = 0; time < 2; time += 1) {
      const store = await openLowdbStore({ directory, onLockFallback });
      await expect(openLowdbStore({ directory })).rejects.toMatchObject({ code: 'store_locked' });
      await store.close();
    }
    expect(fallbacks).toBe(2);
    // A process with kernel locks leaves an empty file.
    hooks.unsupported = false;
    await (await openLowdbStore({ directory })).close();
    hooks.unsupported = true;
    await (await openLowdbStore({ directory })).close();
  });
});
