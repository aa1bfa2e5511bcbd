import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { temporaryName } from '../../src/temporary.ts';
import { handOver, oriel, shell, temporaryFolder, words } from '../oriel.ts';
import { residentCommand } from '../resident.ts';
import { linesOf, outcomes } from './document.ts';
import { contentBelow, filesBelow, folderWith } from './folder.ts';
import { photograph, writePhotographs } from './photographs.ts';

const resident = residentCommand();

async function formatOf(path: string): Promise<string> {
  return (await sharp(readFileSync(path)).metadata()).format;
}

/** Runs a command that must be refused before any work, and gives what it said. */
async function refused(args: readonly string[], cwd: string): Promise<string> {
  const before = contentBelow(cwd);
  const { status, out, stderr } = await resident(args, { cwd });
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(contentBelow(cwd)).toEqual(before);
  expect(stderr).toMatch(/^oriel: .+\n$/);
  return stderr;
}

describe('outputs', () => {
  it('are written beside their inputs', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.JPG', 'sub/c.tar.jpeg');
    const run = await resident(words`convert --format webp a.jpg sub/* --jsonl`, { cwd });
    expect(run.status).toBe(0);
    const made = linesOf(run).map(({ outputFilename }) => outputFilename);
    expect(made.join(' ')).toBe('a.webp sub/b.webp sub/c.tar.webp');
    expect(await formatOf(join(cwd, 'sub/b.webp'))).toBe('webp');
  });

  it('are written below --out, which is created, for relative and absolute paths', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.jpg');
    const convert = words`convert --format png a.jpg sub/b.jpg -q`;
    for (const out of ['new/deep', './sub/../slash/', join(cwd, 'absolute')]) {
      expect(await resident([...convert, '--out', out], { cwd })).toMatchObject({ status: 0 });
    }
    const made = filesBelow(cwd).filter((name) => name.endsWith('.png'));
    expect(made.join(' ')).toBe(
      'absolute/a.png absolute/b.png new/deep/a.png new/deep/b.png slash/a.png slash/b.png',
    );
  });

  it('keep the extension of an input of the same format', async () => {
    const cwd = await folderWith('a.JPG', 'b.jpeg', 'c.png');
    await resident(words`convert --format jpeg -r . --out out -q`, { cwd });
    expect(filesBelow(join(cwd, 'out'))).toEqual(['a.JPG', 'b.jpeg', 'c.jpg']);
  });
});

describe('--out with a file name', () => {
  it.each([
    ['x.jpg', 'jpeg'],
    ['x.JPEG', 'jpeg'],
    ['x.png', 'png'],
    ['x.webp', 'webp'],
    ['x.gif', 'gif'],
    ['deep/er/x.tif', 'tiff'],
  ])('%s sets the output format', async (out, format) => {
    const cwd = await folderWith('a.jpg');
    const run = await resident(words`convert a.jpg --out ${out} -q`, { cwd });
    expect(run).toMatchObject({ status: 0, out: '', stderr: '' });
    expect(await formatOf(join(cwd, out))).toBe(format);
  });

  it('sets the format of every image operation', async () => {
    const cwd = await folderWith('a.jpg');
    const run = await resident(words`rotate --angle 90 a.jpg --out x.png -q`, { cwd });
    expect(run.status).toBe(0);
    const made = await sharp(join(cwd, 'x.png')).metadata();
    expect(made).toMatchObject({ format: 'png', width: 32 });
  });

  it('of another format than --format exits with 2', async () => {
    const cwd = await folderWith('a.jpg');
    const convert = words`convert a.jpg --out x.webp -q --format`;
    expect(await refused([...convert, 'png'], cwd)).toBe(
      'oriel: --format: expected webp as the name x.webp says, received png\n',
    );
    expect(await resident([...convert, 'webp'], { cwd })).toMatchObject({ status: 0 });
    const named = words`resize --width 9 a.jpg -q --name {name}-s.webp`;
    expect(await refused([...named, '--format', 'png'], cwd)).toContain('the name {name}-s.webp');
    await resident(named, { cwd });
    expect(await formatOf(join(cwd, 'a-s.webp'))).toBe('webp');
  });

  it('is a folder where a folder has that name, or with a trailing slash', async () => {
    const cwd = await folderWith('a.jpg');
    mkdirSync(join(cwd, 'album.png'));
    for (const out of ['album.png', 'album.gif/']) {
      await resident(words`convert --format webp a.jpg --out ${out} -q`, { cwd });
      expect(filesBelow(join(cwd, out))).toEqual(['a.webp']);
    }
  });

  it('exits with 2 for several images', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    expect(await refused(words`convert a.jpg b.jpg --out x.webp`, cwd)).toContain(
      '--out x.webp: expected a folder for 2 images',
    );
  });
});

