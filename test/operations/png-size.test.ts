import { spawnSync } from 'node:child_process';
import sharp, { type PngOptions, type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { runBatch, runOne } from '../batch.ts';
import {
  PRIVATE_EXIF,
  PRIVATE_XMP,
  painted,
  photo,
  pngChunk,
  pngOf,
  quadrants,
  randomNumbers,
  storedAs,
} from '../fixtures/images.ts';
import { displayP3, ORANGE } from '../fixtures/kinds.ts';
import { expectColour, expectSamePixels } from '../pixels.ts';

const TO_PNG = ['convert', '--format', 'png'];
const SIZE = { width: 67, height: 45 };

/** So many colours, mixed at random; every third one is half transparent. */
function colours(count: number, channels: 3 | 4): Sharp {
  const random = randomNumbers(count);
  return painted({ ...SIZE, channels }, (x, y) => {
    const place = y * SIZE.width + x;
    const index = place < count ? place : random(count);
    const alpha = index % 3 === 2 ? 128 : 255;
    return [index % 256, (index * 7) % 256, Math.floor(index / 256), alpha].slice(0, channels);
  });
}

function levels(values: readonly number[]): Sharp {
  return painted({ ...SIZE, channels: 1 }, (x, y) => [values[(x + y) % values.length]!]);
}

/** Names of a PNG's chunks. */
function chunkNames(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    names.push(bytes.toString('latin1', at + 4, at + 8));
  }
  return names;
}

const DEPTH = 24;
const COLOUR_TYPE = 25;
const INTERLACE = 28;

describe('PNG output', () => {
  test.each([
    [2, 1],
    [3, 2],
    [4, 2],
    [5, 4],
    [16, 4],
    [17, 8],
    [256, 8],
  ])('of %i colours has a palette of %i bits and the same pixels', async (count, depth) => {
    for (const channels of [3, 4] as const) {
      const input = await pngOf(colours(count, channels));
      const { bytes } = await runOne([...TO_PNG, '--effort', '9'], input);
      expect([bytes[DEPTH], bytes[COLOUR_TYPE]]).toEqual([depth, 3]);
      expect(bytes.length).toBeLessThan(input.length);
      await expectSamePixels(bytes, input);
    }
  });

  test('of 257 colours has no palette', async () => {
    const input = await pngOf(colours(257, 3));
    const { bytes } = await runOne(TO_PNG, input);
    expect([bytes[DEPTH], bytes[COLOUR_TYPE]]).toEqual([8, 2]);
    await expectSamePixels(bytes, input);
  });

  test.each([
    [[0, 255], 1],
    [[0, 85, 170, 255], 2],
    [[17, 34, 204], 4],
    [[0, 1, 255], 8],
  ])('of the grey levels %j has %i bits', async (values, depth) => {
    const input = await pngOf(levels(values));
    const { bytes } = await runOne(TO_PNG, input);
    expect([bytes[DEPTH], bytes[COLOUR_TYPE]]).toEqual([depth, 0]);
    await expectSamePixels(bytes, input);
  });

  test('of 16 bits keeps 16 bits', async () => {
    const deep = painted({ ...SIZE, deep: true }, (x) => [x > 9 ? 65_535 : 257, 0, 4096]);
    const input = await pngOf(deep);
    const { bytes } = await runOne(TO_PNG, input);
    expect(bytes[DEPTH]).toBe(16);
    await expectSamePixels(bytes, input);
  });

  test('of a GIF keeps its palette', async () => {
    const input = await colours(200, 3).gif({ dither: 0 }).toBuffer();
    const { bytes } = await runOne(TO_PNG, input, 'a.gif');
    expect(bytes[COLOUR_TYPE]).toBe(3);
    await expectSamePixels(bytes, input);
  });

  test.each([
    ['rotate', '--angle', '90'],
    ['crop', '--left', '3', '--top', '3', '--width', '50', '--height', '30'],
    ['resize', '--percent', '200', '--kernel', 'nearest'],
  ])('of %s has a palette where the input had one', async (...args) => {
    const input = await colours(16, 3).png({ palette: true, colours: 16 }).toBuffer();
    const { bytes } = await runOne(args, input);
    expect([bytes[DEPTH], bytes[COLOUR_TYPE]]).toEqual([4, 3]);
  });

  test('has a density only where the input has one', async () => {
    const plain = await pngOf(photo(SIZE));
    const at = plain.indexOf('pHYs') - 4;
    const without = Buffer.concat([plain.subarray(0, at), plain.subarray(at + 21)]);
    const dense = await pngOf(photo(SIZE).withDensity(300));
    const files = { 'without.png': without, 'with.png': dense };
    // Trimming reads the pixels again.
    for (const args of [TO_PNG, ['trim']]) {
      const batch = await runBatch(args, files);
      expect(chunkNames(batch.bytes('without.png'))).not.toContain('pHYs');
      expect((await sharp(batch.bytes('with.png')).metadata()).density).toBe(300);
    }
    const batch = await runBatch(['metadata'], files);
    expect(batch.record('without.png').data).not.toHaveProperty('density');
  });
});

