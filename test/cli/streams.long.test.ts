import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { BatchResult } from '../../src/operations/batch/batch-record.ts';
import { oriel, shell, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { type Entry, readArchive } from './archive.ts';
import { documentOf, linesOf } from './document.ts';
import { filesBelow, folderWith } from './folder.ts';
import { photograph, writePhotographs } from './photographs.ts';

const resident = residentCommand();

describe('an image on standard input', () => {
  it('is written to standard output', async () => {
    const input = await photograph('jpeg');
    const run = await oriel(words`convert --format webp -`, { input });
    expect(run.status).toBe(0);
    expect(await sharp(run.stdout).metadata()).toMatchObject({ format: 'webp', width: 48 });
    expect(run.stderr).toMatch(/^1 of 1 file done: .+\n$/);
  });

  it('passes through a pipeline of several commands', async () => {
    const cwd = await folderWith('a.jpg');
    const line = `cat a.jpg | oriel rotate --angle 90 - -q | oriel resize --width 16 - -q |
      oriel convert --format png - -q >b.png`;
    expect(await shell(line, { cwd })).toMatchObject({ status: 0, stderr: '' });
    expect(await sharp(join(cwd, 'b.png')).metadata()).toMatchObject({
      format: 'png',
      width: 16,
      height: 24,
    });
  });

  it('is written to --out and --zip', async () => {
    const cwd = temporaryFolder();
    const input = await photograph('jpeg');
    for (const args of [
      words`convert - --out named.png`,
      words`convert --format png - --out folder`,
      words`convert --format png - --zip all.zip`,
    ]) {
      expect(await resident([...args, '-q'], { cwd, input })).toMatchObject({ status: 0, out: '' });
    }
    expect(filesBelow(cwd)).toEqual(['all.zip', 'folder/stdin.png', 'named.png']);
  });

  it('prints the report of an operation without images', async () => {
    const input = await photograph('jpeg');
    const sha256 = createHash('sha256').update(input).digest('hex');
    const table = await resident(['hash', '-'], { input });
    expect(table.out).toContain(sha256);
    const document = await resident(words`hash --json -`, { input });
    expect(documentOf(document).results).toMatchObject([{ inputFilename: '-', data: { sha256 } }]);
    const lines = await resident(words`hash --jsonl -`, { input });
    expect(linesOf(lines)).toMatchObject([{ data: { sha256 } }]);
  });

  it.each([
    ['is empty', '', 'the file is empty (empty_file)'],
    ['is none', 'no image', 'not an image of a known format (unsupported_format)'],
  ])('that %s fails and leaves standard output empty', async (_, input, message) => {
    expect(await resident(['convert', '--format', 'webp', '-', '-q'], { input })).toMatchObject({
      status: 1,
      out: '',
      stderr: `oriel: -: ${message}\n`,
    });
  });

  it('that is truncated fails and leaves standard output empty', async () => {
    const whole = await photograph('jpeg');
    const input = whole.subarray(0, whole.length / 2);
    const run = await resident(words`convert --format webp -`, { input });
    expect(run).toMatchObject({ status: 1, out: '' });
    expect(run.stderr).toContain('(corrupt_image)');
  });

  it('is read up to the size limit only', async () => {
    const run = await shell('cat /dev/zero | oriel hash --jsonl - --max-file-size 1');
    expect(linesOf(run)).toMatchObject([{ error: { code: 'file_too_large' } }]);
  });

  it('excludes other inputs', async () => {
    const cwd = await folderWith('a.jpg');
    for (const args of [
      ['-', 'a.jpg'],
      ['a.jpg', '-'],
      ['-', '-'],
      ['-', '--files-from', 'a.jpg'],
    ]) {
      const run = await resident(words`convert --format webp ${args}`, { cwd });
      expect(run).toMatchObject({
        status: 2,
        out: '',
        stderr: 'oriel: - reads one image, and cannot be combined with others\n',
      });
    }
  });
});

describe('--out -', () => {
  it('writes one image to standard output', async () => {
    const cwd = await folderWith('a.jpg');
    const run = await oriel(words`convert --format png a.jpg --out -`, { cwd });
    expect(run.status).toBe(0);
    expect(await sharp(run.stdout).metadata()).toMatchObject({ format: 'png' });
    expect(filesBelow(cwd)).toEqual(['a.jpg']);
  });

  it('exits with 2 for several images', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const run = await resident(words`convert --format png *.jpg --out -`, { cwd });
    expect(run).toMatchObject({
      status: 2,
      out: '',
      stderr: 'oriel: --out -: expected one image, received 2\n',
    });
  });

  it.each(['--json', '--jsonl'])('excludes %s', async (flag) => {
    const cwd = await folderWith('a.jpg');
    const run = await resident(words`convert --format png a.jpg --out - ${flag}`, { cwd });
    expect(run).toMatchObject({ status: 2, out: '' });
    expect(run.stderr).toContain('cannot be combined');
  });
});

