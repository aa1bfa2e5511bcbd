import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'tinyglobby';
import { describe, expect, it } from 'vitest';
import { RequestFolder } from '../../../src/store/drivers/lowdb/requests/request-folder.ts';
import { diskFiles } from '../../../src/store/files.ts';
import type { NewRequest } from '../../../src/store/requests/record.ts';
import { RequestLog } from '../../../src/store/requests/request-log.ts';
import { temporaryFolder } from '../../oriel.ts';
import { requestOf } from '../conformance/requests.ts';
import { hookedFiles, systemError } from '../hooked-files.ts';

function open(folder: string, files = diskFiles) {
  return new RequestLog(new RequestFolder(files, folder));
}

async function addAll(log: RequestLog, requests: readonly NewRequest[]): Promise<void> {
  for (const request of requests) log.add(request);
  await log.flush();
}

async function idsIn(log: RequestLog): Promise<string[]> {
  return (await log.query({}, { limit: 10_000 })).records.map(({ id }) => id);
}

const filesIn = (folder: string) => globSync('**', { cwd: folder, absolute: true, dot: true });
const bytesIn = (folder: string) => filesIn(folder).map((file) => readFileSync(file, 'latin1'));

describe('deleted requests', () => {
  it.each([
    ['requests', false],
    ['bodies alone', true],
  ])('leave no bytes in any file: %s', async (_, onlyBodies) => {
    const folder = temporaryFolder();
    const log = open(folder);
    const bodies = { request: 'secret-prompt', answer: 'secret-answer' };
    const mine = { account: { id: 'mine', name: 'secret-name' } };
    for (let turn = 0; turn < 3; turn += 1) {
      await addAll(log, [
        requestOf(`kept ${turn}`, { bodies: { request: 'kept-body', answer: null } }),
        requestOf(`gone ${turn}`, { ...mine, bodies }),
      ]);
    }
    // In the middle of the writes of others.
    log.add(requestOf('late'));
    const removed = log.remove({ accountId: 'mine' }, onlyBodies);
    log.add(requestOf('later'));
    expect(await removed).toBe(3);
    const ids = await idsIn(log);
    expect(ids).toEqual(expect.arrayContaining(['kept 0', 'kept 1', 'kept 2', 'late', 'later']));
    expect(ids).toHaveLength(onlyBodies ? 8 : 5);
    const texts = bytesIn(folder).join();
    expect(texts).not.toMatch(onlyBodies ? /secret-(?!name)/ : /secret-/);
    expect(texts.match(/kept-body/g)).toHaveLength(3);
    await log.close();
  });
});

describe('a full disk', () => {
  it('loses no request that fits into the memory, and leaves whole lines', async () => {
    const folder = temporaryFolder();
    let isFull = false;
    const files = hookedFiles((operation) => {
      if (isFull && operation !== 'unlink') throw systemError('ENOSPC');
    });
    const log = open(folder, files);
    const faults: unknown[] = [];
    let lost = 0;
    log.observer = { onFault: (error) => faults.push(error), onLost: () => (lost += 1) };
    await addAll(log, [requestOf('before')]);
    isFull = true;
    const large = { request: 'x'.repeat(1024 * 1024), answer: null };
    const during = Array.from({ length: 6 }, (_, at) =>
      requestOf(`during ${at}`, { bodies: large }),
    );
    await addAll(log, during);
    expect(faults.length).toBeGreaterThan(0);
    expect(lost).toBe(3);
    // The disk has taken a part of a line before it was full.
    const [newest] = filesIn(folder);
    appendFileSync(newest!, '{"number":17,"id":"torn');
    isFull = false;
    await addAll(log, [requestOf('after')]);
    const expected = ['after', 'during 2', 'during 1', 'during 0', 'before'];
    expect(await idsIn(log)).toEqual(expected);
    await log.close();
    const again = open(folder);
    expect(await idsIn(again)).toEqual(expected);
    await again.close();
  });
});