describe('--name', () => {
  it('replaces every placeholder', async () => {
    const cwd = await folderWith('in/a.b.jpg', 'in/c.png');
    const template = '{index}_{name}_{width}x{height}_{format}.{ext}';
    const args = words`resize --width 24 -r in --out out --name ${template} -q`;
    expect(await resident(args, { cwd })).toMatchObject({ status: 0, stderr: '' });
    expect(filesBelow(join(cwd, 'out'))).toEqual(['1_a.b_24x16_jpeg.jpg', '2_c_24x16_png.png']);
  });

  it('uses width and height of the decoded image', async () => {
    const cwd = await folderWith('no ending', '.jpg');
    const args = ['rotate', '--flop', 'no ending', '.jpg', '--name', '{name}-2.{ext}', '--jsonl'];
    const run = await resident(args, { cwd });
    expect(outcomes(linesOf(run))).toEqual([
      ['no ending', 'no ending-2.jpg'],
      ['.jpg', '.jpg-2.jpg'],
    ]);
  });

  it('has the date of EXIF, the hash of the output and the folder of the input', async () => {
    const cwd = await folderWith('in/sub/none.jpg');
    const dated = await sharp(readFileSync(join(cwd, 'in/sub/none.jpg')))
      .withExif({ IFD2: { DateTimeOriginal: '2024:05:06 07:08:09' } })
      .toBuffer();
    writeFileSync(join(cwd, 'in/dated.jpg'), dated);
    const template = '{date}_{date:YYYY.MM HH-mm-ss}_{parent}_{hash}.{ext}';
    const png = words`convert --format png -r in --out out --name ${template}`;
    for (const flags of [[], ['--cache', 'cache'], ['--cache', 'cache']]) {
      await resident(words`${png} ${flags} --overwrite -q`, { cwd });
      const names = filesBelow(join(cwd, 'out'));
      const digest = (name: string) =>
        createHash('sha256')
          .update(readFileSync(join(cwd, 'out', name)))
          .digest('hex')
          .slice(0, 16);
      expect(names).toEqual([
        `2024-05-06_2024.05 07-08-09_in_${digest(names[0]!)}.png`,
        `sub/undated_undated_sub_${digest(names[1]!)}.png`,
      ]);
    }
  });

  it('may have no placeholder', async () => {
    const cwd = await folderWith('a.jpg');
    await resident(['convert', '--format', 'png', 'a.jpg', '--name', 'plain name', '-q'], { cwd });
    expect(await formatOf(join(cwd, 'plain name'))).toBe('png');
  });

  it.each([
    [
      '{name}{size}',
      'expected {name} {ext} {width} {height} {index} {format} {hash} {parent} {date}, received {size}',
    ],
    ['{date:}', 'expected YYYY MM DD HH mm ss with - _ . or blanks between them, received {date:}'],
    ['{date:YYYY/MM}', 'expected YYYY MM DD'],
    ['{date:YYYY:MM}', 'expected YYYY MM DD'],
    ['{date:year}', 'expected YYYY MM DD'],
    ['{name:YYYY}', 'received {name:YYYY}'],
    ['{}', 'received {}'],
    ['{NAME}', 'received {NAME}'],
    ['{name', 'expected braces in pairs'],
    ['name}', 'expected braces in pairs'],
    ['../{name}', 'expected a file name, received a path'],
    ['a\\b', 'expected a file name, received a path'],
    ['..', 'expected a file name'],
    ['.', 'expected a file name'],
    ['', 'received ""'],
  ])('%j exits with 2', async (template, message) => {
    const cwd = await folderWith('a.jpg');
    const args = words`convert --format png a.jpg --overwrite --name ${template}`;
    expect(await refused(args, cwd)).toContain(message);
  });
});

