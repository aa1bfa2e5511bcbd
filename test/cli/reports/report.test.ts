import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PRIVATE_EXIF, photo } from '../../fixtures/images.ts';
import { oriel, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { documentOf, linesOf, outcomes } from '../document.ts';
import { contentBelow, folderWith } from '../folder.ts';
import { writePhotographs } from '../photographs.ts';

const resident = residentCommand();

const UUID = expect.stringMatching(/^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/);

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

describe('--json', () => {
  it('prints one document in the shape of the interface', async () => {
    const cwd = await folderWith('b.jpg', 'a.png');
    writeFileSync(join(cwd, 'empty.jpg'), '');
    const run = await oriel(words`hash --json b.jpg empty.jpg missing.jpg a.png`, { cwd });
    expect(run.status).toBe(1);
    const size = (name: string) => readFileSync(join(cwd, name)).length;
    const hashed = (index: number, inputFilename: string) => ({
      index,
      inputFilename,
      status: 'succeeded',
      originalSize: size(inputFilename),
      data: { algorithm: 'sha256', sha256: digestOf(join(cwd, inputFilename)) },
    });
    const failed = (index: number, inputFilename: string, code: string, message: string) => ({
      index,
      inputFilename,
      status: 'failed',
      originalSize: 0,
      error: { code, message },
    });
    expect(documentOf(run)).toEqual({
      requestId: UUID,
      operation: 'hash',
      status: 'completed',
      summary: { total: 4, succeeded: 2, failed: 2, originalBytes: size('b.jpg') + size('a.png') },
      results: [
        hashed(0, 'b.jpg'),
        failed(1, 'empty.jpg', 'empty_file', 'the file is empty'),
        failed(2, 'missing.jpg', 'not_found', 'no such file'),
        hashed(3, 'a.png'),
      ],
    });
    expect(run.stderr).toMatch(/^2 of 4 files done, 2 failed in \d+\.\d s\n$/);
  });

  it('has the output properties of images', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    writeFileSync(join(cwd, 'b.png'), 'precious');
    const args = words`convert --format png --quality 50 a.jpg b.jpg --skip-existing`;
    const run = await resident([...args, '--json'], { cwd });
    const size = readFileSync(join(cwd, 'a.png')).length;
    const originalSize = readFileSync(join(cwd, 'a.jpg')).length;
    expect(documentOf(run)).toEqual({
      requestId: UUID,
      operation: 'convert',
      status: 'completed',
      summary: {
        total: 2,
        succeeded: 1,
        failed: 0,
        skipped: 1,
        originalBytes: originalSize * 2,
        outputBytes: size,
      },
      results: [
        {
          index: 0,
          inputFilename: 'a.jpg',
          status: 'succeeded',
          originalSize,
          outputFilename: 'a.png',
          format: 'png',
          width: 48,
          height: 32,
          size,
          sha256: digestOf(join(cwd, 'a.png')),
          warnings: [
            { code: 'quality_ignored', message: 'PNG has no quality setting: it was ignored' },
          ],
        },
        {
          index: 1,
          inputFilename: 'b.jpg',
          status: 'skipped',
          originalSize,
          outputFilename: 'b.png',
          reason: { code: 'output_exists', message: 'exists already' },
        },
      ],
    });
  });

  it('lists results in the order of the inputs', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg', 'c.jpg');
    // What is missing is known before any thread could have finished anything.
    const names = ['a.jpg', 'b.jpg', 'x.jpg', 'c.jpg', 'y.jpg'];
    const document = documentOf(await resident(words`hash --json ${names}`, { cwd }));
    expect(document.results.map(({ inputFilename }) => inputFilename)).toEqual(names);
    expect(document.results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    const { out } = await resident(words`hash --jsonl --jobs 4 ${names}`, { cwd });
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { index: number });
    expect(lines[0]?.index).toBe(2);
    expect(lines.map(({ index }) => index).sort()).toEqual([0, 1, 2, 3, 4]);
  });

  it('and --jsonl have equal records', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const args = words`hash a.jpg missing.jpg b.jpg`;
    const lines = linesOf(await resident([...args, '--jsonl'], { cwd }));
    expect(lines).toEqual(documentOf(await resident([...args, '--json'], { cwd })).results);
  });
});

