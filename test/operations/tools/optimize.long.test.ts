import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import type { Search } from '../../../src/images/output.ts';
import { runBatch, runOne } from '../../batch.ts';
import { bmp } from '../../fixtures/bitmaps.ts';
import {
  animatedGif,
  animatedPng,
  animatedWebp,
  disc,
  painted,
  photo,
  pngOf,
  quadrants,
  randomNumbers,
} from '../../fixtures/images.ts';
import { displayP3, frames, SECRETS, TIMING, withEverything } from '../../fixtures/kinds.ts';
import { temporaryFolder } from '../../oriel.ts';
import { expectSamePixels, samplesOf } from '../../pixels.ts';
import { residentCommand } from '../../resident.ts';
import { runs } from '../../runs.ts';

const resident = residentCommand();

const SIZE = { width: 120, height: 80 };

const hasImageMagick = spawnSync('compare', ['-version']).status === 0;

/** Expects equal pixels, by ImageMagick too where it is installed. */
async function expectSameForAll(output: Uint8Array, input: Uint8Array) {
  await expectSamePixels(output, input);
  if (!hasImageMagick) return;
  const folder = temporaryFolder();
  const paths = ['one', 'other'].map((name) => join(folder, name));
  writeFileSync(paths[0]!, input);
  writeFileSync(paths[1]!, output);
  const { stderr } = spawnSync('compare', ['-metric', 'AE', ...paths, 'null:'], {
    encoding: 'utf8',
  });
  expect(stderr.trim()).toBe('0');
}

const searchOf = (record: { readonly data?: object }) => record.data as Search;

const wasteful = (image: Sharp) => image.png({ compressionLevel: 1, adaptiveFiltering: false });

/** Opaque colours with an alpha channel, grey with three channels, and so on: each can lose something. */
const reducible = async () => ({
  'opaque.png': await wasteful(photo(SIZE).ensureAlpha()).toBuffer(),
  'grey.png': await wasteful(
    painted(SIZE, (x, y) => {
      const level = (x * 3 + y * 5) % 256;
      return [level, level, level];
    }),
  ).toBuffer(),
  'few.png': await wasteful(quadrants(SIZE)).toBuffer(),
  'transparent.png': await wasteful(disc(SIZE)).toBuffer(),
  'deep.png': await wasteful(
    painted({ ...SIZE, deep: true }, (x, y) => [x * 257, y * 257, 257]),
  ).toBuffer(),
  'true-deep.png': await wasteful(
    painted({ ...SIZE, deep: true }, (x, y) => [x * 301, y * 301, 1]),
  ).toBuffer(),
  'grey-alpha.png': await wasteful(
    painted({ ...SIZE, channels: 2 }, (x, y) => [(x * y) % 256, (x + y) % 256]),
  ).toBuffer(),
  'interlaced.png': await quadrants(SIZE).png({ progressive: true }).toBuffer(),
});

