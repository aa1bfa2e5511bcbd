import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as disk from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { diskFiles, type Files } from '../../../src/store/files.ts';
import type { Store } from '../../../src/store/store.ts';
import { contentBelow } from '../../cli/folder.ts';
import { temporaryFolder } from '../../oriel.ts';
import { findInconsistencies } from '../consistency.ts';
import { type Hook, hookedFiles, systemError } from '../hooked-files.ts';
import { owner, taskFor } from '../records.ts';
import { copyAsCrashed } from './crash-copy.ts';

const unavailable = { name: 'Failure', status: 503, code: 'store_unavailable' };

/** A store on a disk whose operations call `disk.hook`. */
async function onDisk(journalLimit = 16 * 2 ** 20) {
  const directory = join(temporaryFolder(), 'store');
  const disk: { hook: Hook } = { hook: () => {} };
  const files = hookedFiles((...args) => disk.hook(...args));
  const store = await openLowdbStore({ directory, files, journalLimit });
  onTestFinished(() => store.close());
  return { directory, disk, store, ...(await owner(store, 100)) };
}

describe('a segment of the archive with a flipped bit in a page of keys', () => {
  it('is named, answers as before, and is written again by a checkpoint', async () => {
    const directory = temporaryFolder();
    const faults: string[] = [];
    const open = () =>
      openLowdbStore({
        directory,
        journalLimit: 3000,
        onFault: (error) => faults.push((error as Error).message),
      });
    const first = await open();
    const { account, key } = await owner(first, 0);
    const segments = () =>
      readdirSync(join(directory, 'archive')).map((name) => join(directory, 'archive', name));
    const known: (readonly [string, string])[] = [];
    const end = async (store: Store) => {
      const idempotency = { key: `order-${known.length}`, fingerprint: 'abc' };
      const { task } = await store.createTask(taskFor(key, { reservation: 0, idempotency }));
      await store.expireTask(task);
      known.push([task.id, idempotency.key]);
    };
    for (let count = 0; count < 20; count += 1) await end(first);
    await first.close();
    const damaged = segments();
    expect(damaged).not.toEqual([]);
    for (const path of damaged) {
      const bytes = readFileSync(path);
      // Between the directory and the footer, in a segment of at most one page of each.
      const at = bytes.lastIndexOf('{"store"') - 4096 + 3;
      bytes[at]! ^= 1;
      writeFileSync(path, bytes);
    }
    const again = await open();
    expect(await again.findTask(account.id, 'task_unknown')).toBeUndefined();
    for (const [id, orderKey] of [...known]) {
      expect(await again.findTask(account.id, id)).toMatchObject({ id });
      const idempotency = { key: orderKey, fingerprint: 'abc' };
      const repeated = await again.createTask(taskFor(key, { reservation: 0, idempotency }));
      expect(repeated.task.id).toBe(id);
    }
    expect(faults).toHaveLength(damaged.length);
    for (const path of damaged) {
      expect(faults).toContainEqual(expect.stringContaining(`${path}, byte `));
    }
    while (segments().some((path) => damaged.includes(path))) await end(again);
    await again.close();
    faults.length = 0;
    const third = await open();
    for (const [id] of known) expect(await third.findTask(account.id, id)).toMatchObject({ id });
    await third.close();
    expect(faults).toEqual([]);
  });
});

describe('a new journal whose folder could not be synced', () => {
  it.each([
    ['has its name after a power cut', () => {}],
    ['lost its name in a power cut', (journal: string) => rmSync(journal)],
  ])('%s, and the store opens with all records', async (_, cut) => {
    const { directory, disk, store, account } = await onDisk(1000);
    let failures = 0;
    disk.hook = (operation, path) => {
      if (operation !== 'sync' || !path.endsWith('/journal')) return;
      failures += 1;
      throw systemError('EIO');
    };
    let granted = 100;
    while (failures === 0) {
      await store.grant(account.id, 1);
      granted += 1;
    }
    for (let more = 0; more < 2; more += 1) await store.grant(account.id, 1);
    const copy = copyAsCrashed(directory);
    expect(readdirSync(join(copy, 'journal'))).toEqual(['00000001.journal', '00000002.journal']);
    cut(join(copy, 'journal', '00000002.journal'));
    for (let time = 0; time < 2; time += 1) {
      const again = await openLowdbStore({ directory: copy, journalLimit: 1000 });
      expect(await again.findAccount(account.id)).toMatchObject({ granted: granted + 2 + time });
      expect(await findInconsistencies(again)).toEqual([]);
      await again.grant(account.id, 1);
      await again.close();
    }
  });
});

