import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownActor } from '../../src/administration/actor.ts';
import { Failure } from '../../src/failure.ts';
import { AuditActs } from '../../src/store/audit/acts.ts';
import type { AuditEntry } from '../../src/store/audit/entry.ts';
import { AuditLog, type AuditLogOptions } from '../../src/store/audit/log.ts';
import { readAudit } from '../../src/store/audit/read.ts';
import { diskFiles } from '../../src/store/files.ts';

let folder = '';
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'oriel-test-')), 'audit');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const who = ownActor();
const open = (options: Partial<AuditLogOptions> = {}) =>
  AuditLog.open({ folder, self: who, ...options });
const line = (object: string) => ({ act: 'test.act', who, result: 'done' as const, object });

async function write(count: number, options: Partial<AuditLogOptions> = {}): Promise<void> {
  const log = await open(options);
  for (let index = 0; index < count; index += 1) await log.append(line(`object ${index}`));
  await log.close();
}

async function read(): Promise<{ entries: AuditEntry[]; faults: string[] }> {
  const entries: AuditEntry[] = [];
  const faults: string[] = [];
  for await (const item of readAudit(folder)) {
    if ('fault' in item) faults.push(item.fault);
    else entries.push(item.entry);
  }
  return { entries, faults };
}

const files = () => readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
const pathOf = (index = -1) => join(folder, files().at(index)!);
const linesIn = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