describe('optimize without options', () => {
  test('gives PNG of fewer bytes and the same pixels', async () => {
    const files = await reducible();
    const batch = await runBatch(['optimize'], files);
    for (const [name, bytes] of Object.entries(files)) {
      expect(batch.bytes(name).length, name).toBeLessThan(bytes.length);
      // Sixteen bits that repeat eight are compared by ImageMagick's own scale.
      if (name !== 'deep.png') await expectSameForAll(batch.bytes(name), bytes);
      expect(searchOf(batch.record(name)).chosen).toMatchObject({ format: 'png', lossless: true });
      expect(batch.warnings(name)).toEqual([]);
    }
    expect((await batch.pixels('deep.png')).deep).toBe(false);
    expect((await batch.pixels('deep.png')).rgb(7, 9)).toEqual([7, 9, 1]);
    expect((await batch.pixels('true-deep.png')).deep).toBe(true);
    expect((await batch.pixels('opaque.png')).metadata.channels).toBe(3);
    expect((await batch.pixels('grey.png')).metadata.channels).toBe(1);
  });

  test('gives the same pixels for PNG of any size, channels and colours', async () => {
    const picture = fc.record({
      width: fc.integer({ min: 1, max: 40 }),
      height: fc.integer({ min: 1, max: 20 }),
      channels: fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const),
      deep: fc.boolean(),
      colours: fc.integer({ min: 1, max: 600 }),
      seed: fc.nat(1000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(picture, { minLength: 4, maxLength: 4 }), async (pictures) => {
        const files: Record<string, Buffer> = {};
        for (const [index, { colours, seed, ...size }] of pictures.entries()) {
          const random = randomNumbers(seed);
          const most = size.deep ? 65_536 : 256;
          const palette = Array.from({ length: colours }, () =>
            Array.from({ length: size.channels }, () => random(most)),
          );
          const image = painted(size, () => palette[random(colours)]!);
          files[`${index}.png`] = await pngOf(image);
        }
        const batch = await runBatch(['optimize'], files);
        for (const [name, bytes] of Object.entries(files)) {
          expect(batch.bytes(name).length).toBeLessThanOrEqual(bytes.length);
          await expectSamePixels(batch.bytes(name), bytes);
        }
      }),
      { numRuns: runs(24) },
    );
  });

  test('gives JPEG of the same pixels, with its orientation', async () => {
    const bytes = (await withEverything(SIZE))['private.jpg']!;
    const plain = await photo(SIZE).jpeg({ quality: 90 }).toBuffer();
    const batch = await runBatch(['optimize'], { 'private.jpg': bytes, 'plain.jpg': plain });
    await expectSameForAll(batch.bytes('plain.jpg'), plain);
    await expectSameForAll(batch.bytes('private.jpg'), bytes);
    expect(batch.bytes('plain.jpg').length).toBeLessThan(plain.length);
    expect((await batch.pixels('private.jpg')).metadata.orientation).toBe(6);
  });

  test('removes metadata, but keeps orientation and colours', async () => {
    const files = await withEverything(SIZE);
    const batch = await runBatch(['optimize'], files);
    for (const [name, bytes] of Object.entries(files)) {
      for (const secret of SECRETS) expect(batch.bytes(name).includes(secret), name).toBe(false);
      await expectSamePixels(batch.bytes(name), bytes);
      expect(batch.warnings(name), name).toEqual([]);
    }
    const kept = await runBatch(['optimize', '--metadata', 'all'], files);
    for (const name of Object.keys(files)) {
      expect(kept.bytes(name).includes(SECRETS[0]!), name).toBe(true);
    }
  });

  test('keeps a profile of other colours, and removes that of sRGB', async () => {
    const srgb = await pngOf(photo(SIZE).withIccProfile('srgb'));
    const batch = await runBatch(['optimize'], { ...(await displayP3()), 'srgb.png': srgb });
    expect((await batch.pixels('p3.png')).metadata.icc).toBeDefined();
    expect((await batch.pixels('srgb.png')).metadata.icc).toBeUndefined();
    await expectSamePixels(batch.bytes('srgb.png'), srgb);
  });

  test('keeps frames, delays and loops of animations', async () => {
    const lossless = await sharp(await animatedWebp(frames(), TIMING), { pages: -1 })
      .webp({ lossless: true, effort: 0, ...TIMING })
      .toBuffer();
    const files = { 'a.gif': await animatedGif(frames(), TIMING), 'b.webp': lossless };
    const batch = await runBatch(['optimize'], files);
    for (const [name, bytes] of Object.entries(files)) {
      await expectSamePixels(batch.bytes(name), bytes);
      expect((await batch.pixels(name)).metadata).toMatchObject(TIMING);
      expect(batch.record(name).pages).toBe(3);
    }
  });

  test('keeps delays of GIF that the encoder cannot write', async () => {
    const gif = await animatedGif(frames(), TIMING);
    // Hundredths of a second, in the first graphic control extension.
    gif.writeUInt16LE(65_535, gif.indexOf('\x21\xf9\x04', 0, 'latin1') + 4);
    const { code, pixels } = await runBatch(['optimize'], { 'a.gif': gif });
    expect(code).toBe(0);
    expect((await pixels('a.gif')).metadata.delay![0]).toBe(655_350);
  });

  test('keeps the frames of animated PNG, which the decoder does not read', async () => {
    const bytes = await animatedPng(SIZE);
    const { bytes: made, warnings } = await runOne(['optimize'], bytes);
    const framesOf = (png: Buffer) => png.toString('latin1').match(/acTL|fcTL|fdAT/g);
    expect(framesOf(made)).toEqual(framesOf(bytes));
    expect(made.length).toBeLessThanOrEqual(bytes.length);
    await expectSameForAll(made, bytes);
    expect(warnings).toEqual([]);
  });

  test('keeps the bytes of an input than which nothing is smaller', async () => {
    const files = {
      'a.avif': await photo(SIZE).avif({ effort: 0 }).toBuffer(),
      'b.webp': await photo(SIZE).webp().toBuffer(),
    };
    const batch = await runBatch(['optimize'], files);
    for (const [name, bytes] of Object.entries(files)) {
      expect(batch.bytes(name).equals(bytes), name).toBe(true);
      expect(searchOf(batch.record(name)).chosen).toMatchObject({ original: true });
    }
    const again = await runBatch(['optimize'], { 'a.png': (await runOptimized()).bytes });
    expect(searchOf(again.record('a.png')).chosen.original).toBe(true);
  });

  const runOptimized = async () => runOne(['optimize'], (await reducible())['opaque.png']);
});