it('a failed write of records does not write their bodies again', async () => {
  const folder = temporaryFolder();
  let isFull = true;
  const files = hookedFiles((operation, path) => {
    if (isFull && operation === 'write' && !path.includes('bodies')) throw systemError('ENOSPC');
  });
  const log = open(folder, files);
  log.observer = { onFault() {}, onLost() {} };
  log.add(requestOf('one', { bodies: { request: 'the-only-body', answer: null } }));
  for (let attempt = 0; attempt < 3; attempt += 1) await log.flush();
  isFull = false;
  await addAll(log, [requestOf('two')]);
  const { records } = await log.query({}, { limit: 9 });
  expect(records.map(({ id }) => id)).toEqual(['two', 'one']);
  expect(await log.bodiesOf(records[1]!)).toMatchObject({ request: 'the-only-body' });
  expect(
    bytesIn(folder)
      .join()
      .match(/the-only-body/g),
  ).toHaveLength(1);
  await log.close();
});

describe('files', () => {
  it.each([
    ['ends in the middle of a line', '{"number":1795000000000001,"id":"torn'],
    ['ends with zeros', '\0'.repeat(5000)],
    ['has a line that is no JSON', '{"number":1795000000000001,}\n'],
  ])('of a crash are read: the newest %s', async (_, end) => {
    const folder = temporaryFolder();
    const log = open(folder);
    await addAll(log, [requestOf('one'), requestOf('two')]);
    await log.close();
    appendFileSync(filesIn(folder)[0]!, end);
    writeFileSync(join(folder, '1795000000000000.jsonl.new'), 'a deletion that was interrupted');
    writeFileSync(join(folder, 'notes.txt'), 'of someone else');
    const again = open(folder);
    await addAll(again, [requestOf('three')]);
    expect(await idsIn(again)).toEqual(['three', 'two', 'one']);
    expect(filesIn(folder).some((file) => file.endsWith('.new'))).toBe(false);
    await again.close();
  });

  it('with lines longer than what is read at once are read whole', async () => {
    const log = open(temporaryFolder());
    const text = (at: number) => String(at % 10).repeat(at * 100_000 + 1);
    const bodies = Array.from({ length: 8 }, (_, at) => ({ request: text(at), answer: null }));
    for (const [at, one] of bodies.entries())
      await addAll(log, [requestOf(`${at}`, { bodies: one })]);
    const { records } = await log.query({}, { limit: 8 });
    const found = await Promise.all(records.map((record) => log.bodiesOf(record)));
    expect(found.map((one) => one?.request.length)).toEqual(
      bodies.toReversed().map(({ request }) => request.length),
    );
    await log.close();
  });

  it('beyond the size of the log are deleted, the oldest first and bodies before records', async () => {
    const folder = temporaryFolder();
    const log = open(folder);
    const large = { request: 'x'.repeat(9 * 2 ** 18), answer: null };
    for (let at = 0; at < 12; at += 1) await addAll(log, [requestOf(`${at}`, { bodies: large })]);
    await log.trim({ before: 0, bodiesBefore: 0, maxBytes: 10 * 2 ** 20 });
    const { records } = await log.query({}, { limit: 20 });
    expect(records).toHaveLength(12);
    expect(await log.bodiesOf(records.at(-1)!)).toBeUndefined();
    expect(await log.bodiesOf(records[0]!)).toBeDefined();
    expect(bytesIn(folder).join('').length).toBeLessThan(10 * 2 ** 20);
    await log.close();
  });

  it('of a clock that was set back keep the order', async () => {
    const folder = temporaryFolder();
    const first = open(folder);
    await addAll(first, [requestOf('one', { at: 2e12 })]);
    await first.close();
    const log = open(folder);
    await addAll(log, [requestOf('two', { at: 1e12 }), requestOf('three', { at: 1e12 })]);
    expect(await idsIn(log)).toEqual(['three', 'two', 'one']);
    await log.close();
  });

  it('of another kind in the way are a fault, and no crash', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, `${requestOf('').record.ended_ms * 1000}.jsonl`));
    const log = open(folder);
    const faults: unknown[] = [];
    log.observer = { onFault: (error) => faults.push(error), onLost() {} };
    await addAll(log, [requestOf('one')]);
    expect(faults).toHaveLength(1);
    await log.close();
  });
});