describe('reports for people', () => {
  it('print a table of images to standard output and totals to standard error', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg', 'a longer name.jpg');
    writeFileSync(join(cwd, 'b.gif'), 'precious');
    const names = ['a.jpg', 'b.jpg', 'missing.jpg', 'a longer name.jpg'];
    const args = words`convert --format gif --effort 1 --skip-existing ${names}`;
    const { out, stderr, status } = await resident(args, { cwd });
    expect(status).toBe(1);
    const [titles, ...rows] = out.trimEnd().split('\n');
    expect(titles).toMatch(/^FILE +OUTPUT +PIXELS +BEFORE +AFTER +CHANGE$/);
    const column = titles!.indexOf('OUTPUT');
    expect(column).toBe('a longer name.jpg'.length + 2);
    expect(rows.map((row) => [row.slice(0, column).trimEnd(), row.slice(column)])).toEqual([
      ['a.jpg', expect.stringMatching(/^a\.gif +48x32 +[\d.]+ KB +[\d.]+ KB +[+-]\d+ %$/)],
      ['b.jpg', expect.stringMatching(/^b\.gif +skipped: exists already$/)],
      ['missing.jpg', 'failed: no such file (not_found)'],
      ['a longer name.jpg', expect.stringMatching(/^a longer name\.gif +48x32 /)],
    ]);
    expect(stderr).toMatch(
      /^2 of 4 files done, 1 failed, 1 skipped: [\d.]+ KB to [\d.]+ KB \([+-]\d+ %\) in \d+\.\d s\n$/,
    );
  });

  it('print the main properties of data as columns', async () => {
    const cwd = await folderWith('a.jpg');
    const hash = await resident(words`hash a.jpg missing.jpg`, { cwd });
    expect(hash.out.split('\n')).toEqual([
      'FILE         SHA256',
      `a.jpg        ${digestOf(join(cwd, 'a.jpg'))}`,
      'missing.jpg  failed: no such file (not_found)',
      '',
    ]);
    const sizes = await resident(words`size-map 1920x1080 1:1 auto a.jpg`, { cwd });
    expect(sizes.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['FILE', 'TARGET', 'SIZE'],
      ['1920x1080', '1920x1080', '2048x1152'],
      ['1:1', '1024x1024', '1024x1024'],
      ['auto', 'auto', 'auto'],
      ['a.jpg', '48x32', '1536x1024'],
      [''],
    ]);
  });

  it('include warnings of options without effect', async () => {
    const cwd = await folderWith('a.jpg');
    const { out } = await resident(words`convert --format png --quality 5 a.jpg`, { cwd });
    expect(out).toMatch(/% \(PNG has no quality setting: it was ignored\)\n$/);
  });

  it('print failures only with --quiet', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.jpg');
    const run = await resident(words`hash --quiet a.jpg missing.jpg sub`, { cwd });
    expect(run).toMatchObject({
      status: 1,
      out: '',
      stderr:
        'oriel: missing.jpg: no such file (not_found)\n' +
        'oriel: sub: a folder; --recursive takes the images in it (is_directory)\n',
    });
    expect(await resident(['hash', '-q', 'a.jpg'], { cwd })).toMatchObject({
      status: 0,
      out: '',
      stderr: '',
    });
  });

  it('print totals of one file and of failed files', async () => {
    const cwd = await folderWith('a.jpg');
    const totals = async (...args: string[]) => (await resident(args, { cwd })).stderr;
    expect(await totals('hash', 'a.jpg')).toMatch(/^1 of 1 file done in \d+\.\d s\n$/);
    expect(await totals('hash', 'missing.jpg')).toMatch(
      /^0 of 1 file done, 1 failed in \d+\.\d s\n$/,
    );
    expect(await totals('hash', '--fail-fast', '--jobs', '1', 'x', 'y', 'a.jpg')).toMatch(
      /^0 of 3 files done, 1 failed, 2 not started in \d+\.\d s\n$/,
    );
  });
});

describe('the metadata table', () => {
  it('lists texts, EXIF with --exif full and the position with --gps below each file', async () => {
    const cwd = await folderWith('plain.png');
    const image = await photo({ width: 8, height: 8 }).withExif(PRIVATE_EXIF).jpeg().toBuffer();
    writeFileSync(join(cwd, 'a.jpg'), image);
    const printed = async (...flags: string[]) =>
      (await resident(words`metadata ${flags} a.jpg plain.png`, { cwd })).out.split('\n');
    const full = await printed('--exif', 'full');
    expect(full[1]).toMatch(/^a\.jpg +jpeg +8x8 /);
    expect(full).toContain('  exif.image.Model: Camera Obscura');
    expect(full.at(-2)).toMatch(/^plain\.png /);
    expect(full.join()).not.toContain('GPS');
    const texts = ['  texts.creator: Nobody', '  texts.copyright: Nobody in particular'];
    const below = async (...flags: string[]) =>
      (await printed(...flags)).filter((line) => line.startsWith(' '));
    expect(await below()).toEqual(texts);
    expect(await below('--gps')).toEqual([
      ...texts,
      expect.stringMatching(/^ {2}gps\.latitude: \d/),
      expect.stringMatching(/^ {2}gps\.longitude: -?\d/),
    ]);
  });
});