describe('--target-ssim', () => {
  test.each(['jpeg', 'webp', 'avif', 'png'])(
    'of %s is reached by at most 10 encodings',
    async (format) => {
      const folder = temporaryFolder();
      const source = join(folder, 'in.png');
      // From 384 pixels on, `compare` measures another figure without --full-size.
      const size = format === 'jpeg' ? { width: 400, height: 400 } : SIZE;
      writeFileSync(source, await pngOf(photo(size).blur(1.5)));
      const args = ['optimize', '--format', format, '--target-ssim', '0.95', '--json', source];
      const run = await resident([...args, '--out', join(folder, 'out')]);
      expect(run.stderr).toContain('1 of 1 file done');
      const record = JSON.parse(run.out).results[0];
      const { chosen, tried, reached } = searchOf(record);
      expect(reached).toBe(true);
      expect(tried.length).toBeLessThanOrEqual(10);
      expect(chosen.ssim).toBeGreaterThanOrEqual(0.95);
      // The same figure by the command that measures it.
      const compared = await resident([
        'compare',
        '--full-size',
        source,
        record.outputFilename,
        '--json',
      ]);
      expect(JSON.parse(compared.out).results[0].data.ssim).toBe(chosen.ssim);
    },
  );

  test('of a JPEG is not encoded anew where its own bytes are fewer', async () => {
    const bytes = await photo(SIZE).jpeg({ quality: 20 }).toBuffer();
    const batch = await runBatch(['optimize', '--target-ssim', '0.999'], { 'a.jpg': bytes });
    await expectSameForAll(batch.bytes('a.jpg'), bytes);
  });

  test('that no quality reaches gives the most similar output with --best-effort', async () => {
    const files = { 'a.png': await pngOf(photo(SIZE)) };
    const args = ['convert', '--format', 'jpeg', '--target-ssim', '1', '--best-effort'];
    const batch = await runBatch(args, files);
    expect(batch.code).toBe(0);
    expect(batch.warnings('a.png')).toEqual(['target_not_reached']);
    expect(searchOf(batch.record('a.png'))).toMatchObject({ reached: false });
    const exact = await runBatch(['convert', '--format', 'webp', '--target-ssim', '1'], files);
    expect(searchOf(exact.record('a.png')).chosen).toMatchObject({ lossless: true, ssim: 1 });
  });

  test('of an animation is refused with the ways out', async () => {
    const files = { 'a.gif': await animatedGif(frames(), TIMING) };
    const batch = await runBatch(['convert', '--format', 'webp', '--target-ssim', '0.9'], files);
    expect(batch.record('a.gif').error).toMatchObject({
      code: 'animation_unsupported',
      message: expect.stringMatching(/targetSize .* animated "first"/),
    });
  });
});