describe('outputs with the same path', () => {
  it.each([
    ['of one folder', words`a.jpg a.png`],
    ['of several folders', words`a.jpg sub/a.jpg --out out`],
    ['by template', words`a.jpg sub/b.jpg --out out --name x.{ext}`],
    ['in a dry run', words`a.jpg a.png --dry-run`],
    ['that would be overwritten', words`a.jpg a.png --overwrite`],
  ])('%s exit with 2 before any work', async (_, args) => {
    const cwd = await folderWith('a.jpg', 'a.png', 'sub/a.jpg', 'sub/b.jpg');
    const message = await refused(words`convert --format webp ${args}`, cwd);
    expect(message).toMatch(
      /^oriel: a\.jpg and \S+ would both be written to \S+\.webp; .*\{index\}/,
    );
  });

  it.each([
    ['the folders apart, if that helps', 'sub/a.jpg', true],
    ['only numbers in one folder', 'a.png', false],
  ])('come with advice: %s', async (_, other, expected) => {
    const cwd = await folderWith('a.jpg', other);
    const message = await refused(words`convert --format webp a.jpg ${other} --out out`, cwd);
    expect(message.includes('--recursive keeps folders apart')).toBe(expected);
  });

  it('as another input exit with 2', async () => {
    const cwd = await folderWith('1.jpg', '11.jpg', '111.jpg');
    const args = words`rotate --angle 90 1.jpg 11.jpg --name {name}1.{ext}`;
    expect(await refused([...args, '--overwrite'], cwd)).toContain(
      '1.jpg would be written over 11.jpg, which is an input too',
    );
  });

  it('by width and height fail all inputs but one', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg', 'c.jpg');
    const args = words`resize --width 24 -r . --out out --name {width}.{ext}`;
    for (const flags of [[], ['--overwrite']]) {
      const run = await resident(words`${args} ${flags} --jsonl`, { cwd });
      expect(run.status).toBe(1);
      const records = linesOf(run);
      const done = records.filter(({ status }) => status === 'succeeded');
      const failed = records.filter(({ status }) => status === 'failed');
      expect(done).toMatchObject([{ outputFilename: 'out/24.jpg' }]);
      expect(failed).toHaveLength(2);
      for (const { error } of failed) {
        expect(error).toMatchObject({
          code: 'output_exists',
          message: expect.stringMatching(/^\w\.jpg and \w\.jpg would both be written to out\/24/),
        });
      }
      expect(filesBelow(join(cwd, 'out'))).toEqual(['24.jpg']);
      expect(await sharp(readFileSync(join(cwd, 'out/24.jpg'))).metadata()).toMatchObject({
        width: 24,
      });
    }
  });

  it('are no conflict where the existing file is kept', async () => {
    const cwd = await folderWith('a.jpg', 'sub/b.png');
    const args = words`convert --format webp -r . --skip-existing -q`;
    expect(await resident(args, { cwd })).toMatchObject({ status: 0, stderr: '' });
    const after = contentBelow(cwd);
    // Now a.jpg and a.webp both stand for a.webp.
    expect(await resident(args, { cwd })).toMatchObject({ status: 0, stderr: '' });
    expect(contentBelow(cwd)).toEqual(after);
  });
});

