import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { decodable } from '../../src/images/bitmap/decode-dib.ts';
import { DEFAULT_LIMITS } from '../../src/images/limits.ts';
import { type Files, runBatch } from '../batch.ts';
import { bmp, dib, ico, rows } from '../fixtures/bitmaps.ts';
import { photo, pngOf } from '../fixtures/images.ts';
import { decode } from '../pixels.ts';
import { runs } from '../runs.ts';

/** Wide enough that rows of every depth end with padding. */
const SIZE = { width: 21, height: 9 };
const RED = [255, 0, 0];
const BLUE = [0, 0, 255];
const WHITE = [255, 255, 255];
const GREEN = [0, 128, 0];
const COLOURS = [RED, BLUE, WHITE, GREEN];

/** Which colour a pixel has: no row, column or quarter is like another. */
const colourAt = (x: number, y: number) => (x * 7 + y * 3 + ((x * y) % 5)) % 4;

const packed = ([red = 0, green = 0, blue = 0]: readonly number[]) =>
  red * 65_536 + green * 256 + blue;

function indexed(bits: number, height = SIZE.height) {
  const palette = bits === 1 ? COLOURS.slice(0, 2) : COLOURS;
  const shape = { width: SIZE.width, height, bits };
  return { ...shape, palette, data: rows(shape, (x, y) => colourAt(x, y) % palette.length) };
}

function direct(
  bits: number,
  sampleOf: (colour: readonly number[]) => number,
  height = SIZE.height,
) {
  const shape = { width: SIZE.width, height, bits };
  return { ...shape, data: rows(shape, (x, y) => sampleOf(COLOURS[colourAt(x, y)]!)) };
}

const in555 = ([red = 0, green = 0, blue = 0]: readonly number[]) =>
  ((red >> 3) << 10) | ((green >> 3) << 5) | (blue >> 3);
const in565 = ([red = 0, green = 0, blue = 0]: readonly number[]) =>
  ((red >> 3) << 11) | ((green >> 2) << 5) | (blue >> 3);
const MASKS_565 = [0xf800, 0x7e0, 0x1f];

/** Runs of one pixel, with a literal run, a delta of nothing and the end of each row. */
function rle(bits: 4 | 8): Buffer {
  const bytes: number[] = [];
  for (let y = SIZE.height - 1; y >= 0; y -= 1) {
    const first = [0, 1, 2].map((x) => colourAt(x, y));
    if (bits === 8) bytes.push(0, 3, ...first, 0);
    else bytes.push(0, 3, (first[0]! << 4) | first[1]!, first[2]! << 4);
    bytes.push(0, 2, 0, 0);
    for (let x = 3; x < SIZE.width; x += 1) {
      const colour = colourAt(x, y);
      bytes.push(1, bits === 8 ? colour : colour << 4);
    }
    bytes.push(0, 0);
  }
  return Buffer.from([...bytes, 0, 1]);
}

const KINDS: Files = {
  '1.bmp': bmp(indexed(1)),
  '2.bmp': bmp(indexed(2)),
  '4.bmp': bmp(indexed(4)),
  '8.bmp': bmp(indexed(8)),
  '8-top.bmp': bmp(indexed(8, -SIZE.height)),
  '8-os2.bmp': bmp({ ...indexed(8), header: 12 }),
  '8-os2-2.bmp': bmp({ ...indexed(8), header: 64 }),
  'rle8.bmp': bmp({ ...indexed(8), compression: 1, data: rle(8) }),
  'rle4.bmp': bmp({ ...indexed(4), compression: 2, data: rle(4) }),
  '16.bmp': bmp(direct(16, in555)),
  '565.bmp': bmp({ ...direct(16, in565), compression: 3, masks: MASKS_565 }),
  '565-v5.bmp': bmp({ ...direct(16, in565), header: 124, compression: 3, masks: MASKS_565 }),
  '24.bmp': bmp(direct(24, packed)),
  '24-top.bmp': bmp(direct(24, packed, -SIZE.height)),
  '32.bmp': bmp(direct(32, packed)),
  'rgbx.bmp': bmp({
    ...direct(32, (colour) => packed(colour) * 256),
    header: 108,
    compression: 3,
    masks: [0xff000000, 0xff0000, 0xff00, 0],
  }),
  '10.bmp': bmp({
    ...direct(
      32,
      ([red = 0, green = 0, blue = 0]) => red * 4 * 2 ** 20 + green * 4 * 1024 + blue * 4,
    ),
    compression: 3,
    masks: [0x3ff00000, 0xffc00, 0x3ff],
  }),
};