describe('PNG converted to PNG', () => {
  const smooth = (options: PngOptions = {}) =>
    painted({ width: 200, height: 150 }, (x, y) => [x, y, (x + y) >> 1])
      .png({ compressionLevel: 9, adaptiveFiltering: true, ...options })
      .toBuffer();

  test.each(['srgb', 'rgb16'] as const)(
    'keeps pixels in %s whose profile is sRGB, or stays',
    async (space) => {
      const input = await painted({ width: 200, height: 150, deep: space === 'rgb16' }, (x, y) => [
        ...[x, y, (x + y) >> 1].map((sample) => (space === 'rgb16' ? sample * 257 : sample)),
      ])
        .withIccProfile('srgb')
        .toColourspace(space)
        .png({ compressionLevel: 9, adaptiveFiltering: true })
        .toBuffer();
      const stored = await sharp(input, { ignoreIcc: true }).toColourspace(space).raw().toBuffer();
      for (const options of [[], ['--metadata', 'icc']]) {
        const { bytes } = await runOne([...TO_PNG, ...options], input);
        expect(bytes.length).toBeLessThanOrEqual(input.length);
        const plain = sharp(bytes, { ignoreIcc: true }).toColourspace(space);
        expect((await plain.raw().toBuffer()).equals(stored)).toBe(true);
      }
    },
  );

  test.each([
    ['convert', '--format', 'png'],
    ['resize', '--width', '500'],
  ])('is not larger with %s', async (...args) => {
    const inputs = {
      'filtered.png': await smooth(),
      'interlaced.png': await smooth({ progressive: true }),
      'palette.png': await colours(200, 4).png({ palette: true, effort: 10 }).toBuffer(),
      'grey.png': await levels([0, 255]).png({ palette: true, colours: 2 }).toBuffer(),
      'deep.png': await photo(SIZE)
        .toColourspace('rgb16')
        .png({ compressionLevel: 9, adaptiveFiltering: true })
        .toBuffer(),
    };
    const batch = await runBatch(args, inputs);
    for (const [name, input] of Object.entries(inputs)) {
      expect(batch.bytes(name).length, name).toBeLessThanOrEqual(input.length);
      await expectSamePixels(batch.bytes(name), input);
    }
  });

  test('is interlaced with --progressive', async () => {
    const { bytes } = await runOne([...TO_PNG, '--progressive'], await smooth());
    expect(bytes[INTERLACE]).toBe(1);
  });

  test('loses metadata and bytes after its image data', async () => {
    const whole = await painted({ width: 200, height: 150 }, (x, y) => [x, y, (x + y) >> 1])
      .withExif(PRIVATE_EXIF)
      .withXmp(PRIVATE_XMP)
      .png({ compressionLevel: 9, adaptiveFiltering: true })
      .toBuffer();
    const end = whole.indexOf('IEND') - 4;
    const input = Buffer.concat([
      whole.subarray(0, end),
      pngChunk('IDAT', Buffer.from('hidden')),
      whole.subarray(end),
      Buffer.from('hidden'),
    ]);
    const { bytes } = await runOne(TO_PNG, input);
    expect(bytes.length).toBeLessThan(input.length);
    expect(bytes.includes('hidden')).toBe(false);
    expect(chunkNames(bytes).filter((name) => name !== 'pHYs')).toEqual(['IHDR', 'IDAT', 'IEND']);
    const { bytes: tagged } = await runOne([...TO_PNG, '--metadata', 'all'], input);
    expect(chunkNames(tagged)).toContain('eXIf');
  });

  test('is oriented and converted to sRGB even where it becomes larger', async () => {
    const oriented = await storedAs(quadrants({ width: 40, height: 20 }), 6);
    const batch = await runBatch(TO_PNG, {
      'turned.png': await pngOf(oriented),
      ...(await displayP3()),
    });
    expect(batch.record('turned.png')).toMatchObject({ width: 40, height: 20 });
    expectColour((await batch.pixels('p3.png')).rgb(0, 0), ORANGE.srgb, 2);
  });
});

test('the highest effort lets zopflipng compress, and keeps metadata', async (context) => {
  context.skip(spawnSync('zopflipng', ['--help']).error !== undefined, 'zopfli is not installed');
  const file = await photo({ width: 120, height: 90 })
    .withExif({ IFD0: { Artist: 'A' } })
    .png()
    .toBuffer();
  const optimized = async (...flags: string[]) =>
    runOne(['optimize', '--metadata', 'all', ...flags], file);
  const [usual, packed] = [await optimized(), await optimized('--effort', '9')];
  expect(packed.bytes.length).toBeLessThan(usual.bytes.length);
  expect(packed.metadata.exif).toEqual(usual.metadata.exif);
  expect(await sharp(packed.bytes).raw().toBuffer()).toEqual(await sharp(file).raw().toBuffer());
});