describe('existing outputs', () => {
  it('are kept, and only their inputs fail', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg', 'c.jpg');
    writeFileSync(join(cwd, 'a.webp'), 'precious');
    mkdirSync(join(cwd, 'b.webp'));
    const args = words`convert --format webp a.jpg b.jpg c.jpg`;
    const run = await resident([...args, '--jsonl'], { cwd });
    expect(run.status).toBe(1);
    expect(outcomes(linesOf(run))).toEqual([
      ['a.jpg', 'output_exists'],
      ['b.jpg', 'output_exists'],
      ['c.jpg', 'c.webp'],
    ]);
    expect(readFileSync(join(cwd, 'a.webp'), 'utf8')).toBe('precious');
  });

  it('are kept where the name depends on the decoded image', async () => {
    const cwd = await folderWith('a.jpg');
    writeFileSync(join(cwd, 'a-48.webp'), 'precious');
    const args = words`convert --format webp a.jpg --name {name}-{width}.{ext}`;
    const failed = await resident([...args, '--jsonl'], { cwd });
    const skipped = await resident(words`${args} --jsonl --skip-existing`, { cwd });
    expect([failed, skipped].map(({ status }) => status)).toEqual([1, 0]);
    expect(linesOf(failed)).toMatchObject([{ status: 'failed', error: { code: 'output_exists' } }]);
    expect(linesOf(skipped)).toMatchObject([{ status: 'skipped', outputFilename: 'a-48.webp' }]);
    expect(readFileSync(join(cwd, 'a-48.webp'), 'utf8')).toBe('precious');
  });

  it('include dangling links', async () => {
    const cwd = await folderWith('a.jpg');
    symlinkSync('nowhere', join(cwd, 'a.webp'));
    const run = await resident(words`convert --format webp a.jpg --jsonl`, { cwd });
    expect(linesOf(run)).toMatchObject([{ error: { code: 'output_exists' } }]);
    expect(existsSync(join(cwd, 'nowhere'))).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('keep their owner if root replaces them', async () => {
    const cwd = await folderWith('a.jpg');
    const path = join(cwd, 'a.jpg');
    chownSync(path, 12_345, 23_456);
    const run = await resident(words`rotate --angle 90 a.jpg --overwrite -q`, { cwd });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 23_456 });
  });

  it('are replaced with --overwrite, also in place, and keep their mode', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    chmodSync(join(cwd, 'a.jpg'), 0o640);
    writeFileSync(join(cwd, 'b.webp'), 'old', { mode: 0o604 });
    const rotate = words`rotate --angle 90 a.jpg --overwrite -q`;
    expect(await resident(rotate, { cwd })).toMatchObject({ status: 0, stderr: '' });
    const convert = words`convert --format webp b.jpg --overwrite -q`;
    expect(await resident(convert, { cwd })).toMatchObject({ status: 0, stderr: '' });
    expect(await sharp(readFileSync(join(cwd, 'a.jpg'))).metadata()).toMatchObject({
      width: 32,
      height: 48,
    });
    expect(await formatOf(join(cwd, 'b.webp'))).toBe('webp');
    const mode = (name: string) => statSync(join(cwd, name)).mode & 0o777;
    expect([mode('a.jpg'), mode('b.webp')]).toEqual([0o640, 0o604]);
  });

  it('are kept with --overwrite where the new image fails', async () => {
    const cwd = await folderWith('a.jpg');
    const broken = (await photograph('jpeg')).subarray(0, 200);
    writeFileSync(join(cwd, 'broken.jpg'), broken);
    const rotate = words`rotate --angle 90 --overwrite --jsonl`;
    const failed = await resident(words`${rotate} broken.jpg a.jpg`, { cwd });
    expect(outcomes(linesOf(failed))).toEqual([
      ['broken.jpg', 'corrupt_image'],
      ['a.jpg', 'a.jpg'],
    ]);
    expect(readFileSync(join(cwd, 'broken.jpg'))).toEqual(broken);
    mkdirSync(join(cwd, 'a.png'));
    const run = await resident(words`convert --format png a.jpg --overwrite --jsonl`, { cwd });
    expect(linesOf(run)).toMatchObject([{ error: { code: 'write_failed' } }]);
  });

  it('are skipped with --skip-existing', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    writeFileSync(join(cwd, 'a.webp'), 'precious');
    const args = words`convert --format webp a.jpg b.jpg --skip-existing`;
    const run = await resident([...args, '--jsonl'], { cwd });
    expect(run.status).toBe(0);
    expect(linesOf(run)).toMatchObject([
      { status: 'skipped', outputFilename: 'a.webp' },
      { status: 'succeeded', outputFilename: 'b.webp' },
    ]);
    expect(readFileSync(join(cwd, 'a.webp'), 'utf8')).toBe('precious');
  });
});