const HALF = { ...SIZE, bits: 1 };

describe('BMP', () => {
  test('of every depth, row order, compression and header gives its pixels', async () => {
    const batch = await runBatch(['convert', '--format', 'png'], KINDS);
    for (const [name, pixels] of await batch.decoded(KINDS)) {
      expect([name, pixels.width, pixels.height]).toEqual([name, SIZE.width, SIZE.height]);
      const colours = name === '1.bmp' ? 2 : 4;
      // Half a step of five bits.
      const tolerance = name.includes('16') || name.includes('565') ? 5 : 0;
      for (let y = 0; y < SIZE.height; y += 1) {
        for (let x = 0; x < SIZE.width; x += 1) {
          const expected = COLOURS[colourAt(x, y) % colours]!;
          const worst = Math.max(
            ...pixels.rgb(x, y).map((sample, channel) => Math.abs(sample - expected[channel]!)),
          );
          expect(worst, `${name} ${x},${y} is ${pixels.rgb(x, y)}`).toBeLessThanOrEqual(tolerance);
        }
      }
    }
  });

  test('keeps transparency of a mask, grey palettes, and the density', async () => {
    const shape = { ...SIZE, bits: 32 };
    const data = rows(shape, (x) => x * 12 * 2 ** 24 + 0x102030);
    const levels = Array.from({ length: 256 }, (_, level) => [level, level, level]);
    const files = {
      'alpha.bmp': bmp({
        ...{ ...shape, header: 124, compression: 3, data },
        masks: [0xff0000, 0xff00, 0xff, 0xff000000],
      }),
      'unset.bmp': bmp({
        ...{ ...shape, header: 124, compression: 3, data: rows(shape, () => 0x102030) },
        masks: [0xff0000, 0xff00, 0xff, 0xff000000],
      }),
      'grey.bmp': bmp({ ...indexed(8), palette: levels, pixelsPerMetre: 11_811 }),
    };
    const seen = await runBatch(['metadata'], files);
    const facts = (name: string) => seen.record(name).data;
    expect(facts('alpha.bmp')).toMatchObject({
      format: 'bmp',
      mediaType: 'image/bmp',
      hasAlpha: true,
    });
    expect(facts('unset.bmp')).toMatchObject({ hasAlpha: false });
    expect(facts('grey.bmp')).toMatchObject({ space: 'b-w', channels: 1, density: 300 });
    const batch = await runBatch(['convert', '--format', 'png'], files);
    const alpha = await batch.pixels('alpha.bmp');
    expect([alpha.rgb(10, 2), alpha.alpha(10, 2)]).toEqual([[0x10, 0x20, 0x30], 120]);
    expect((await batch.pixels('unset.bmp')).rgb(10, 2)).toEqual([0x10, 0x20, 0x30]);
  });

  test('applies an embedded colour profile', async () => {
    const p3 = await pngOf(
      sharp({ create: { ...SIZE, channels: 3, background: 'red' } }).withIccProfile('p3'),
    );
    const profile = (await sharp(p3).metadata()).icc!;
    const plain = bmp({ ...direct(24, () => 0xc81e1e), header: 124 });
    plain.writeUInt32LE(0x4d424544, 14 + 56);
    plain.writeUInt32LE(plain.length - 14, 14 + 112);
    plain.writeUInt32LE(profile.length, 14 + 116);
    const batch = await runBatch(['convert', '--format', 'png'], {
      'p3.bmp': Buffer.concat([plain, profile]),
    });
    // More saturated than sRGB can show: red grows and green shrinks.
    const [red, green] = (await batch.pixels('p3.bmp')).rgb(1, 1);
    expect([red! > 0xc8, green! < 0x1e]).toEqual([true, true]);
  });

  test('with indices beyond its palette is black there', async () => {
    const shape = { ...SIZE, bits: 8 };
    const image = bmp({ ...shape, palette: [RED], data: rows(shape, (x) => (x === 0 ? 0 : 200)) });
    const pixels = await (
      await runBatch(['convert', '--format', 'png'], { 'a.bmp': image })
    ).pixels('a.bmp');
    expect([pixels.rgb(0, 0), pixels.rgb(5, 5)]).toEqual([RED, [0, 0, 0]]);
  });

  test('that is truncated, larger than the limits or of an odd kind fails with a code', async () => {
    const whole = KINDS['24.bmp']!;
    const codes: Record<string, [string, Uint8Array]> = {
      'half.bmp': ['corrupt_image', whole.subarray(0, whole.length / 2)],
      'header.bmp': ['corrupt_image', whole.subarray(0, 40)],
      'rle.bmp': ['corrupt_image', KINDS['rle8.bmp']!.subarray(0, -60)],
      'huge.bmp': ['image_too_large', bmp({ ...indexed(8), width: 60_000, height: 60_000 })],
      'huge-rle.bmp': [
        'image_too_large',
        bmp({ ...indexed(8), compression: 1, width: 2 ** 31 - 1, height: 2 ** 31 - 1 }),
      ],
      'zero.bmp': ['corrupt_image', bmp({ ...indexed(8), width: 0 })],
      'least.bmp': ['corrupt_image', bmp({ ...indexed(8), height: -(2 ** 31) })],
      'depth.bmp': ['corrupt_image', bmp({ ...indexed(8), bits: 7 })],
      'jpeg.bmp': ['unsupported_format', bmp({ ...indexed(8), compression: 4 })],
      'top-rle.bmp': ['corrupt_image', bmp({ ...indexed(8, -9), compression: 1, data: rle(8) })],
      'text.bmp': [
        'unsupported_format',
        Buffer.from('BMW makes cars, and this is a text of them.'),
      ],
    };
    const files = Object.fromEntries(
      Object.entries(codes).map(([name, [, bytes]]) => [name, bytes]),
    );
    const batch = await runBatch(['convert', '--format', 'png'], files);
    for (const [name, [code]] of Object.entries(codes)) {
      const expected = name === 'least.bmp' ? 'image_too_large' : code;
      expect([name, batch.record(name).error?.code]).toEqual([name, expected]);
    }
  });

  test('is read by reports, recipes and comparisons as other formats are', async () => {
    const files = { 'really.png': KINDS['24.bmp']!, 'also.jpg': KINDS['8.bmp']! };
    const palette = await runBatch(['palette', '--count', '4'], files);
    expect(JSON.stringify(palette.record('also.jpg').data)).toBe(
      JSON.stringify(palette.record('really.png').data),
    );
    const recipe = 'outputs: [{ when: { format: bmp }, format: webp }]';
    const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
    writeFileSync(join(folder, 'a.yaml'), recipe);
    const made = await runBatch(['run', join(folder, 'a.yaml')], files);
    rmSync(folder, { recursive: true });
    expect(made.record('also.jpg').outputs).toMatchObject([{ format: 'webp', width: 21 }]);
    const resized = await runBatch(['resize', '--width', '10'], files);
    expect(resized.record('really.png').format).toBe('png');
  });
});