describe('the audit log', () => {
  it('numbers and chains lines across restarts, with mode 600', async () => {
    await write(3);
    await write(2);
    const { entries, faults } = await read();
    expect(faults).toEqual([]);
    expect(entries.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    for (const path of [pathOf(), join(folder, 'head.json')]) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('writes concurrent lines one after another', async () => {
    const log = await open();
    await Promise.all(Array.from({ length: 50 }, (_, index) => log.append(line(`${index}`))));
    await log.close();
    const { entries, faults } = await read();
    expect(faults).toEqual([]);
    expect(entries.map(({ object }) => object)).toEqual(Array.from(Array(50).keys(), String));
  });

  it('reports every removed or changed line', async () => {
    await write(6, { fileSize: 900 });
    const before = files().map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
    expect(before.length).toBeGreaterThan(1);
    const restore = () => {
      for (const [name, text] of before) writeFileSync(join(folder, name), text);
    };
    for (const [name, text] of before) {
      const lines = text.trimEnd().split('\n');
      for (const index of lines.keys()) {
        const without = lines.toSpliced(index, 1);
        const changed = lines.with(index, lines[index]!.replace('object ', 'abject '));
        for (const damaged of [without, changed]) {
          writeFileSync(join(folder, name), damaged.map((one) => `${one}\n`).join(''));
          expect((await read()).faults).not.toEqual([]);
        }
      }
      rmSync(join(folder, name));
      expect((await read()).faults).not.toEqual([]);
      restore();
    }
    expect((await read()).faults).toEqual([]);
    rmSync(join(folder, 'head.json'));
    expect((await read()).faults).toEqual(['head.json is missing or damaged']);
  });

  it('reports lost lines after later ones were written', async () => {
    await write(5);
    const kept = linesIn(pathOf()).slice(0, 3);
    writeFileSync(pathOf(), `${kept.join('\n')}\n`);
    await write(2);
    const { entries, faults } = await read();
    expect(entries.map(({ number }) => number)).toEqual([1, 2, 3, 6, 7]);
    expect(faults).toEqual([expect.stringContaining('number 6 follows number 3')]);
  });

  it('cuts off an incomplete last line and records that', async () => {
    await write(2);
    appendFileSync(pathOf(), '{"number":3,"at":"20');
    expect((await read()).faults).toEqual([]);
    await write(1);
    const { entries, faults } = await read();
    expect(faults).toEqual([]);
    expect(entries.map(({ act }) => act)).toEqual([
      'test.act',
      'test.act',
      'audit.recover',
      'test.act',
    ]);
    expect(entries[2]).toMatchObject({ details: { bytes: 20 } });
  });

  it('reads files with arbitrary bytes, and appends to them', async () => {
    await write(2);
    const good = readFileSync(pathOf());
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.nat(), async (bytes, at) => {
        const damaged = Buffer.from(good);
        Buffer.from(bytes).copy(damaged, at % good.length);
        writeFileSync(pathOf(), damaged);
        await read();
        await write(1);
        expect((await read()).entries.at(-1)).toMatchObject({ object: 'object 0' });
      }),
      { numRuns: 60 },
    );
  });

  it('deletes the oldest file after a line that records it', async () => {
    await write(40, { fileSize: 900, keep: 3 });
    expect(files().length).toBe(3);
    const { entries, faults } = await read();
    expect(faults).toEqual([]);
    const first = entries[0]!.number;
    expect(first).toBeGreaterThan(20);
    const prunes = entries.filter(({ act }) => act === 'audit.prune');
    expect(prunes.at(-1)).toMatchObject({ details: { before: first } });
    rmSync(pathOf(0));
    expect((await read()).faults).toEqual([
      expect.stringMatching(/^the lines up to number \d+ are/),
    ]);
  });

  it('performs no act whose first line cannot be written, and works again afterwards', async () => {
    let isFull = false;
    const full = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    const log = await open({
      files: {
        ...diskFiles,
        rename: async (from, to) => {
          if (isFull) throw full;
          await diskFiles.rename(from, to);
        },
      },
    });
    let acts = 0;
    const act = () =>
      log.record({ act: 'test.act', who, subject: () => ({ object: 'x' }) }, async () => {
        acts += 1;
      });
    await act();
    isFull = true;
    await expect(act()).rejects.toMatchObject({ code: 'audit_unavailable', status: 503 });
    isFull = false;
    await act();
    await log.close();
    expect(acts).toBe(2);
    const { entries, faults } = await read();
    expect(faults).toEqual([]);
    expect(entries.map(({ result }) => result)).toEqual(['begun', 'done', 'begun', 'done']);
  });

  it('shows one line with the result of each act', async () => {
    const log = await open();
    const subject = (result: { id: string } | null) => ({
      object: result?.id ?? 'ci',
      details: { account: 'ci', list: Array.from({ length: 30 }, () => 'x'.repeat(400)) },
    });
    const run = (act: string, work: () => Promise<{ id: string }>) =>
      log.record({ act, who, subject }, work).catch(() => {});
    await run('keys.create', async () => ({ id: 'key_1' }));
    await run('keys.revoke', async () => {
      throw new Failure('invalid_request', 'no', { code: 'key_not_found' });
    });
    await run('accounts.grant', async () => {
      throw new TypeError('a defect');
    });
    await log.append({ act: 'keys.create', who, result: 'begun', object: 'lost' });
    await log.close();
    const { entries } = await read();
    const shown = (filter: object) => {
      const acts = new AuditActs({ from: 0, limit: 50, ...filter });
      for (const entry of entries) acts.add(entry);
      return acts.newest.map(({ act, object, result, code }) => [act, object, result, code]);
    };
    expect(shown({})).toEqual([
      ['keys.create', 'key_1', 'done', undefined],
      ['keys.revoke', 'ci', 'refused', 'key_not_found'],
      ['accounts.grant', 'ci', 'failed', 'internal_error'],
      ['keys.create', 'lost', 'unknown', undefined],
    ]);
    expect(shown({ act: 'keys', limit: 2 }).map(([, object]) => object)).toEqual(['ci', 'lost']);
    expect(shown({ account: 'ci' })).toHaveLength(3);
    expect(shown({ from: Date.now() + 60_000 })).toEqual([]);
    expect(entries[0]!.details!['list']).toHaveLength(21);
  });
});