describe('--skip-existing', () => {
  it('warns of an output that is older than its input', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const args = words`convert --format webp -r . --out out --skip-existing`;
    await resident(words`${args} --keep-mtime -q`, { cwd });
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(cwd, 'a.jpg'), later, later);
    const run = await resident([...args, '--jsonl'], { cwd });
    expect(run.status).toBe(0);
    const [outdated, fresh] = linesOf(run);
    expect(outdated).toMatchObject({
      status: 'skipped',
      warnings: [
        { code: 'output_outdated', message: 'a.jpg is newer; --overwrite makes the output anew' },
      ],
    });
    expect(fresh).not.toHaveProperty('warnings');
    expect(run.stderr).toMatch(/^0 of 2 files done, 2 skipped \(1 older than the input\) in /);

    const late = words`${args} --name {name}-{width}.{ext}`;
    await resident([...late, '-q'], { cwd });
    utimesSync(join(cwd, 'a.jpg'), later, later);
    const again = await resident(late, { cwd });
    expect(again.out).toMatch(
      /^a\.jpg +out\/a-48\.webp +skipped: exists already \(a\.jpg is newer/m,
    );
    expect(again.stderr).toMatch(/ 2 skipped \(1 older than the input\)/);
  });
});

describe('--keep-mtime', () => {
  it('sets the modification time of the input, also in place', async () => {
    const cwd = await folderWith('a.jpg', 'b.jpg');
    const then = new Date('2001-02-03T04:05:06Z');
    for (const name of ['a.jpg', 'b.jpg']) utimesSync(join(cwd, name), then, then);
    await resident(words`convert --format webp a.jpg --keep-mtime -q`, { cwd });
    await resident(words`rotate --flip a.jpg --overwrite --keep-mtime -q`, { cwd });
    await resident(words`convert --format webp b.jpg -q`, { cwd });
    const time = (name: string) => statSync(join(cwd, name)).mtime;
    expect(time('a.webp')).toEqual(then);
    expect(time('a.jpg')).toEqual(then);
    expect(time('b.webp')).not.toEqual(then);
  });
});

