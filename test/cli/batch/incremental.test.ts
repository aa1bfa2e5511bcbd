import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileRecord } from '../../../src/operations/batch/batch-record.ts';
import { oriel, type Run, temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { linesOf } from '../document.ts';
import { bytesBelow, contentBelow, filesBelow, folderWith } from '../folder.ts';
import { photograph, writeDifferent } from '../photographs.ts';

const resident = residentCommand();

const WEBP = words`convert --format webp -r in --out out --incremental`;

/** What became of each file: made, restored from the cache, unchanged, would change, or an error code. */
function fates(run: Run): [string, string][] {
  return linesOf(run).map(({ inputFilename, status, reason, error, cached }: FileRecord) => [
    inputFilename,
    error?.code ?? reason?.code ?? (cached ? 'cached' : status),
  ]);
}

const lines = async (args: readonly string[], cwd: string) => {
  const run = await resident([...args, '--jsonl'], { cwd });
  return fates(run);
};

const kinds = async (args: readonly string[], cwd: string) => {
  return (await lines(args, cwd)).map(([, fate]) => fate);
};

describe('--incremental', () => {
  it('does nothing in the second run, and says so in the totals', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/sub/b.png');
    const first = await lines(WEBP, cwd);
    expect(first).toEqual([
      ['in/a.jpg', 'succeeded'],
      ['in/sub/b.png', 'succeeded'],
    ]);
    const made = contentBelow(join(cwd, 'out'));
    const before = filesBelow(join(cwd, 'out')).map((name) => statSync(join(cwd, 'out', name)).ino);
    const second = await resident(WEBP, { cwd });
    expect(second).toMatchObject({ status: 0, out: '' });
    expect(second.stderr).toMatch(/^0 of 2 files done, 2 unchanged in /);
    expect(contentBelow(join(cwd, 'out'))).toEqual(made);
    const after = filesBelow(join(cwd, 'out')).map((name) => statSync(join(cwd, 'out', name)).ino);
    expect(after).toEqual(before);
    expect(readdirSync(join(cwd, '.oriel-cache')).sort()).toEqual([
      '.gitignore',
      'CACHEDIR.TAG',
      'index-1.log',
      'objects',
    ]);
  });

  it('reports an unchanged output with its size, pixels and hash', async () => {
    const cwd = await folderWith('in/a.jpg');
    const [made] = linesOf(await resident([...WEBP, '--jsonl'], { cwd }));
    const [kept] = linesOf(await resident([...WEBP, '--jsonl'], { cwd }));
    expect(kept).toEqual({
      ...made,
      status: 'skipped',
      reason: { code: 'unchanged', message: 'unchanged' },
    });
  });

  it('makes outputs again that were removed, changed or truncated', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png', 'in/c.png');
    await lines(WEBP, cwd);
    const made = contentBelow(join(cwd, 'out'));
    rmSync(join(cwd, 'out/a.webp'));
    const changed = readFileSync(join(cwd, 'out/b.webp'));
    changed[20]! ^= 1;
    const { atime, mtime } = statSync(join(cwd, 'out/b.webp'));
    writeFileSync(join(cwd, 'out/b.webp'), changed);
    utimesSync(join(cwd, 'out/b.webp'), atime, mtime);
    truncateSync(join(cwd, 'out/c.webp'), 3);
    expect(await kinds(WEBP, cwd)).toEqual(Array(3).fill('cached'));
    expect(contentBelow(join(cwd, 'out'))).toEqual(made);
  });

  it('does a changed source again, also with its size and modification time restored', async () => {
    const cwd = await folderWith('in/a.png', 'in/b.png');
    await lines(WEBP, cwd);
    const path = join(cwd, 'in/a.png');
    const { atime, mtime, size } = statSync(path);
    const other = Buffer.alloc(size);
    const fresh = await photograph('png', { seed: 5 });
    fresh.copy(other);
    writeFileSync(path, other);
    utimesSync(path, atime, mtime);
    expect(statSync(path)).toMatchObject({ size, mtime });
    expect(await lines(WEBP, cwd)).toEqual([
      ['in/a.png', 'succeeded'],
      ['in/b.png', 'unchanged'],
    ]);
    // A file with older times that replaces it is a change too.
    const older = join(cwd, 'older');
    writeFileSync(older, await photograph('png', { seed: 6 }));
    utimesSync(older, 0, 0);
    renameSync(older, path);
    expect((await lines(WEBP, cwd))[0]).toEqual(['in/a.png', 'succeeded']);
  });

  it('hashes a source whose times alone changed, and does nothing', async () => {
    const cwd = await folderWith('in/a.jpg');
    await lines(WEBP, cwd);
    utimesSync(join(cwd, 'in/a.jpg'), new Date(), new Date());
    expect(await lines(WEBP, cwd)).toEqual([['in/a.jpg', 'unchanged']]);
  });

  it('does all files again with another option, and neither with the first ones', async () => {
    const cwd = await folderWith('in/a.jpg');
    await lines(WEBP, cwd);
    const first = contentBelow(join(cwd, 'out'));
    expect(await lines([...WEBP, '--quality', '20'], cwd)).toEqual([['in/a.jpg', 'succeeded']]);
    expect(contentBelow(join(cwd, 'out'))).not.toEqual(first);
    expect(await lines(WEBP, cwd)).toEqual([['in/a.jpg', 'cached']]);
    expect(contentBelow(join(cwd, 'out'))).toEqual(first);
  });

  it('optimizes PNG again once zopflipng is installed, where the effort asks for it', async () => {
    const cwd = await folderWith('in/a.png');
    const programs = temporaryFolder();
    for (const name of ['prlimit', 'setsid', 'setpriv']) {
      const found = process.env['PATH']!.split(delimiter).map((folder) => join(folder, name));
      symlinkSync(found.find(existsSync) ?? '/bin/true', join(programs, name));
    }
    // PATH is searched once in a process.
    const fate = async (effort: number) => {
      const args = words`optimize in/a.png --out out --incremental --jsonl --effort ${effort}`;
      return fates(await oriel(args, { cwd, env: { PATH: programs } }))[0]![1];
    };
    expect([await fate(9), await fate(9)]).toEqual(['succeeded', 'unchanged']);
    symlinkSync('/bin/false', join(programs, 'zopflipng'));
    expect([await fate(9), await fate(9)]).toEqual(['succeeded', 'unchanged']);
    rmSync(join(cwd, 'out'), { recursive: true });
    expect(await fate(6)).toBe('succeeded');
    rmSync(join(programs, 'zopflipng'));
    expect(await fate(6)).toBe('unchanged');
  });

  it('restores all outputs from a copied cache beside a fresh checkout', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png');
    await lines(WEBP, cwd);
    const checkout = await folderWith('in/a.jpg', 'in/b.png');
    cpSync(join(cwd, '.oriel-cache'), join(checkout, '.oriel-cache'), { recursive: true });
    expect(await kinds(WEBP, checkout)).toEqual(['cached', 'cached']);
    expect(contentBelow(join(checkout, 'out'))).toEqual(contentBelow(join(cwd, 'out')));
    expect(await kinds(WEBP, checkout)).toEqual(['unchanged', 'unchanged']);
  });

  it('replaces no file that it did not make, and takes over one with the same content', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png');
    await lines(WEBP, cwd);
    rmSync(join(cwd, '.oriel-cache'), { recursive: true });
    writeFileSync(join(cwd, 'out/b.webp'), 'mine');
    expect(await lines(WEBP, cwd)).toEqual([
      ['in/a.jpg', 'unchanged'],
      ['in/b.png', 'output_exists'],
    ]);
    expect(readFileSync(join(cwd, 'out/b.webp'), 'utf8')).toBe('mine');
    expect((await lines([...WEBP, '--overwrite'], cwd))[1]).toEqual(['in/b.png', 'cached']);
  });

  it('takes its outputs for no inputs, whatever their names', async () => {
    const cwd = await folderWith('a.jpg');
    const beside = words`resize --width 20 -r . --incremental`;
    const named = words`${beside} --name {name}-{width}.{ext} --format png`;
    expect(await lines(named, cwd)).toEqual([['a.jpg', 'succeeded']]);
    expect(await lines(named, cwd)).toEqual([['a.jpg', 'unchanged']]);
    writeFileSync(join(cwd, 'a.jpg'), await photograph('jpeg', { seed: 9 }));
    expect(await lines(named, cwd)).toEqual([['a.jpg', 'succeeded']]);
    expect(filesBelow(cwd).filter((name) => !name.includes('/'))).toEqual(['a-20.png', 'a.jpg']);
  });

  it('changes a file in place once', async () => {
    const cwd = await folderWith('a.jpg');
    const rotate = words`rotate --angle 90 a.jpg --overwrite --incremental`;
    expect(await lines(rotate, cwd)).toEqual([['a.jpg', 'succeeded']]);
    const once = contentBelow(cwd).get('a.jpg');
    expect(await lines(rotate, cwd)).toEqual([['a.jpg', 'unchanged']]);
    expect(contentBelow(cwd).get('a.jpg')).toBe(once);
  });

  it('never stores failures', async () => {
    const cwd = await folderWith('in/a.jpg');
    writeFileSync(join(cwd, 'in/bad.jpg'), 'no image');
    for (let round = 0; round < 2; round += 1) {
      const run = await resident([...WEBP, '--jsonl'], { cwd });
      expect(run.status).toBe(1);
      expect(fates(run)[1]).toEqual(['in/bad.jpg', 'unsupported_format']);
    }
    expect(await lines([...WEBP, '--max-pixels', '0.001'], cwd)).toEqual([
      ['in/a.jpg', 'image_too_large'],
      ['in/bad.jpg', 'unsupported_format'],
    ]);
  });

  it('stores reports and archives too', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png');
    const palette = words`palette -r in --cache store`;
    const [first] = linesOf(await resident([...palette, '--jsonl'], { cwd }));
    const [second] = linesOf(await resident([...palette, '--jsonl'], { cwd }));
    expect(second).toEqual({ ...first, cached: true });
    const zip = words`convert --format png -r in --cache store --zip`;
    await lines([...zip, '1.zip'], cwd);
    expect(await kinds([...zip, '2.zip'], cwd)).toEqual(['cached', 'cached']);
    const hashed = await lines(words`hash ** --cache store`, cwd);
    expect(hashed.map(([name]) => name)).toEqual(['1.zip', '2.zip', 'in/a.jpg', 'in/b.png']);
  });

  it('stores all outputs of a recipe, and restores the missing one', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png');
    const recipe = `outputs:
  - { widths: [10, 20], formats: [webp, jpeg], name: '{name}-{width}.{ext}' }
`;
    writeFileSync(join(cwd, 'r.yaml'), recipe);
    const run = words`run r.yaml -r in --out out --incremental`;
    expect(await kinds(run, cwd)).toEqual(['succeeded', 'succeeded']);
    const made = contentBelow(join(cwd, 'out'));
    expect(made.size).toBe(8);
    expect(await kinds(run, cwd)).toEqual(['unchanged', 'unchanged']);
    rmSync(join(cwd, 'out/a-20.webp'));
    expect(await lines(run, cwd)).toEqual([
      ['in/a.jpg', 'cached'],
      ['in/b.png', 'unchanged'],
    ]);
    expect(contentBelow(join(cwd, 'out'))).toEqual(made);
    writeFileSync(join(cwd, 'r.yaml'), recipe.replace('[10, 20]', '[10, 21]'));
    expect(await kinds(run, cwd)).toEqual(['succeeded', 'succeeded']);
    rmSync(join(cwd, 'out/b-21.jpg'));
    const check = await resident([...run.slice(0, -1), '--check', '--jsonl'], { cwd });
    expect([check.status, ...fates(check).map(([, fate]) => fate)]).toEqual([
      1,
      'unchanged',
      'output_missing',
    ]);
  });

  it('survives damage to index and objects', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png');
    await lines(WEBP, cwd);
    const made = contentBelow(join(cwd, 'out'));
    const cache = join(cwd, '.oriel-cache');
    for (const name of filesBelow(join(cache, 'objects'))) {
      appendFileSync(join(cache, 'objects', name), 'x');
    }
    const index = join(cache, 'index-1.log');
    const text = readFileSync(index, 'utf8');
    const damaged = [
      text.slice(0, text.length / 2),
      `${text}\0\n00000000 ["file"]\n{`,
      'x\n'.repeat(9),
    ];
    for (const content of damaged) {
      rmSync(join(cwd, 'out'), { recursive: true });
      writeFileSync(index, content);
      expect((await resident([...WEBP, '-q'], { cwd })).status).toBe(0);
      expect(contentBelow(join(cwd, 'out'))).toEqual(made);
    }
    rmSync(index);
    writeFileSync(join(cwd, 'file'), '');
    const { status, stderr } = await resident(words`${WEBP} --cache file`, { cwd });
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('--cache file: expected a folder'),
    ]);
  });

  it('keeps the cache below --cache-size, least recently used results first', async () => {
    const cwd = temporaryFolder();
    await writeDifferent(cwd, 30, 'png');
    const png = words`convert --format png -r in --cache c --jobs 1`;
    // 57 KB each, 1.7 MB in all.
    await lines(words`${png} --out out --cache-size 1`, cwd);
    const bytes = () => bytesBelow(join(cwd, 'c'));
    expect(bytes()).toBeLessThan(1024 * 1024);
    expect(bytes()).toBeGreaterThan(0.5 * 1024 * 1024);
    const again = await kinds(words`${png} --out other --cache-size 1`, cwd);
    expect(again[0]).toBe('succeeded');
    expect(again.filter((fate) => fate === 'cached').length).toBeGreaterThan(5);
    expect(bytes()).toBeLessThan(1024 * 1024);
    expect(contentBelow(join(cwd, 'other'))).toEqual(contentBelow(join(cwd, 'out')));
  });

  it('excludes --skip-existing', async () => {
    const cwd = await folderWith('in/a.jpg');
    const { status, stderr } = await resident([...WEBP, '--skip-existing'], { cwd });
    expect([status, stderr]).toEqual([
      2,
      'oriel: --incremental and --skip-existing cannot be combined\n',
    ]);
  });
});

