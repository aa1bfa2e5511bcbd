import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { encodeLine, readLine } from '../../../src/store/line.ts';
import type { Recovery } from '../../../src/store/options.ts';
import type { Store } from '../../../src/store/store.ts';
import { contentBelow } from '../../cli/folder.ts';
import { memoryFolder } from '../../oriel.ts';
import { everyTask, findInconsistencies } from '../consistency.ts';
import { unsyncedFiles } from '../hooked-files.ts';
import { completionOf, owner, taskFor } from '../records.ts';
import { copyAsCrashed } from './crash-copy.ts';

const FIRST = join('journal', '00000001.journal');

/** All that the methods of a store return. */
async function contentOf(store: Store): Promise<unknown> {
  const accounts = await store.listAccounts();
  const ledger = [];
  for (const { id } of accounts) ledger.push(await store.listLedger(id, { limit: 99 }));
  const tasks = await everyTask(store);
  return JSON.parse(JSON.stringify({ accounts, keys: await store.listKeys(), tasks, ledger }));
}

/** A journal of several batches: the end of each, and the content of the store at that time. */
async function journalled() {
  const directory = memoryFolder();
  const store = await openLowdbStore({ directory });
  const path = join(directory, FIRST);
  const ends: { length: number; state: unknown }[] = [];
  const note = async () =>
    ends.push({ length: readFileSync(path).length, state: await contentOf(store) });
  await note();
  const { key } = await owner(store, 10);
  await note();
  const { task } = await store.createTask(taskFor(key, { reservation: 4 }));
  await note();
  const claim = (await store.claimTask(task.id))!;
  await note();
  await store.completeTask(claim, completionOf({ charge: 3 }));
  await note();
  const crashed = copyAsCrashed(directory);
  await store.close();
  return { directory, crashed, bytes: readFileSync(path), ends };
}

/** The lines of a journal, with the offset of each. */
function linesOf(bytes: Buffer) {
  const lines: { readonly start: number; readonly payload: unknown }[] = [];
  for (let start = 0; start < bytes.length; ) {
    const { payload, end } = readLine(bytes, start)!;
    lines.push({ start, payload: JSON.parse(payload.toString()) });
    start = end;
  }
  return lines;
}

function manifestIn(directory: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(directory, 'store.json'), 'utf8'));
}

async function open(directory: string) {
  const recoveries: Recovery[] = [];
  const store = await openLowdbStore({
    directory,
    files: unsyncedFiles,
    onRecovery: (recovery) => recoveries.push(recovery),
  });
  return { store, recoveries };
}