describe('an output that cannot be written', () => {
  it('fails only its input where a file has the name of the folder', async () => {
    const cwd = await folderWith('in/a.jpg', 'in/sub/b.jpg', 'in/sub/c.jpg', 'out/sub');
    const run = await resident(words`convert --format webp -r in --out out --jsonl`, { cwd });
    expect(run).toMatchObject({ status: 1 });
    expect(outcomes(linesOf(run))).toEqual([
      ['in/a.jpg', 'out/a.webp'],
      ['in/sub/b.jpg', 'write_failed'],
      ['in/sub/c.jpg', 'write_failed'],
    ]);
    for (const out of ['out/sub', 'out/sub/deeper']) {
      const whole = await resident(words`convert --format webp in/a.jpg --out ${out} -q`, { cwd });
      expect(whole.stderr).toBe(
        `oriel: in/a.jpg: ${out}/a.webp cannot be written: part of its path is a file (write_failed)\n`,
      );
    }
  });

  it.runIf(process.platform === 'linux')('fails where no folder can be created', async () => {
    const cwd = await folderWith('a.jpg');
    // Node's recursive mkdir never returns below /proc.
    const line = 'timeout -s KILL 60 "$NODE" "$BINARY" convert --format webp a.jpg -q';
    for (const flag of ['--out /proc/oriel', '--zip /proc/oriel/a.zip']) {
      const { status, stderr } = await shell(`${line} ${flag}`, { cwd });
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringContaining('cannot be written: no folder can be made there'),
      });
    }
  });

  it('fails only its input where its name is too long', async () => {
    const long = `${'x'.repeat(251)}.jpg`;
    const cwd = await folderWith(long, 'a.jpg');
    const run = await resident(words`convert --format webp ${long} a.jpg --jsonl`, { cwd });
    expect(run.status).toBe(1);
    const [first, second] = linesOf(run);
    expect(first).toMatchObject({ error: { code: 'write_failed' } });
    expect(first?.error?.message).toContain('the name is too long');
    expect(second).toMatchObject({ status: 'succeeded' });
  });

  it('fails only its input in a folder without write permission', async ({ skip }) => {
    const cwd = await folderWith('open/a.jpg', 'closed/b.jpg');
    handOver(cwd);
    handOver(join(cwd, 'open'));
    chmodSync(join(cwd, 'closed'), 0o555);
    const options = { cwd, unprivileged: true };
    const able = await oriel(['--version'], options).catch(() => null);
    if (able?.status !== 0) skip('an unprivileged user cannot run this checkout');
    const convert = words`convert --format webp --jsonl`;
    const run = await oriel(words`${convert} closed/b.jpg open/a.jpg`, options);
    expect(outcomes(linesOf(run))).toEqual([
      ['closed/b.jpg', 'write_failed'],
      ['open/a.jpg', 'open/a.webp'],
    ]);
    expect(linesOf(run)[0]?.error?.message).toBe(
      'closed/b.webp cannot be written: permission denied',
    );
    const below = await oriel(words`${convert} open/a.jpg --out closed/new`, options);
    expect(outcomes(linesOf(below))).toEqual([['open/a.jpg', 'write_failed']]);
    expect(filesBelow(join(cwd, 'closed'))).toEqual(['b.jpg']);
  });

  it('fails only its input beyond the file size limit of the system', async () => {
    const cwd = await folderWith('small.jpg');
    writeFileSync(join(cwd, 'large.png'), await photograph('png', { width: 300, height: 300 }));
    const line = 'ulimit -f 100; oriel convert --format png -r . --out out --jsonl';
    const run = await shell(line, { cwd });
    expect(run.status).toBe(1);
    expect(outcomes(linesOf(run))).toEqual([
      ['large.png', 'write_failed'],
      ['small.jpg', 'out/small.png'],
    ]);
    expect(filesBelow(join(cwd, 'out'))).toEqual(['small.png']);
  });

  it('fails only its input on a full disk, and a ZIP fails as a whole', async ({ skip }) => {
    const cwd = await folderWith('small.jpg');
    writeFileSync(join(cwd, 'large.png'), await photograph('png', { width: 300, height: 300 }));
    mkdirSync(join(cwd, 'disk'));
    // A file system of its own, which goes away with the process.
    const onFullDisk = (line: string) =>
      shell(
        `unshare --map-root-user --mount sh -c "oriel() { \\"\\$NODE\\" \\"\\$BINARY\\" \\"\\$@\\"; }
          mount -t tmpfs -o size=64k none disk || exit 99; ${line}; echo \\$?; ls -A disk"`,
        { cwd },
      );
    if ((await onFullDisk(':')).out !== '0\n')
      skip('no file system of our own can be mounted here');
    const files = await onFullDisk('oriel convert --format png -r . --out disk -q');
    expect(files.stderr).toBe(
      'oriel: large.png: disk/large.png cannot be written: no space left on the device (write_failed)\n',
    );
    expect(files.out).toBe('1\nsmall.png\n');
    const zip = await onFullDisk('oriel convert --format png -r . --zip disk/all.zip -q');
    expect(zip.stderr).toBe('oriel: disk/all.zip cannot be written: no space left on the device\n');
    expect(zip.out).toBe('1\n');
  });
});

describe('temporary files of a killed run', () => {
  it('are removed by the next run in that folder, and those of running ones and of other containers are kept', async () => {
    const cwd = temporaryFolder();
    await writePhotographs(cwd, ['a.jpg', 'sub/b.jpg', 'other/c.jpg']);
    const dead = spawnSync('true').pid;
    const living = process.pid;
    const [, place] = temporaryName(0).split('-');
    const elsewhere = [1, 2].map((number) => `.oriel-container4026531999-${dead}-${number}.tmp`);
    const kept = [`.oriel-${place}-${living}-7.tmp`, '.oriel-x-1.tmp', '.oriel', elsewhere[0]!];
    const names = [...kept, `.oriel-${place}-${dead}-1.tmp`, elsewhere[1]!];
    for (const folder of ['', 'sub', 'other']) {
      for (const name of names) writeFileSync(join(cwd, folder, name), 'unfinished');
      const yesterday = Date.now() / 1000 - 25 * 3600;
      utimesSync(join(cwd, folder, elsewhere[1]!), yesterday, yesterday);
    }
    const run = await resident(words`convert --format webp a.jpg sub/b.jpg -q`, { cwd });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    const left = (folder: string) =>
      filesBelow(join(cwd, folder)).filter((name) => /^\.oriel/.test(name));
    expect(left('')).toEqual([...kept].sort());
    expect(left('sub')).toEqual([...kept].sort());
    expect(left('other')).toEqual([...names].sort());
  });
});