describe('--dry-run', () => {
  it('prints the outputs and writes nothing', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/sub/b.png', 'in/c.jpg');
    await writePhotographs(cwd, ['out/c.webp']);
    const before = contentBelow(cwd);
    const args = words`convert --format webp -r in --out out --dry-run`;
    const table = await resident(args, { cwd });
    expect(table.status).toBe(1);
    expect(
      table.out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['FILE', 'OUTPUT', 'PIXELS', 'BEFORE', 'AFTER', 'CHANGE'],
      ['in/a.jpg', 'out/a.webp'],
      ['in/c.jpg', 'failed: out/c.webp exists already; --overwrite replaces it (output_exists)'],
      ['in/sub/b.png', 'out/sub/b.webp'],
    ]);
    expect(table.stderr).toBe('2 of 3 files would be done; nothing was\n');

    const overwriting = await resident(words`${args} --overwrite --json`, { cwd });
    expect(overwriting.status).toBe(0);
    const { results, summary } = documentOf(overwriting);
    expect(outcomes(results)).toEqual([
      ['in/a.jpg', 'planned'],
      ['in/c.jpg', 'planned'],
      ['in/sub/b.png', 'planned'],
    ]);
    expect(results[2]?.outputFilename).toBe('out/sub/b.webp');
    expect(summary).toMatchObject({ total: 3, succeeded: 0, failed: 0, planned: 3 });
    expect(contentBelow(cwd)).toEqual(before);
  });

  it.each([
    ['of a template that only the image fills in', words`resize --width 9 --name {width}`],
    ['of an archive', words`convert --format webp --zip all.zip`],
    ['of a pipe', words`convert --format webp --out -`],
    ['of a report', ['hash']],
  ])('%s writes nothing', async (_, args) => {
    const cwd = await folderWith('a.jpg');
    const run = await resident(words`${args} a.jpg --dry-run`, { cwd });
    expect(run).toMatchObject({ status: 0, stderr: '1 of 1 file would be done; nothing was\n' });
    expect([...contentBelow(cwd).keys()]).toEqual(['a.jpg']);
  });
});

describe('a file name with control characters', () => {
  /** What may stand on a terminal raw: no control but the line feed, nothing that turns the text. */
  const DANGEROUS = /[^\P{Control}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
  const name = 'a\u001b[31m\u0007\u009b2J\u202ed\nc\u007f.jpg';
  const shown = String.raw`a\u001b[31m\u0007\u009b2J\u202ed\nc\u007f`;

  it('is escaped in tables, totals and messages', async () => {
    const cwd = await folderWith(name);
    const missing = `missing${name}`;
    const runs = [
      await resident(words`convert --format webp ${name} ${missing} ${name}/x`, { cwd }),
      // Now the output exists, and its name is part of the message.
      await resident(words`convert --format webp ${name} ${missing}`, { cwd }),
      await resident(words`convert --format webp ${name} ${missing} --quiet`, { cwd }),
      await resident(words`hash ${name} ${missing}`, { cwd }),
      await resident(words`convert --format webp ${name} --out ${name}/x -q`, { cwd }),
      await resident(words`convert --format webp ${name} --zip ${name}/x -q`, { cwd }),
    ];
    for (const { out, stderr } of runs) {
      expect(out + stderr).not.toMatch(DANGEROUS);
      expect(out + stderr).toContain(shown);
    }
    // One line each, though there is a line feed in the names.
    expect(runs[0]?.out.trimEnd().split('\n')).toHaveLength(4);
    expect(runs[2]?.stderr.trimEnd().split('\n')).toHaveLength(2);
  });

  it('is escaped in usage errors', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const lines = [
      [`--${name}`],
      [name],
      ['convert', `--${name}`],
      words`convert --format ${name}`,
      words`convert --format webp --jobs ${name} a.jpg`,
      words`convert --format webp --background ${name} a.jpg`,
      words`convert --format webp --name {${name}} a.jpg`,
      words`convert --format webp --files-from ${name}`,
      words`convert --format png --out ${name}.webp a.jpg`,
      words`convert --out ${name}.webp a.jpg b.jpg`,
      words`convert --format webp --name ${name} a.jpg b.jpg`,
      words`size-map --resolution ${name}`,
    ];
    for (const { out, stderr, status } of await Promise.all(
      lines.map((args) => resident(args, { cwd })),
    )) {
      expect({ status, out }).toEqual({ status: 2, out: '' });
      expect(stderr).not.toMatch(DANGEROUS);
      expect(stderr).toContain(String.raw`a\u001b[31m`);
    }
  });

  it('is unchanged after parsing JSON', async () => {
    const cwd = await folderWith(name);
    const document = await resident(words`hash --json ${name} ${name}/x`, { cwd });
    const lines = await resident(words`hash --jsonl ${name} ${name}/x`, { cwd });
    expect(document.out + lines.out).not.toMatch(DANGEROUS);
    expect(documentOf(document).results[0]?.inputFilename).toBe(name);
    expect(linesOf(lines)[0]?.inputFilename).toBe(name);
  });
});