describe('a failed write that could not be truncated', () => {
  it('is not replayed after the store was closed', async () => {
    const directory = temporaryFolder();
    let isFailing = false;
    // The bytes reach the file, but the call fails.
    const files: Files = {
      ...diskFiles,
      open: async (...args) => {
        const handle = await disk.open(...args);
        const write = handle.write.bind(handle) as (...all: unknown[]) => Promise<unknown>;
        const truncate = handle.truncate.bind(handle);
        return Object.assign(handle, {
          write: async (...all: unknown[]) => {
            const written = await write(...all);
            if (isFailing) throw systemError('EIO');
            return written;
          },
          truncate: async (length: number) => {
            if (isFailing) throw systemError('EIO');
            return truncate(length);
          },
        });
      },
    };
    const store = await openLowdbStore({ directory, files });
    const { account } = await owner(store, 100);
    isFailing = true;
    await expect(store.grant(account.id, 5)).rejects.toMatchObject(unavailable);
    await store.close();
    for (const granted of [100, 107]) {
      const again = await openLowdbStore({ directory });
      expect(await again.findAccount(account.id)).toMatchObject({ granted });
      expect(await findInconsistencies(again)).toEqual([]);
      await again.grant(account.id, 7);
      await again.close();
    }
  });
});

describe('a store that is open', () => {
  it('rejects writes while its folder is renamed', async () => {
    const { directory, store, account, key } = await onDisk();
    renameSync(directory, `${directory}.away`);
    await expect(store.grant(account.id, 5)).rejects.toMatchObject(unavailable);
    const task = taskFor(key, { reservation: 1 });
    await expect(store.createTask(task)).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('00000001.journal was moved or deleted'),
    });
    renameSync(`${directory}.away`, directory);
    expect(await store.grant(account.id, 6)).toMatchObject({ granted: 106 });
    expect(await findInconsistencies(store)).toEqual([]);
  });

  it('rejects writes after its folder was deleted', async () => {
    const { directory, store, account } = await onDisk();
    rmSync(directory, { recursive: true });
    await expect(store.grant(account.id, 5)).rejects.toMatchObject(unavailable);
    expect(await store.findAccount(account.id)).toMatchObject({ granted: 100 });
  });

  it('rejects writes after another process has changed its journal', async () => {
    const { directory, store, account } = await onDisk();
    appendFileSync(join(directory, 'journal', '00000001.journal'), 'x');
    await expect(store.grant(account.id, 5)).rejects.toMatchObject(unavailable);
  });

  it.each([
    [
      'replaced',
      (from: string, to: string) => {
        rmSync(to, { recursive: true });
        cpSync(from, to, { recursive: true });
      },
    ],
    [
      'overwritten',
      (from: string, to: string) => {
        const name = join('journal', '00000001.journal');
        cpSync(join(from, name), join(to, name));
      },
    ],
  ])('rejects writes after its files were %s', async (_, change) => {
    const { directory, store, account } = await onDisk();
    const backup = copyAsCrashed(directory);
    await store.grant(account.id, 1);
    change(backup, directory);
    const after = contentBelow(directory);
    after.delete('lock');
    await expect(store.grant(account.id, 5)).rejects.toMatchObject(unavailable);
    await expect(store.grant(account.id, 5)).rejects.toMatchObject(unavailable);
    await store.close();
    const left = contentBelow(directory);
    left.delete('lock');
    expect(left).toEqual(after);
  });
});