describe('--target-size', () => {
  test.each(['jpeg', 'webp', 'avif', 'png', 'gif'])('of %s is an upper bound', async (format) => {
    const files = { 'a.png': await pngOf(photo(SIZE)) };
    const batch = await runBatch(['optimize', '--format', format, '--target-size', '4KiB'], files);
    expect(batch.bytes('a.png').length).toBeLessThanOrEqual(4096);
    expect(batch.bytes('a.png').length).toBeGreaterThan(1500);
    expect(searchOf(batch.record('a.png')).reached).toBe(true);
  });

  test('of an animation keeps its frames', async () => {
    const moving = await animatedWebp(
      [1, 2, 3].map((seed) => photo(SIZE, seed)),
      TIMING,
    );
    const batch = await runBatch(['optimize', '--target-size', '5KB'], { 'a.webp': moving });
    expect(batch.bytes('a.webp').length).toBeLessThanOrEqual(5000);
    expect((await batch.pixels('a.webp')).metadata).toMatchObject(TIMING);
  });

  test('that is reached without loss changes no pixel', async () => {
    const bytes = (await reducible())['opaque.png'];
    const batch = await runBatch(['optimize', '--target-size', '1MB'], { 'a.png': bytes });
    await expectSameForAll(batch.bytes('a.png'), bytes);
    expect(searchOf(batch.record('a.png'))).toMatchObject({ reached: true });
  });

  test('that no quality reaches fails without an output, or gives the smallest one', async () => {
    const files = { 'a.jpg': await photo(SIZE).jpeg().toBuffer() };
    const missed = {
      code: 'target_not_reached',
      message: expect.stringMatching(/quality \d, has \d+ bytes, more than the target of 100/),
    };
    const batch = await runBatch(['optimize', '--target-size', '100B'], files);
    expect(batch.code).toBe(1);
    expect(batch.record('a.jpg')).toMatchObject({ status: 'failed', error: missed });
    expect(batch.record('a.jpg').error!.message).toMatch(/100; --best-effort writes it$/);
    expect(() => batch.bytes('a.jpg')).toThrow(/no output/);
    const nearest = await runBatch(['optimize', '--target-size', '100B', '--best-effort'], files);
    expect(nearest.code).toBe(0);
    expect(nearest.record('a.jpg')).toMatchObject({ status: 'succeeded', warnings: [missed] });
  });

  test('of TIFF is refused, which has no quality', async () => {
    const files = { 'a.png': await pngOf(photo(SIZE)) };
    const batch = await runBatch(['convert', '--format', 'tiff', '--target-size', '1KB'], files);
    expect(batch.record('a.png').error?.code).toBe('target_unsupported');
  });

  test.each([
    ['200', 'received "200"'],
    ['200kb', 'KB (1000 bytes), KiB (1024 bytes)'],
    ['0KB', 'expected a size with its unit'],
  ])('%s is refused with the units', async (size, message) => {
    const run = await resident(['optimize', '--target-size', size, 'a.jpg']);
    expect(run).toMatchObject({ status: 2, out: '' });
    expect(run.stderr).toContain('--target-size');
    expect(run.stderr).toContain(message);
  });

  test.each([
    [['--target-ssim', '0.9'], '--target-size: cannot be used with --target-ssim'],
    [['--quality', '80'], '--quality: cannot be used with --target-size, which searches for it'],
    [['--colors', '8'], '--colors: cannot be used with --target-size'],
    [['--lossless'], '--lossless: cannot be used with --target-size'],
  ])('excludes %j', async (args, message) => {
    const run = await resident(['optimize', '--target-size', '9KB', ...args, 'a.jpg']);
    expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining(message) });
  });
});