describe('a reader that closes standard output', () => {
  // Enough for any pipe to be full, so that the end of the reader is felt.
  const many = Array.from({ length: 3000 }, (_, index) => `missing-${index}.jpg`).join('\n');

  it.each(['', '--json', '--jsonl'])('ends a report %s without a message', async (flag) => {
    const line = `{ oriel hash --files-from - ${flag}; echo $? >&2; } | head -c 1 >/dev/null`;
    expect(await shell(line, { input: many })).toMatchObject({ stderr: '0\n' });
  });

  it.each(['', '--json', '--jsonl'])('does not stop the writing of files %s', async (flag) => {
    const cwd = await folderWith('a.jpg', 'b.jpg', 'c.jpg');
    writeFileSync(join(cwd, 'list'), `${many}\na.jpg\nb.jpg\nc.jpg\n`);
    const convert = `oriel convert --format png --files-from list --out out ${flag}`;
    const run = await shell(`{ ${convert}; echo $? >&2; } | head -c 1 >/dev/null`, { cwd });
    expect(run.stderr).toMatch(/^3 of 3003 files done, 3000 failed.*\n1\n$/);
    expect(filesBelow(join(cwd, 'out'))).toEqual(['a.png', 'b.png', 'c.png']);
  });

  it('ends an image or an archive without a message', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'a.png'), await photograph('png', { width: 300, height: 300 }));
    for (const output of ['--out -', '--zip -']) {
      const convert = `oriel convert --format png a.png ${output} -q`;
      const run = await shell(`{ ${convert}; echo $? >&2; } | head -c 1 >/dev/null`, { cwd });
      expect(run.stderr).toBe('0\n');
    }
  });

  it('or standard error changes nothing', async () => {
    const line = 'oriel hash --files-from - -q 2>&1 >/dev/null | head -c 1 >/dev/null';
    const status = `{ oriel hash --files-from - -q; echo $? >&3; } 2>&1 >/dev/null | head -c 1 >/dev/null`;
    expect(await shell(`{ ${status}; } 3>&1`, { input: many })).toMatchObject({ out: '1\n' });
    expect(await shell(line, { input: many })).toMatchObject({ stderr: '' });
  });

  it('is distinguished from a full disk', async ({ skip }) => {
    if (!existsSync('/dev/full')) skip('there is no /dev/full here');
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const full =
      'oriel: standard output cannot be written: ENOSPC: no space left on device, write\n';
    for (const command of [
      'hash *.jpg -q --json',
      'convert --format png a.jpg --out - -q',
      'convert --format png *.jpg --zip - -q',
      'convert --format png *.jpg --out out --jsonl -q',
    ]) {
      const run = await shell(`oriel ${command} >/dev/full`, { cwd });
      expect({ command, status: run.status, stderr: run.stderr }).toEqual({
        command,
        status: 1,
        stderr: full,
      });
    }
    // What was begun was finished.
    for (const name of filesBelow(join(cwd, 'out'))) {
      expect(await sharp(join(cwd, 'out', name)).metadata()).toMatchObject({ format: 'png' });
    }
  });
});

