import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { photo } from '../../fixtures/images.ts';
import { words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { documentOf } from '../document.ts';
import { folderOf } from '../folder.ts';

const resident = residentCommand();

const image = await photo({ width: 60, height: 40 }).png().toBuffer();

const commandsOf = (stderr: string) => stderr.split('\n').filter((line) => line.startsWith('::'));

describe('--annotate github', () => {
  it('marks failed files and warnings on standard error, and leaves the document as it is', async () => {
    const cwd = folderOf({ 'a.png': image, 'text.png': 'text' });
    const args = words`convert --format gif --quality 50 a.png text.png --json`;
    const run = await resident(words`${args} --annotate github`, { cwd });
    expect(commandsOf(run.stderr)).toEqual([
      '::warning file=a.png,title=oriel%3A quality_ignored::GIF has no quality setting: it was ignored',
      '::error file=text.png,title=oriel%3A unsupported_format::not an image of a known format',
    ]);
    expect(documentOf(run).results).toHaveLength(2);
    expect(commandsOf((await resident(args, { cwd })).stderr)).toEqual([]);
  });

  it('marks outputs that --check finds missing or different, and none that are up to date', async () => {
    const cwd = folderOf({ 'a.png': image, 'b.png': image, 'b.webp': 'other' });
    const args = words`convert --format webp a.png b.png --check`;
    const run = await resident(words`${args} --annotate github`, { cwd });
    expect(run.status).toBe(1);
    expect(commandsOf(run.stderr)).toEqual([
      '::error file=a.png,title=oriel%3A output_missing::the output is missing',
      '::error file=b.png,title=oriel%3A output_differs::the output differs',
    ]);
    await resident(words`convert --format webp a.png b.png --overwrite`, { cwd });
    const passed = await resident(words`${args} --annotate github`, { cwd });
    expect([passed.status, passed.stderr]).toEqual([0, '2 of 2 files up to date\n']);
    const partly = await resident([...args, 'absent.png'], { cwd });
    expect([partly.status, partly.stderr]).toEqual([1, '2 of 3 files up to date, 1 failed\n']);
  });

  it('escapes percent signs, line breaks, colons and commas', async () => {
    const cwd = folderOf({ '100%, a:b\r\n::error ::x': 'text' });
    const run = await resident(['metadata', '100%, a:b\r\n::error ::x', '--annotate', 'github'], {
      cwd,
    });
    expect(commandsOf(run.stderr)).toEqual([
      '::error file=100%25%2C a%3Ab%0D%0A%3A%3Aerror %3A%3Ax,title=oriel%3A unsupported_format::not an image of a known format',
    ]);
  });

  it('is the only way to a command of the runner, whatever files are called', async () => {
    const names = ['::error::a.png', '##[error]b.png', '::c.png'];
    const cwd = folderOf({ ...Object.fromEntries(names.map((name) => [name, image])) });
    for (const flags of [[], ['--json'], ['--jsonl'], ['--dry-run']]) {
      const { out, stderr } = await resident(words`convert --format gif ${names} ${flags}`, {
        cwd,
      });
      expect(`${out}\n${stderr}`).not.toMatch(/^\s*::|##\[/m);
      expect(`${out}\n${stderr}`).toContain('error');
    }
  });

  it('names files by their path in the repository', async () => {
    const root = folderOf({});
    const cwd = join(root, 'site');
    mkdirSync(cwd);
    const run = await resident(words`hash missing.jpg --annotate github`, {
      cwd,
      env: { GITHUB_WORKSPACE: root },
    });
    expect(commandsOf(run.stderr)).toEqual([
      '::error file=site/missing.jpg,title=oriel%3A not_found::no such file',
    ]);
  });

  it('marks duplicates and images below a minimum', async () => {
    const cwd = folderOf({
      'a.png': image,
      'b.png': image,
      'c.png': await photo({ width: 60, height: 40 }, 9).png().toBuffer(),
    });
    const annotate = ['--annotate', 'github'];
    const duplicates = await resident(words`duplicates a.png b.png ${annotate}`, { cwd });
    expect(commandsOf(duplicates.stderr)).toEqual([
      '::warning file=b.png,title=oriel%3A duplicate::identical to a.png',
    ]);
    const args = words`compare a.png b.png c.png --min-ssim 0.999`;
    const compared = await resident([...args, ...annotate], { cwd });
    expect(commandsOf(compared.stderr)).toEqual([
      expect.stringMatching(
        /^::error file=c\.png,title=oriel%3A below the minimum::SSIM 0\.\d+, PSNR [\d.]+ dB to a\.png$/,
      ),
    ]);
  });
});

describe('hash --sha256sum', () => {
  it('prints lines that sha256sum --check accepts, for any names', async () => {
    const names = [
      'a.jpg',
      'with space',
      'back\\slash',
      'line\nbreak',
      ' leading',
      '写真.png',
      '*star',
    ];
    const cwd = folderOf(Object.fromEntries(names.map((name) => [name, name])));
    const run = await resident(['hash', '--sha256sum', ...names.map((name) => `./${name}`)], {
      cwd,
    });
    expect(run.status).toBe(0);
    const check = spawnSync('sha256sum', ['--check', '--strict'], { cwd, input: run.out });
    expect([check.status, check.stderr.toString()]).toEqual([0, '']);
    const listed = spawnSync(
      'sha256sum',
      names.map((name) => `./${name}`),
      { cwd },
    );
    expect(run.out).toBe(listed.stdout.toString());
  });

  it('prints failures on standard error, and excludes --json', async () => {
    const cwd = folderOf({ a: 'a' });
    const run = await resident(words`hash --sha256sum a missing`, { cwd });
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/^[\da-f]{64} {2}a\n$/);
    expect(run.stderr).toContain('oriel: missing: no such file (not_found)\n');
    expect((await resident(['hash', '--sha256sum', '--json', 'a'], { cwd })).status).toBe(2);
    expect((await resident(['metadata', '--sha256sum', 'a'], { cwd })).status).toBe(2);
  });
});

it('the metadata table has size, date, camera, exposure and lens', async () => {
  const exif = {
    IFD0: { Make: 'Canon', Model: 'Canon EOS 5D' },
    IFD2: {
      DateTimeOriginal: '2024:05:06 07:08:09',
      ExposureTime: '1/250',
      FNumber: '28/10',
      ISOSpeedRatings: '100',
      FocalLength: '50/1',
      LensModel: 'EF50mm',
    },
  };
  const taken = await photo({ width: 60, height: 40 }).withExif(exif).jpeg().toBuffer();
  const cwd = folderOf({ 'a.jpg': taken, 'plain.png': image });
  for (const level of ['basic', 'full']) {
    const { out } = await resident(words`metadata --exif ${level} a.jpg plain.png`, { cwd });
    const rows = out.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows[0]!.slice(0, 8)).toEqual([
      ...['FILE', 'FORMAT', 'PIXELS', 'FILE SIZE', 'DATE', 'CAMERA', 'EXPOSURE', 'LENS'],
    ]);
    expect(rows[1]!.slice(0, 8)).toEqual([
      ...['a.jpg', 'jpeg', '60x40', expect.stringMatching(/^[\d.]+ KB$/), '2024-05-06 07:08'],
      ...['Canon EOS 5D', '1/250 s f/2.8 ISO 100 50 mm', 'EF50mm'],
    ]);
  }
  const { out } = await resident(words`metadata --exif none a.jpg`, { cwd });
  expect(out).not.toContain('CAMERA');
});