describe('fewer colours', () => {
  test('by --colors give a PNG and a GIF with so many', async () => {
    const files = { 'a.png': await pngOf(photo(SIZE)) };
    for (const format of ['png', 'gif']) {
      const args = ['convert', '--format', format, '--colors', '16', '--dither', '0'];
      const { bytes } = await runOne(args, files['a.png']);
      const pixels = await samplesOf(bytes);
      const colours = new Set<number>();
      for (let at = 0; at < pixels.length; at += 4) colours.add(pixels.readUInt32BE(at));
      expect(colours.size, format).toBeLessThanOrEqual(16);
      expect(colours.size, format).toBeGreaterThan(8);
    }
  });

  test('are ignored with a warning by formats without a palette', async () => {
    const files = { 'a.jpg': await photo(SIZE).jpeg().toBuffer() };
    const batch = await runBatch(['optimize', '--colors', '16', '--dither', '0.5'], files);
    expect(batch.warnings('a.jpg').toSorted()).toEqual(['colors_ignored', 'dither_ignored']);
    await expectSameForAll(batch.bytes('a.jpg'), files['a.jpg']);
  });
});

test('--near-lossless gives WebP that is smaller than lossless and nearly the same', async () => {
  const files = { 'a.png': await pngOf(photo(SIZE)) };
  const near = await runBatch(['optimize', '--format', 'webp', '--near-lossless'], files);
  const exact = await runBatch(['optimize', '--format', 'webp'], files);
  await expectSameForAll(exact.bytes('a.png'), files['a.png']);
  expect(near.bytes('a.png').length).toBeLessThan(exact.bytes('a.png').length);
  const [one, other] = [await samplesOf(near.bytes('a.png')), await samplesOf(files['a.png'])];
  const worst = one.reduce((most, sample, at) => Math.max(most, Math.abs(sample - other[at]!)), 0);
  expect(worst).toBeGreaterThan(0);
  expect(worst).toBeLessThanOrEqual(8);
});

describe('--keep-if-smaller', () => {
  const noise = () => {
    const random = randomNumbers(7);
    return painted(SIZE, () => [random(256), random(256), random(256)]);
  };

  test('of another format keeps the name and the bytes of the input', async () => {
    const files = { 'a.jpg': await noise().jpeg({ quality: 5 }).toBuffer() };
    for (const command of [
      ['optimize', '--format', 'png'],
      ['convert', '--format', 'png', '--keep-if-smaller'],
    ]) {
      const batch = await runBatch(command, files);
      expect(batch.record('a.jpg')).toMatchObject({ format: 'jpeg', status: 'succeeded' });
      expect(batch.record('a.jpg').outputFilename).toMatch(/a\.jpg$/);
      expect(batch.bytes('a.jpg').equals(files['a.jpg'])).toBe(true);
    }
    const grown = await runBatch(['optimize', '--format', 'png', '--no-keep-if-smaller'], files);
    expect(grown.record('a.jpg').format).toBe('png');
    expect((await runBatch(['convert', '--format', 'png'], files)).record('a.jpg').format).toBe(
      'png',
    );
  });

  test('refuses the name of a file in another format', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'a.jpg'), await noise().jpeg({ quality: 5 }).toBuffer());
    const run = await resident(['optimize', 'a.jpg', '--out', 'b.png'], { cwd });
    expect(run.status).toBe(1);
    expect(run.out).toContain('larger_than_input');
  });

  test('refuses a format that is not written, if PNG would not be smaller', async () => {
    const files = { 'a.bmp': bmp({ width: 1, height: 1, bits: 24, data: Buffer.alloc(4) }) };
    const batch = await runBatch(['optimize'], files);
    expect(batch.record('a.bmp').error).toEqual({
      code: 'larger_than_input',
      message: 'a PNG of this BMP image would not be smaller; choose a format such as webp',
    });
    for (const flags of [['--format', 'png'], ['--no-keep-if-smaller']])
      expect((await runBatch(['optimize', ...flags], files)).record('a.bmp').format).toBe('png');
  });

  test('leaves a file alone in its own place, and replaces others only with --overwrite', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'in'));
    writeFileSync(join(cwd, 'in/large.png'), await wasteful(quadrants(SIZE)).toBuffer());
    writeFileSync(join(cwd, 'in/kept.avif'), await photo(SIZE).avif({ effort: 0 }).toBuffer());
    const refused = await resident(['optimize', '-r', 'in'], { cwd });
    expect(refused.status).toBe(1);
    const before = statSync(join(cwd, 'in/kept.avif'));
    const size = statSync(join(cwd, 'in/large.png')).size;
    const run = await resident(['optimize', '-r', 'in', '--overwrite'], { cwd });
    expect(run.status).toBe(0);
    expect(run.out).toMatch(/kept\.avif.*\[original kept\]/);
    expect(statSync(join(cwd, 'in/kept.avif')).ino).toBe(before.ino);
    expect(statSync(join(cwd, 'in/large.png')).size).toBeLessThan(size);
    const check = await resident(['optimize', '-r', 'in', '--check'], { cwd });
    expect(check.status).toBe(0);
  });
});