describe('ICO', () => {
  const mask = (transparent: (x: number, y: number) => boolean) =>
    rows(HALF, (x, y) => (transparent(x, y) ? 1 : 0));
  const icon = (image: ReturnType<typeof direct>, and: Uint8Array, more: object = {}) =>
    dib({ ...image, ...more, height: SIZE.height * 2, data: Buffer.concat([image.data, and]) });
  const inCorner = (x: number, y: number) => x < 3 && y < 2;

  test('gives its largest image, with the transparency of its mask', async () => {
    const small = {
      width: 16,
      height: 16,
      bytes: await pngOf(
        sharp({
          create: { width: 16, height: 16, channels: 3, background: 'black' },
        }),
      ),
    };
    const large = await pngOf(photo({ width: 300, height: 290 }));
    const opaque = direct(32, (colour) => 0xff000000 + packed(colour));
    const files = {
      '24.ico': ico([{ ...SIZE, bytes: icon(direct(24, packed), mask(inCorner)) }]),
      '8.ico': ico([{ ...SIZE, bytes: icon(indexed(8), mask(inCorner)) }]),
      'unset.ico': ico([{ ...SIZE, bytes: icon(direct(32, packed), mask(inCorner)) }]),
      '32.ico': ico([
        {
          ...SIZE,
          bytes: icon(
            opaque,
            mask(() => true),
          ),
        },
      ]),
      'none.ico': ico([{ ...SIZE, bytes: icon(opaque, Buffer.alloc(0)) }]),
      'png.ico': ico([small, { width: 0, height: 0, bytes: large }, small]),
    };
    const batch = await runBatch(['convert', '--format', 'png'], files);
    expect(await decode(batch.bytes('png.ico'))).toMatchObject({ width: 300, height: 290 });
    for (const [name, pixels] of await batch.decoded([
      '24.ico',
      '8.ico',
      'unset.ico',
      '32.ico',
      'none.ico',
    ])) {
      const masked = name === '32.ico' || name === 'none.ico' ? 255 : 0;
      expect([name, pixels.width, pixels.height]).toEqual([name, SIZE.width, SIZE.height]);
      expect(pixels.rgb(10, 4), name).toEqual(COLOURS[colourAt(10, 4)]);
      const alphas = [pixels.alpha(2, 1), pixels.alpha(3, 1), pixels.alpha(2, 2)];
      expect(alphas, name).toEqual([masked, 255, 255]);
    }
  });

  test('that is truncated, empty or too large fails with a code', async () => {
    const one = ico([{ ...SIZE, bytes: icon(direct(24, packed), mask(inCorner)) }]);
    const codes: Record<string, [string, Uint8Array]> = {
      'cut.ico': ['corrupt_image', one.subarray(0, one.length - 20)],
      'directory.ico': ['corrupt_image', one.subarray(0, 12)],
      'empty.ico': ['corrupt_image', ico([])],
      'mask.ico': [
        'corrupt_image',
        ico([{ ...SIZE, bytes: icon(direct(24, packed), Buffer.alloc(0)) }]),
      ],
      'huge.ico': [
        'image_too_large',
        ico([{ ...SIZE, bytes: dib({ ...direct(24, packed), width: 30_000, height: 60_000 }) }]),
      ],
    };
    const files = Object.fromEntries(
      Object.entries(codes).map(([name, [, bytes]]) => [name, bytes]),
    );
    const batch = await runBatch(['metadata'], files);
    for (const [name, [code]] of Object.entries(codes)) {
      expect([name, batch.record(name).error?.code]).toEqual([name, code]);
    }
  });
});