describe('--zip', () => {
  it('keeps subfolders with --recursive', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['in/a.jpg', 'in/sub/a.jpg', 'in/sub/deep/b.png', 'other/c.jpg']);
    const args = words`convert --format webp --zip all.zip --overwrite --json`;
    const namesOf = async (...files: string[]) => {
      const run = await resident([...args, ...files], { cwd });
      const entries = readArchive(readFileSync(join(cwd, 'all.zip'))).map(({ name }) => name);
      const { results } = documentOf(run);
      expect([...results.map(({ outputFilename }) => outputFilename), 'manifest.json']).toEqual(
        entries,
      );
      return entries.slice(0, -1);
    };
    expect(await namesOf('-r', 'in', 'other')).toEqual([
      'a.webp',
      'sub/a.webp',
      'sub/deep/b.webp',
      'c.webp',
    ]);
    expect(await namesOf('in/a.jpg', 'in/sub/a.jpg')).toEqual(['a.webp', 'a-2.webp']);
  });

  /** The entries by name and, apart from them, what the manifest at their end says. */
  function contentOf(entries: readonly Entry[]) {
    const manifest = JSON.parse(entries.at(-1)?.bytes.toString() ?? 'null') as BatchResult & {
      parameters: Record<string, unknown>;
    };
    return { names: entries.map(({ name }) => name), manifest };
  }

  it('contains the images in order, not deflated, and the manifest', async () => {
    const cwd = await folderWith('b.jpg', 'a.png');
    writeFileSync(join(cwd, 'text.jpg'), 'no image');
    const args = words`convert --format webp --quality 70 b.jpg text.jpg a.png`;
    const run = await resident(words`${args} --zip new/all.zip --json`, { cwd });
    expect(run.status).toBe(1);
    expect(filesBelow(join(cwd, 'new'))).toEqual(['all.zip']);

    const entries = readArchive(readFileSync(join(cwd, 'new/all.zip')));
    const { names, manifest } = contentOf(entries);
    expect(names).toEqual(['b.webp', 'a.webp', 'manifest.json']);
    expect(entries.map(({ method }) => method)).toEqual([0, 0, 0]);
    for (const { name, bytes } of entries.slice(0, 2)) {
      expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 48 });
      expect(manifest.results.find(({ outputFilename }) => outputFilename === name)).toMatchObject({
        status: 'succeeded',
        format: 'webp',
        width: 48,
        height: 32,
        size: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
    }

    const { parameters, ...result } = manifest;
    expect(parameters).toMatchObject({ format: 'webp', quality: 70 });
    expect(result.results.map(({ index, inputFilename }) => [index, inputFilename])).toEqual([
      [0, 'b.jpg'],
      [1, 'text.jpg'],
      [2, 'a.png'],
    ]);
    // The report is equal to the manifest, except for the escapes of control characters.
    expect(documentOf(run)).toEqual(result);
  });

  it('is equal on standard output', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const args = words`convert --format png a.jpg b.jpg`;
    const piped = await oriel(words`${args} --zip -`, { cwd });
    const filed = await resident(words`${args} --zip all.zip -q`, { cwd });
    expect([piped.status, filed.status]).toEqual([0, 0]);
    const images = (entries: readonly Entry[]) => entries.slice(0, -1);
    const [left, right] = [piped.stdout, readFileSync(join(cwd, 'all.zip'))].map(readArchive);
    expect(images(left!)).toEqual(images(right!));
    expect(contentOf(left!).manifest.results).toEqual(contentOf(right!).manifest.results);
  });

  it('gives every entry a safe and unique name', async () => {
    const names = [
      'a.jpg',
      'sub/a.jpg',
      'sub/sub/A.jpg',
      'manifest.jpg',
      'con.jpg',
      '-rf.jpg',
      'new\nline\u202e.jpg',
      'Ete\u0301.jpg',
      `${'x'.repeat(251)}.jpg`,
    ];
    const cwd = await folderWith(...names);
    const run = await resident(words`convert --format webp --zip - -- ${names}`, { cwd });
    expect(run.status).toBe(0);
    expect(contentOf(readArchive(run.stdout)).names).toEqual([
      'a.webp',
      'a-2.webp',
      'A-3.webp',
      'manifest.webp',
      'con_.webp',
      'rf.webp',
      'newline.webp',
      'Et\u00e9.webp',
      `${'x'.repeat(250)}.webp`,
      'manifest.json',
    ]);
  });

  it('contains a manifest where every file failed', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'text.jpg'), 'no image');
    const run = await resident(words`convert --format webp text.jpg missing.jpg --zip - -q`, {
      cwd,
    });
    expect(run.status).toBe(1);
    const { names, manifest } = contentOf(readArchive(run.stdout));
    expect(names).toEqual(['manifest.json']);
    expect(manifest.results.map(({ error }) => error?.code)).toEqual([
      'unsupported_format',
      'not_found',
    ]);
  });

  it('replaces a file with --overwrite only', async () => {
    const cwd = await folderWith('a.jpg');
    writeFileSync(join(cwd, 'all.zip'), 'precious');
    const args = words`convert --format webp a.jpg --zip all.zip -q`;
    expect(await resident(args, { cwd })).toMatchObject({
      status: 1,
      out: '',
      stderr: 'oriel: all.zip exists already; --overwrite replaces it\n',
    });
    expect(readFileSync(join(cwd, 'all.zip'), 'utf8')).toBe('precious');
    expect(await resident([...args, '--overwrite'], { cwd })).toMatchObject({ status: 0 });
    expect(readArchive(readFileSync(join(cwd, 'all.zip')))).toHaveLength(2);
    expect(filesBelow(cwd)).toEqual(['a.jpg', 'all.zip']);
  });

  it('that cannot be written leaves no file', async () => {
    const cwd = await folderWith('a.jpg');
    mkdirSync(join(cwd, 'folder'));
    const convert = words`convert --format webp a.jpg --overwrite -q --zip`;
    for (const [path, reason] of [
      ['a.jpg/all.zip', 'part of its path is a file'],
      ['folder', 'it is a folder'],
      [`${'x'.repeat(300)}.zip`, 'the name is too long'],
    ] as const) {
      const run = await resident([...convert, path], { cwd });
      expect(run).toMatchObject({ status: 1, out: '' });
      expect(run.stderr).toBe(`oriel: ${path} cannot be written: ${reason}\n`);
    }
    expect(filesBelow(cwd)).toEqual(['a.jpg']);
  });
});
