import { linkSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import { painted, randomNumbers } from '../../fixtures/images.ts';
import { type Run, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { folderOf } from '../folder.ts';

const resident = residentCommand();

const SIZE = { width: 480, height: 320 };

interface Document {
  readonly status: string;
  readonly summary: Record<string, number>;
  readonly results: readonly { readonly status: string; readonly reason?: { code: string } }[];
  readonly groups: readonly {
    readonly keep: { readonly inputFilename: string };
    readonly duplicates: readonly {
      readonly inputFilename: string;
      readonly match: string;
      readonly distance?: number;
    }[];
  }[];
}

/** The names in each group, that of the kept file first. */
function groupsOf({ out }: Run): string[][] {
  return (JSON.parse(out) as Document).groups.map(({ keep, duplicates }) => [
    keep.inputFilename,
    ...duplicates.map(({ inputFilename }) => inputFilename),
  ]);
}

/** Discs of random places, sizes and colours: details of all sizes, as photographs have them. */
function scene(seed: number): Sharp {
  const random = randomNumbers(seed);
  const discs = Array.from({ length: 24 }, () => ({
    x: random(SIZE.width),
    y: random(SIZE.height),
    radius: 15 + random(80),
    colour: [random(256), random(256), random(256)],
  }));
  return painted(SIZE, (x, y) => {
    const disc = discs.findLast((one) => Math.hypot(x - one.x, y - one.y) < one.radius);
    return disc?.colour ?? [128, 128, 128];
  });
}

const original = await scene(3).png().toBuffer();

/** The original after a change. */
const changed = (change: (image: Sharp) => Sharp) => change(sharp(original)).toBuffer();

function cropped(share: number): Promise<Buffer> {
  const { width, height } = SIZE;
  const rest = 1 - share;
  return changed((image) =>
    image
      .extract({
        left: Math.round((width * share) / 2),
        top: Math.round((height * share) / 2),
        width: Math.round(width * rest),
        height: Math.round(height * rest),
      })
      .png(),
  );
}

describe('duplicates', () => {
  it('finds a picture in other sizes, formats, qualities and brightness, and slightly cropped', async () => {
    const cwd = folderOf({
      'a.png': original,
      'brighter.png': await changed((image) => image.modulate({ brightness: 1.1 }).png()),
      'cropped.png': await cropped(0.02),
      'grey.png': await changed((image) => image.greyscale().png()),
      'half.png': await changed((image) => image.resize(240).png()),
      'low.jpg': await changed((image) => image.jpeg({ quality: 30 })),
      'other.png': await scene(4).png().toBuffer(),
      'web.avif': await changed((image) => image.avif({ effort: 0 })),
      'web.webp': await changed((image) => image.resize(300).webp()),
    });
    for (const algorithm of ['phash', 'dhash']) {
      const run = await resident(words`duplicates -r . --json --perceptual ${algorithm}`, { cwd });
      expect(run.status).toBe(0);
      const [group, ...others] = groupsOf(run);
      expect(others).toEqual([]);
      expect([...group!].sort().join(' ')).toBe(
        'a.png brighter.png cropped.png grey.png half.png low.jpg web.avif web.webp',
      );
    }
  });

  it('does not find mirrored, turned, inverted and strongly cropped pictures', async () => {
    const cwd = folderOf({
      'a.png': original,
      'cropped.png': await cropped(0.4),
      'flipped.png': await changed((image) => image.flip().png()),
      'inverted.png': await changed((image) => image.negate().png()),
      'mirrored.png': await changed((image) => image.flop().png()),
      'turned.png': await changed((image) => image.rotate(180).png()),
    });
    expect(groupsOf(await resident(['duplicates', '-r', '.', '--json'], { cwd }))).toEqual([]);
  });

  it('keeps the most pixels, then the most bytes, then the oldest file', async () => {
    const large = await changed((image) => image.jpeg({ quality: 95 }));
    const cwd = folderOf({
      'a-small.png': await changed((image) => image.resize(400).png()),
      'b-few-bytes.jpg': await changed((image) => image.jpeg({ quality: 40 })),
      'c-newer.jpg': large,
      'd-older.jpg': large,
    });
    utimesSync(join(cwd, 'd-older.jpg'), 1e9, 1e9);
    const run = await resident(words`duplicates -r . --json`, { cwd });
    expect(groupsOf(run)).toEqual([
      ['d-older.jpg', 'c-newer.jpg', 'b-few-bytes.jpg', 'a-small.png'],
    ]);
    const document = JSON.parse(run.out) as Document;
    expect(document.groups[0]!.duplicates.map(({ match }) => match)).toEqual([
      'identical',
      'similar',
      'similar',
    ]);
    expect(document.groups[0]!.duplicates[1]!.distance).toBeLessThanOrEqual(6);
    expect(document).toMatchObject({ status: 'completed', operation: 'duplicates' });
    expect(document.summary).toMatchObject({ total: 4, succeeded: 4, groups: 1, duplicates: 3 });
  });

  it('does not count links to a file as its duplicates', async () => {
    const cwd = folderOf({ 'a.png': original });
    linkSync(join(cwd, 'a.png'), join(cwd, 'b.png'));
    symlinkSync('a.png', join(cwd, 'c.png'));
    const run = await resident(words`duplicates -r . --json`, { cwd });
    expect(groupsOf(run)).toEqual([]);
    const { results } = JSON.parse(run.out) as Document;
    expect(results.map(({ reason }) => reason?.code)).toEqual([
      undefined,
      'same_file',
      'same_file',
    ]);
  });

  it('compares plain pictures by their bytes only', async () => {
    const plain = (level: number) =>
      painted(SIZE, () => [level, level, level])
        .png()
        .toBuffer();
    const cwd = folderOf({
      'black.png': await plain(0),
      'grey-copy.png': await plain(99),
      'grey.png': await plain(99),
      'white.png': await plain(255),
    });
    utimesSync(join(cwd, 'grey.png'), 1e9, 1e9);
    const run = await resident(words`duplicates -r . --json --threshold 16`, { cwd });
    expect(groupsOf(run)).toEqual([['grey.png', 'grey-copy.png']]);
  });

  it('finds equal bytes of any files with --perceptual none', async () => {
    const cwd = folderOf({
      a: Buffer.from('no image'),
      b: Buffer.from('no image'),
      'c.png': original,
    });
    const run = await resident(words`duplicates --perceptual none --json a b c.png`, { cwd });
    expect(groupsOf(run)).toEqual([['a', 'b']]);
  });

  it('exits with 1 for duplicates with --exit-code only, and for files that fail', async () => {
    const cwd = folderOf({
      'a.png': original,
      'b.png': original,
      'c.png': Buffer.from('no image'),
    });
    const status = async (...args: string[]) =>
      (await resident(['duplicates', ...args], { cwd })).status;
    expect(await status('a.png', 'b.png')).toBe(0);
    expect(await status('a.png', 'b.png', '--exit-code')).toBe(1);
    expect(await status('a.png', '--exit-code')).toBe(0);
    expect(await status('a.png', 'c.png')).toBe(1);
    expect(await status('a.png', '--threshold', '17')).toBe(2);
  });

  it('prints a table of groups, with failures and totals on standard error', async () => {
    const cwd = folderOf({
      'a.png': original,
      'b.png': await changed((image) => image.resize(240).png()),
      'c.png': Buffer.from('no image'),
    });
    const run = await resident(words`duplicates -r .`, { cwd });
    expect(run.out.split('\n')).toEqual([
      expect.stringMatching(/^FILE +MATCH +PIXELS +SIZE$/),
      expect.stringMatching(/^a\.png +keep +480x320 +[\d.]+ KB$/),
      expect.stringMatching(/^b\.png +similar \(\d\) +240x160 +[\d.]+ KB$/),
      '',
    ]);
    expect(run.stderr).toMatch(
      /^oriel: c\.png: .*\(unsupported_format\)\n1 duplicate in 1 group, [\d.]+ KB\n2 of 3 files done, 1 failed/,
    );
  });

  it('prints a line for each file and then for each group with --jsonl', async () => {
    const cwd = folderOf({ 'a.png': original, 'b.png': original });
    const { out } = await resident(words`duplicates --jsonl a.png b.png`, { cwd });
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines.map((line) => ('keep' in line ? 'group' : 'file'))).toEqual([
      'file',
      'file',
      'group',
    ]);
  });
});