describe('--check', () => {
  const CHECK = words`convert --format webp -r in --out out --check`;

  it.each([
    ['without a cache', []],
    ['with --incremental', ['--incremental']],
  ])('%s exits with 1 and lists what would change, and writes nothing', async (_, flags) => {
    const cwd = await folderWith('in/a.jpg', 'in/b.png', 'in/c.png');
    const check = async () => {
      const before = contentBelow(cwd);
      const run = await resident(words`${CHECK} ${flags} --jsonl`, { cwd });
      expect(contentBelow(cwd)).toEqual(before);
      return [run.status, ...fates(run).map(([, fate]) => fate)];
    };
    const missing = Array(3).fill('output_missing');
    expect(await check()).toEqual([1, ...missing]);
    expect(existsSync(join(cwd, '.oriel-cache'))).toBe(false);
    await lines(WEBP, cwd);
    expect(await check()).toEqual([0, ...Array(3).fill('unchanged')]);
    rmSync(join(cwd, 'out/a.webp'));
    writeFileSync(join(cwd, 'out/b.webp'), 'mine');
    writeFileSync(join(cwd, 'in/c.png'), await photograph('png', { seed: 2 }));
    expect(await check()).toEqual([1, 'output_missing', 'output_differs', 'output_differs']);
    const { out, stderr } = await resident([...CHECK, ...flags], { cwd });
    expect(out).toContain('would change: the output is missing');
    expect(stderr).toBe('3 of 3 files would change; nothing was written\n');
  });
});