test('--dry-run names the outputs by the formats of the inputs', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'a.jpg'), 'x');
  writeFileSync(join(cwd, 'b.avif'), 'x');
  const run = await resident(['optimize', 'a.jpg', 'b.avif', '--out', 'o', '--dry-run'], { cwd });
  expect(run.out).toMatch(/o\/a\.jpg[\s\S]*o\/b\.avif/);
});

test('files beyond the limit of frames are refused before they are decoded', async () => {
  const files = {
    'a.gif': await animatedGif(frames(), TIMING),
    'b.png': await animatedPng(SIZE),
  };
  const batch = await runBatch(['optimize', '--max-frames', '1'], files);
  for (const name of Object.keys(files)) {
    expect(batch.record(name).error?.code, name).toBe('too_many_frames');
  }
});

test('--incremental makes an output again only with other targets', async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'in'));
  writeFileSync(join(cwd, 'in/a.jpg'), await photo(SIZE).jpeg({ quality: 95 }).toBuffer());
  const run = async (...args: string[]) => {
    const done = await resident(
      ['optimize', '-r', 'in', '--out', 'out', '--incremental', '--jsonl', ...args],
      { cwd },
    );
    const record = JSON.parse(done.out);
    return [record.reason?.code ?? record.status, readFileSync(join(cwd, 'out/a.jpg')).length];
  };
  const [first, size] = await run('--target-ssim', '0.95');
  expect(first).toBe('succeeded');
  expect(await run('--target-ssim', '0.95')).toEqual(['unchanged', size]);
  const [other, larger] = await run('--target-ssim', '0.97');
  expect(other).toBe('succeeded');
  expect(larger).toBeGreaterThan(size as number);
  const [last] = await run('--target-size', '3KB');
  expect(last).toBe('succeeded');
});

test('outputs of a recipe may have targets, which are in its report', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'a.png'), await pngOf(photo({ width: 200, height: 150 })));
  const recipe = `
steps: [{ resize: { width: 150 } }]
outputs:
  - { formats: [webp, jpeg], targetSize: 4KB }
  - { name: "{name}-8.{ext}", format: png, colors: 8 }`;
  writeFileSync(join(cwd, 'r.yaml'), recipe);
  const run = await resident(['run', 'r.yaml', 'a.png', '--out', 'out', '--json'], { cwd });
  const { outputs, data } = JSON.parse(run.out).results[0];
  expect(outputs.map(({ format }: { format: string }) => format)).toEqual(['webp', 'jpeg', 'png']);
  expect(outputs[0].size).toBeLessThanOrEqual(4000);
  expect(outputs[1].size).toBeLessThanOrEqual(4000);
  expect(data.targets.map(({ chosen }: Search) => chosen.size)).toEqual([
    outputs[0].size,
    outputs[1].size,
  ]);
  writeFileSync(join(cwd, 'bad.yaml'), 'outputs: [{ format: webp, targetSize: 4K }]');
  const bad = await resident(['recipe', 'check', 'bad.yaml'], { cwd });
  expect(bad.status).not.toBe(0);
  expect(bad.stderr + bad.out).toMatch(/targetSize.*KiB/);
});
