import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { Comparison } from '../../../src/operations/tools/compare.ts';
import { photo } from '../../fixtures/images.ts';
import { type Run, words } from '../../oriel.ts';
import { decode } from '../../pixels.ts';
import { residentCommand } from '../../resident.ts';
import { documentOf, outcomes } from '../document.ts';
import { folderOf } from '../folder.ts';

const resident = residentCommand();

const SIZE = { width: 120, height: 90 };
const original = await photo(SIZE).png().toBuffer();
const lossy = (quality: number) => sharp(original).jpeg({ quality }).toBuffer();

function comparisonsOf(run: Run): Comparison[] {
  return documentOf(run).results.map(({ data }) => data as Comparison);
}

const HAS_COMPARE =
  spawnSync('compare', ['-version']).stdout?.toString().includes('ImageMagick') ?? false;

describe('compare', () => {
  it('measures an equal, a good and a bad copy', async () => {
    const cwd = folderOf({
      'a.png': original,
      'bad.jpg': await lossy(10),
      'good.jpg': await lossy(95),
      'same.webp': await sharp(original).webp({ lossless: true }).toBuffer(),
    });
    const run = await resident(words`compare a.png same.webp good.jpg bad.jpg --json`, { cwd });
    expect(run.status).toBe(0);
    const [same, good, bad] = comparisonsOf(run);
    expect(same).toEqual({ reference: 'a.png', ...SIZE, ssim: 1, psnr: null, differing: 0 });
    expect(good!.ssim).toBeGreaterThan(bad!.ssim);
    expect(good!.psnr).toBeGreaterThan(bad!.psnr!);
    expect(good!.ssim).toBeLessThan(1);
  });

  it('exits with 1 below a minimum', async () => {
    const cwd = folderOf({
      'a.png': original,
      'bad.jpg': await lossy(10),
      'good.jpg': await lossy(95),
    });
    const args = words`compare a.png good.jpg bad.jpg`;
    const run = await resident(words`${args} --min-ssim 0.9 --json`, { cwd });
    expect(run.status).toBe(1);
    expect(comparisonsOf(run).map(({ passed }) => passed)).toEqual([true, false]);
    expect(run.stderr).toContain('oriel: 1 of 2 below --min-ssim 0.9\n');
    expect((await resident([...args, '--min-ssim', '0.1'], { cwd })).status).toBe(0);
    expect((await resident([...args, '--min-psnr', '90'], { cwd })).status).toBe(1);
    expect((await resident([...args, '--min-ssim', '2'], { cwd })).status).toBe(2);
  });

  it('prints a table', async () => {
    const cwd = folderOf({ 'a.png': original, 'bad.jpg': await lossy(10) });
    const { out } = await resident(words`compare a.png bad.jpg a.png --min-ssim 0.99`, { cwd });
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^FILE +SSIM +CHECK +PSNR +DIFFERING$/),
      expect.stringMatching(/^bad\.jpg +0\.\d{6} +below +\d+\.\d\d dB +\d+\.\d\d %$/),
      expect.stringMatching(/^a\.png +1\.000000 +passed +equal +0\.00 %$/),
      '',
    ]);
  });

  it('fails for another size unless --resize scales the image', async () => {
    const cwd = folderOf({
      'a.png': original,
      'half.png': await sharp(original).resize(60).png().toBuffer(),
    });
    const refused = await resident(words`compare a.png half.png --json`, { cwd });
    expect(refused.status).toBe(1);
    expect(documentOf(refused).results[0]!.error).toEqual({
      code: 'size_mismatch',
      message: 'is 60x45, but a.png is 120x90; resize scales it',
    });
    const scaled = await resident(words`compare a.png half.png --json --resize`, { cwd });
    expect(comparisonsOf(scaled)[0]).toMatchObject(SIZE);
  });

  it('names the file that is missing or damaged', async () => {
    const cwd = folderOf({
      'a.png': original,
      'cut.png': original.subarray(0, 3000),
      'text.png': Buffer.from('text'),
    });
    const errorOf = async (...files: string[]) =>
      documentOf(await resident(words`compare ${files} --json`, { cwd })).results[0]!.error!;
    expect(await errorOf('missing.png', 'a.png')).toEqual({
      code: 'not_found',
      message: 'missing.png: cannot be read: no such file',
    });
    expect(await errorOf('cut.png', 'a.png')).toMatchObject({
      code: 'corrupt_image',
      message: expect.stringMatching(/^cut\.png: this PNG image is damaged/),
    });
    expect(await errorOf('a.png', 'cut.png')).toMatchObject({ code: 'corrupt_image' });
    expect((await errorOf('a.png', 'text.png')).message).not.toContain('a.png');
  });

  it('writes an image of the differences, and replaces nothing without --overwrite', async () => {
    const cwd = folderOf({ 'a.png': original, 'b.jpg': await lossy(20) });
    const args = words`compare a.png b.jpg --diff out.png`;
    expect((await resident(args, { cwd })).status).toBe(0);
    expect(await decode(readFileSync(join(cwd, 'out.png')))).toMatchObject({ ...SIZE });
    const again = await resident([...args, '--json'], { cwd });
    expect(documentOf(again).results[0]!.error?.code).toBe('output_exists');
    expect((await resident([...args, '--overwrite'], { cwd })).status).toBe(0);
    const over = await resident(words`compare a.png b.jpg --diff a.png --overwrite`, { cwd });
    expect([over.status, over.stderr]).toEqual([2, expect.stringContaining('is a reference')]);
    const wrong = await resident(words`compare a.png b.jpg --diff out.jpg`, { cwd });
    expect(wrong.status).toBe(2);
    expect(readFileSync(join(cwd, 'a.png'))).toEqual(original);
    expect(existsSync(join(cwd, 'out.jpg'))).toBe(false);
  });

  it('compares images of two folders by their paths, with or without the extension', async () => {
    const cwd = folderOf({
      'before/a.png': original,
      'before/deep/b.png': original,
      'before/gone.png': original,
      'after/a.png': original,
      'after/deep/b.jpg': await lossy(80),
      'after/new.png': original,
    });
    const run = await resident(words`compare -r before after --diff diff --json`, { cwd });
    expect(run.status).toBe(1);
    const { results } = documentOf(run);
    expect(outcomes(results)).toEqual([
      ['after/a.png', 'diff/a.png'],
      ['after/deep/b.jpg', 'diff/deep/b.png'],
      ['after/new.png', 'not_found'],
      ['before/gone.png', 'not_found'],
    ]);
    expect((results[1]!.data as Comparison).reference).toBe('before/deep/b.png');
    writeFileSync(join(cwd, 'after/a.jpg'), await lossy(80));
    const formats = await resident(words`compare -r before after --diff diffs --json`, { cwd });
    expect(outcomes(documentOf(formats).results)[0]).toEqual(['after/a.jpg', 'diffs/a-1.png']);
    expect((await resident(['compare', 'before', 'after'], { cwd })).status).toBe(2);
    expect((await resident(['compare', '-r', 'before', 'after/a.png'], { cwd })).status).toBe(2);
  });

  it('compares standard input', async () => {
    const cwd = folderOf({ 'a.png': original });
    const run = await resident(words`compare a.png - --json`, { cwd, input: original });
    expect(comparisonsOf(run)[0]).toMatchObject({ ssim: 1, psnr: null });
    expect((await resident(['compare', '-', 'a.png'], { cwd, input: original })).status).toBe(2);
  });

  it('warns that of an animation the first frame is compared', async () => {
    const frames = sharp([original, await lossy(50)], { join: { animated: true } });
    const cwd = folderOf({ 'a.webp': await frames.webp().toBuffer() });
    const run = await resident(words`compare a.webp a.webp --json`, { cwd });
    expect(documentOf(run).results[0]!.warnings?.map(({ code }) => code)).toContain(
      'frames_not_compared',
    );
  });

  it.skipIf(!HAS_COMPARE)('has the PSNR of ImageMagick (needs compare)', async () => {
    const cwd = folderOf({ 'a.png': original });
    for (const quality of [10, 50, 90]) {
      const name = `${quality}.png`;
      writeFileSync(
        join(cwd, name),
        await sharp(await lossy(quality))
          .png()
          .toBuffer(),
      );
      const { stderr } = spawnSync('compare', ['-metric', 'PSNR', 'a.png', name, 'null:'], { cwd });
      const run = await resident(words`compare a.png ${name} --json`, { cwd });
      expect(comparisonsOf(run)[0]!.psnr).toBeCloseTo(Number(stderr.toString()), 1);
    }
  });
});