describe('a journal', () => {
  it('truncated at any byte has all complete batches, and nothing of the others', {
    timeout: 300_000,
  }, async () => {
    const { crashed, bytes, ends } = await journalled();
    // A line without its line break is complete.
    const lines: number[] = [];
    for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 10) lines.push(at + 1);
    const path = join(crashed, FIRST);
    const manifest = join(crashed, 'store.json');
    const asCrashed = readFileSync(manifest);
    const isNearEnd = (length: number) => lines.some((end) => Math.abs(end - length) <= 2);
    for (let length = ends[0]!.length; length <= bytes.length; length += 1) {
      if (length % 9 > 0 && !isNearEnd(length)) continue;
      writeFileSync(manifest, asCrashed);
      writeFileSync(path, bytes.subarray(0, length));
      const { store, recoveries } = await open(crashed);
      const before = lines.findLast((end) => end - 1 <= length)!;
      const whole = ends.findLast((end) => end.length === before);
      // The two transactions of `owner` have no snapshot in between.
      if (whole) expect(await contentOf(store)).toEqual(whole.state);
      expect(await findInconsistencies(store)).toEqual([]);
      const cut = { file: path, offset: before, dropped: length - before };
      expect(recoveries).toMatchObject(before >= length ? [] : [cut]);
      for (const { keptIn } of recoveries) {
        expect(readFileSync(keptIn).equals(bytes.subarray(before, length))).toBe(true);
        rmSync(keptIn);
      }
      await store.close();
      expect(readFileSync(path).equals(bytes.subarray(0, before))).toBe(true);
    }
  });

  it.each([
    ['zeros', Buffer.alloc(5000)],
    ['garbage', Buffer.from('\u0000\n\nx 12 {"a":\n'.repeat(99))],
    ['a batch with a hole', Buffer.from(`12345678 00000064 [${' '.repeat(40)}\0\0\0\0\0\0]\n`)],
    ['a length beyond the end of the file', Buffer.from('12345678 ffffffff [')],
  ])('with %s at its end is truncated, and continued', async (_, tail) => {
    const { directory, bytes, ends } = await journalled();
    appendFileSync(join(directory, FIRST), tail);
    const { store, recoveries } = await open(directory);
    expect(recoveries).toMatchObject([{ offset: bytes.length, dropped: tail.length }]);
    expect(await contentOf(store)).toEqual(ends.at(-1)!.state);
    const [account] = await store.listAccounts();
    await store.grant(account!.id, 5);
    await store.close();
    const again = await open(directory);
    expect(again.recoveries).toEqual([]);
    expect(await again.store.findAccount('owner')).toMatchObject({ granted: 15 });
    await again.store.close();
  });

  it.each([
    ['of a crashed store, damaged anywhere before its last batch', 'crashed', 7],
    ['of a closed store, damaged anywhere', 'directory', 8],
  ] as const)('%s, is rejected and not changed', { timeout: 300_000 }, async (_, which, step) => {
    const { [which]: directory, bytes, ends } = await journalled();
    const last = which === 'crashed' ? ends.at(-2)!.length : bytes.length;
    const path = join(directory, FIRST);
    const others = contentBelow(directory);
    for (const name of [FIRST, 'lock']) others.delete(name);
    const starts = [0];
    for (let at = 0; at < last; at += 1) if (bytes[at] === 10) starts.push(at + 1);
    for (let at = 0; at < last; at += step) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 0x04;
      writeFileSync(path, damaged);
      const offset = starts.findLast((start) => start <= at);
      await expect(openLowdbStore({ directory, files: unsyncedFiles })).rejects.toMatchObject({
        name: 'Failure',
        code: 'store_corrupt',
        message: expect.stringContaining(`${path}, byte ${offset}: `),
      });
      expect(readFileSync(path).equals(damaged)).toBe(true);
    }
    const after = contentBelow(directory);
    for (const name of [FIRST, 'lock']) after.delete(name);
    expect(after).toEqual(others);
  });

  it('of a closed store may lack its last line break, and nothing else', async () => {
    const { directory, bytes, ends } = await journalled();
    const path = join(directory, FIRST);
    truncateSync(path, bytes.length - 1);
    const { store, recoveries } = await open(directory);
    expect(recoveries).toEqual([]);
    expect(await contentOf(store)).toEqual(ends.at(-1)!.state);
    await store.close();
    expect(readFileSync(path).equals(bytes)).toBe(true);
    for (let length = 0; length < bytes.length - 1; length += 16) {
      truncateSync(path, length);
      await expect(openLowdbStore({ directory })).rejects.toMatchObject({
        code: 'store_corrupt',
        message: expect.stringContaining(path),
      });
      writeFileSync(path, bytes);
    }
  });

  it('that lost lines since the last sync is truncated there', async () => {
    const directory = memoryFolder();
    const store = await openLowdbStore({ directory });
    const path = join(directory, FIRST);
    const { account, payer: holder } = await owner(store, 100);
    const starts: number[] = [];
    const note = async () => {
      starts.push(readFileSync(path).length);
      await store.settle(holder, { model: 'm', counts: {}, charge: 5 });
    };
    for (let n = 0; n < 3; n += 1) await note();
    const unsynced = copyAsCrashed(directory);
    const length = readFileSync(path).length;
    await store.grant(account.id, 1);
    await note();
    const synced = copyAsCrashed(directory);
    await store.close();
    for (const [at, start] of starts.slice(0, 3).entries()) {
      const end = starts[at + 1] ?? length;
      // A page that was not written before a power cut: zeros.
      for (const copy of [unsynced, synced]) {
        const place = copyAsCrashed(copy);
        const bytes = readFileSync(join(place, FIRST));
        bytes.fill(0, start, at === 2 ? length : end);
        writeFileSync(join(place, FIRST), bytes);
        if (copy === synced) {
          await expect(openLowdbStore({ directory: place })).rejects.toMatchObject({
            code: 'store_corrupt',
          });
          continue;
        }
        const { store: again, recoveries } = await open(place);
        expect(recoveries).toMatchObject([
          { file: join(place, FIRST), offset: start, dropped: length - start },
        ]);
        expect(await again.findAccount(account.id)).toMatchObject({ spent: 5 * at });
        expect(await findInconsistencies(again)).toEqual([]);
        await again.close();
      }
    }
  });

  it.each([
    ['another format', { format: 'diary', version: 1, sequence: 1 }],
    ['another sequence number', { format: 'oriel-journal', version: 1, sequence: 2 }],
    ['another store', { format: 'oriel-journal', version: 2, sequence: 1, store: 'x' }],
    ['version 1 in a store of version 2', { format: 'oriel-journal', version: 1, sequence: 1 }],
  ])('with %s in its header is rejected', async (_, header) => {
    const { directory } = await journalled();
    writeFileSync(join(directory, FIRST), encodeLine(JSON.stringify(header)));
    await expect(openLowdbStore({ directory })).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  it('without a whole line, with one twice, or with two swapped, after a crash is rejected', async () => {
    const { crashed, ends } = await journalled();
    const bytes = readFileSync(join(crashed, FIRST));
    const starts = [...linesOf(bytes).map(({ start }) => start), bytes.length];
    const lines = starts.slice(1).map((end, at) => bytes.subarray(starts[at], end));
    expect(lines.length).toBeGreaterThan(ends.length);
    for (const [at, line] of lines.entries()) {
      const isLast = at === lines.length - 1;
      const twice = lines.toSpliced(at, 0, line);
      const swapped = lines.toSpliced(at, 2, ...lines.slice(at, at + 2).reverse());
      const without = lines.toSpliced(at, 1);
      const cuts = at === 0 ? [swapped] : [swapped, without];
      for (const changed of [twice, ...(isLast ? [] : cuts)]) {
        const place = copyAsCrashed(crashed);
        const content = Buffer.concat(changed);
        writeFileSync(join(place, FIRST), content);
        const where = changed === without ? `byte ${starts[at]}: ` : 'byte ';
        await expect(openLowdbStore({ directory: place })).rejects.toMatchObject({
          code: 'store_corrupt',
          message: expect.stringContaining(`${join(place, FIRST)}, ${where}`),
        });
        expect(readFileSync(join(place, FIRST))).toEqual(content);
      }
    }
  });

  it('without a charge whose sync a power cut may prevent is rejected: it does not move later ones', async () => {
    const directory = memoryFolder();
    const store = await openLowdbStore({ directory });
    const { payer: holder } = await owner(store, 100);
    const length = readFileSync(join(directory, FIRST)).length;
    for (let charge = 1; charge <= 3; charge += 1) {
      await store.settle(holder, { model: 'm', counts: {}, charge });
    }
    const place = copyAsCrashed(directory);
    await store.close();
    const charged = readFileSync(join(place, FIRST));
    const { start } = linesOf(charged).find((line) => line.start > length)!;
    const cut = Buffer.concat([charged.subarray(0, length), charged.subarray(start)]);
    writeFileSync(join(place, FIRST), cut);
    await expect(openLowdbStore({ directory: place })).rejects.toMatchObject({
      code: 'store_corrupt',
    });
  });

  it('of the version before batches named their predecessors is replayed, and ended', async () => {
    const { crashed, ends } = await journalled();
    onTestFinished(() => rmSync(`${crashed}.version-2`, { recursive: true, force: true }));
    const path = join(crashed, FIRST);
    const [header, ...batches] = linesOf(readFileSync(path)).map(({ payload }) => payload);
    const former = [
      { ...(header as object), version: 2 },
      ...batches.map((batch) => (batch as readonly unknown[])[1]),
    ].map((payload) => encodeLine(JSON.stringify(payload)));
    writeFileSync(path, Buffer.concat(former));
    const extent = {
      sequence: 1,
      length: former[0]!.length,
      checksum: crc32(former[0]!),
      isFinal: false,
    };
    const { checksum: _, ...manifest } = manifestIn(crashed);
    const content = { ...manifest, version: 2, journal: extent };
    const checksum = crc32(JSON.stringify(content));
    writeFileSync(join(crashed, 'store.json'), JSON.stringify({ ...content, checksum }));
    for (let start = 0; start < 2; start += 1) {
      const { store } = await open(crashed);
      expect(await contentOf(store)).toEqual(ends.at(-1)!.state);
      await store.close();
      expect(readFileSync(path)).toEqual(Buffer.concat(former));
      expect(readdirSync(join(crashed, 'journal'))).toHaveLength(2);
      expect(manifestIn(crashed)).toMatchObject({ version: 3, journal: { sequence: 2 } });
    }
  });

  it.each(['store.json', FIRST])('of a later program is refused by %s first', async (file) => {
    const { directory } = await journalled();
    const path = join(directory, file);
    const newer =
      file === FIRST
        ? encodeLine(JSON.stringify({ format: 'oriel-journal', version: 9 }))
        : JSON.stringify({ format: 'oriel-store', version: 9 });
    writeFileSync(path, newer);
    await expect(openLowdbStore({ directory })).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringContaining(`${path} has version 9`),
    });
  });

  it('takes many transactions in few writes', async () => {
    const directory = memoryFolder();
    const commits: number[] = [];
    const store = await openLowdbStore({
      directory,
      onCommit: ({ transactions, bytes, milliseconds }) => {
        expect(bytes).toBeGreaterThan(0);
        expect(milliseconds).toBeGreaterThanOrEqual(0);
        commits.push(transactions);
      },
    });
    const { key } = await owner(store);
    await Promise.all(Array.from({ length: 64 }, () => store.createTask(taskFor(key))));
    // The first transactions, and then all that were made during their write.
    expect(commits).toEqual([1, 1, 8, 56]);
    expect(readdirSync(join(directory, 'journal'))).toEqual(['00000001.journal']);
    await store.close();
  });
});