describe('changed bytes', () => {
  const originals = [
    ...Object.values(KINDS),
    ico([
      { ...SIZE, bytes: dib({ ...direct(32, packed), height: 18, data: Buffer.alloc(1000, 7) }) },
    ]),
  ];
  const limits = { ...DEFAULT_LIMITS, pixels: 100_000 };

  test('of BMP and ICO files give pixels or a failure of the file', () => {
    const change = fc.tuple(fc.nat({ max: 200 }), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(
        fc.constantFrom(...originals),
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.nat({ max: 400 }),
        (original, changes, cut) => {
          const file = new Uint8Array(
            original.subarray(0, original.length - (cut > 200 ? 0 : cut)),
          );
          for (const [at, value] of changes) if (at < file.length) file[at] = value;
          try {
            decodable({ file, limits, admit() {} });
          } catch (error) {
            expect(error).toBeInstanceOf(Failure);
          }
        },
      ),
      { numRuns: runs(8000) },
    );
  });
});

const magick = spawnSync('convert', ['-version'], { encoding: 'utf8' }).stdout ?? '';
const missing = !magick.includes('ImageMagick');

describe.skipIf(missing)(
  `ImageMagick${missing ? ' (left out: convert is not installed)' : ''}`,
  () => {
    test('writes BMP and ICO files whose pixels are read as it reads them', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
      try {
        const source = join(folder, 'source.png');
        writeFileSync(source, await pngOf(photo({ width: 61, height: 37 })));
        const indices = ['-colors', '200', '-type', 'palette'];
        const kinds: Record<string, string[]> = {
          'a24.bmp': ['BMP3:'],
          'v4.bmp': ['BMP:'],
          'os2.bmp': ['BMP2:'],
          'a8.bmp': [...indices, '-compress', 'none', 'BMP3:'],
          'rle.bmp': [...indices, '-compress', 'RLE', 'BMP3:'],
          'a1.bmp': ['-monochrome', 'BMP3:'],
          'alpha.bmp': ['-alpha', 'set', '-channel', 'A', '-evaluate', 'set', '40%', 'BMP:'],
          'icon.ico': ['-resize', '48x48!', 'ICO:'],
        };
        const names = Object.keys(kinds);
        const path = (name: string) => join(folder, name);
        const run = (...args: string[]) =>
          expect(spawnSync('convert', args, { encoding: 'utf8' }).stderr).toBe('');
        for (const [name, args] of Object.entries(kinds)) {
          run(source, ...args.slice(0, -1), `${args.at(-1)}${path(name)}`);
          run(path(name), '-depth', '8', `PNG32:${path(`${name}.png`)}`);
        }
        const batch = await runBatch(
          ['convert', '--format', 'png'],
          Object.fromEntries(names.map((name) => [name, readFileSync(path(name))])),
        );
        const raw = (bytes: Uint8Array) =>
          sharp(bytes).toColourspace('srgb').ensureAlpha().raw().toBuffer();
        for (const name of names) {
          const own = await raw(batch.bytes(name));
          const reference = await raw(readFileSync(path(`${name}.png`)));
          expect([name, own.equals(reference)]).toEqual([name, true]);
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
);
