import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resize, resizedSize } from '../../../src/operations/steps/resize.ts';
import { parseFields } from '../../../src/schema/fields.ts';
import { runBatch, runOne } from '../../batch.ts';
import {
  animatedGif,
  animatedWebp,
  BLUE,
  disc,
  everyFormat,
  everyOrientation,
  GREEN,
  multipageTiff,
  painted,
  photo,
  pngOf,
  quadrants,
  RED,
  randomNumbers,
  type Size,
} from '../../fixtures/images.ts';
import { differences, expectColour, letter, type Pixels, quarters } from '../../pixels.ts';

const flat = (size: Size, colour: readonly number[] = RED) => painted(size, () => colour);
const png = (image: ReturnType<typeof flat>) => pngOf(image);
const sides = ({ width, height }: Size) => `${width}x${height}`;

describe('the size of the output', () => {
  /** Arguments, and what they make of a wide, a tall and a small image. */
  test.each([
    ['--width 60', '60x30', '60x120', '20x10'],
    ['--height 60', '120x60', '30x60', '20x10'],
    ['--width 60 --height 60', '60x30', '30x60', '20x10'],
    ['--width 60 --enlarge', '60x30', '60x120', '60x30'],
    ['--width 60 --height 60 --enlarge', '60x30', '30x60', '60x30'],
    ['--width 300 --height 300', '200x100', '100x200', '20x10'],
    ['--width 60 --height 60 --fit cover', '60x60', '60x60', '20x10'],
    ['--width 150 --height 150 --fit cover', '150x100', '100x150', '20x10'],
    ['--width 60 --height 60 --fit cover --enlarge', '60x60', '60x60', '60x60'],
    ['--width 60 --height 60 --fit contain', '60x60', '60x60', '60x60'],
    ['--width 60 --height 60 --fit contain --enlarge', '60x60', '60x60', '60x60'],
    ['--width 60 --height 60 --fit fill', '60x60', '60x60', '20x10'],
    ['--width 150 --height 150 --fit fill', '150x100', '100x150', '20x10'],
    ['--width 60 --height 60 --fit fill --enlarge', '60x60', '60x60', '60x60'],
    ['--width 60 --height 60 --fit outside', '120x60', '60x120', '20x10'],
    ['--width 60 --height 60 --fit outside --enlarge', '120x60', '60x120', '120x60'],
    ['--percent 50', '100x50', '50x100', '10x5'],
    ['--percent 12.5', '25x13', '13x25', '3x1'],
    ['--percent 400', '800x400', '400x800', '80x40'],
  ])('%s', async (flags, wide, tall, small) => {
    const batch = await runBatch(['resize', ...flags.split(' ')], {
      'wide.png': await png(flat({ width: 200, height: 100 })),
      'tall.png': await png(flat({ width: 100, height: 200 })),
      'small.png': await png(flat({ width: 20, height: 10 })),
    });
    const expected = { 'wide.png': wide, 'tall.png': tall, 'small.png': small };
    for (const [name, size] of Object.entries(expected)) {
      const pixels = await batch.pixels(name);
      expect(sides(pixels), name).toBe(size);
      expect(sides(batch.record(name) as Size), name).toBe(size);
      expect(letter(pixels, pixels.width >> 1, pixels.height >> 1), name).toBe('R');
    }
  });

  test.each([
    ['--width 50', { '101x57': '50x28', '57x101': '50x89', '999x2': '50x1', '1x700': '1x700' }],
    ['--height 33', { '101x57': '58x33', '57x101': '19x33', '999x2': '999x2', '1x700': '1x33' }],
    ['--width 31 --height 17', { '101x57': '30x17', '57x101': '10x17', '999x2': '31x1' }],
    ['--width 31 --height 17 --fit outside', { '101x57': '31x17', '57x101': '31x55' }],
  ] as [string, Record<string, string>][])(
    '%s rounds sides to the nearest pixel, at least one',
    async (flags, expected) => {
      const files: Record<string, Buffer> = {};
      for (const name of Object.keys(expected)) {
        const [width, height] = name.split('x').map(Number) as [number, number];
        files[`${name}.png`] = await png(flat({ width, height }));
      }
      const batch = await runBatch(['resize', ...flags.split(' ')], files);
      for (const [name, size] of Object.entries(expected)) {
        expect(sides(await batch.pixels(`${name}.png`)), name).toBe(size);
      }
    },
  );
});

describe('resizedSize', () => {
  const side = fc.integer({ min: 1, max: 8192 });
  const arguments_ = fc.record({
    from: fc.record({ width: side, height: side }),
    width: side,
    height: side,
    enlarge: fc.boolean(),
  });
  type Given = typeof arguments_ extends fc.Arbitrary<infer Value> ? Value : never;
  const sizes = ({ from, ...to }: Given, fit: string) =>
    resizedSize(from, parseFields(resize.options, { ...to, fit }));
  /** Each fit, and what must hold of its output. */
  const holds = (
    fit: string,
    law: (given: Given, sizes: ReturnType<typeof resizedSize>) => boolean,
  ) => fc.assert(fc.property(arguments_, (given) => law(given, sizes(given, fit))));
  const within = (inner: Size, outer: Size) =>
    inner.width <= outer.width && inner.height <= outer.height;

  test('inside: fits into the box, and touches it unless it is smaller', () => {
    holds('inside', (given, { final }) => {
      const touches = final.width === given.width || final.height === given.height;
      const asItWas = final.width === given.from.width && final.height === given.from.height;
      return within(final, given) && (touches || (asItWas && !given.enlarge));
    });
  });

  test('outside: covers the box, unless that would enlarge', () => {
    holds('outside', (given, { final }) => {
      const asItWas = final.width === given.from.width && final.height === given.from.height;
      return within(given, final) || (asItWas && !given.enlarge);
    });
  });

  test('cover: is the box, or smaller without enlargement', () => {
    holds('cover', (given, { scaled, final }) => {
      if (!within(final, scaled) || !within(final, given)) return false;
      return !given.enlarge || (final.width === given.width && final.height === given.height);
    });
  });

  test('contain: is the box, with the image inside it', () => {
    holds('contain', (given, { scaled, final }) => {
      return final.width === given.width && final.height === given.height && within(scaled, final);
    });
  });

  test('no fit enlarges without --enlarge', () => {
    for (const fit of ['inside', 'outside', 'cover', 'contain', 'fill']) {
      holds(fit, (given, { scaled }) => given.enlarge || within(scaled, given.from));
    }
  });
});

/** Where a position puts things along each axis: at the beginning, the middle or the end. */
const PLACES = {
  northwest: [0, 0],
  north: [1, 0],
  northeast: [2, 0],
  west: [0, 1],
  center: [1, 1],
  east: [2, 1],
  southwest: [0, 2],
  south: [1, 2],
  southeast: [2, 2],
} as const;

describe.each(Object.entries(PLACES))('position %s', (position, [x, y]) => {
  test('selects the part that cover keeps', async () => {
    const bands = [RED, GREEN, BLUE];
    const args = ['--width', '20', '--height', '20', '--fit', 'cover', '--position', position];
    const batch = await runBatch(['resize', ...args], {
      'wide.png': await png(
        painted({ width: 60, height: 20 }, (at) => bands[Math.floor(at / 20)]!),
      ),
      'tall.png': await png(
        painted({ width: 20, height: 60 }, (_, at) => bands[Math.floor(at / 20)]!),
      ),
    });
    const [wide, tall] = [await batch.pixels('wide.png'), await batch.pixels('tall.png')];
    expect(differences(wide, () => bands[x]!)).toEqual([]);
    expect(differences(tall, () => bands[y]!)).toEqual([]);
  });

  test('places the image of contain', async () => {
    const args = ['--width', '50', '--height', '40', '--fit', 'contain', '--position', position];
    const pixels = await runOne(
      ['resize', ...args],
      await png(flat({ width: 20, height: 10 }, BLUE)),
    );
    const [left, top] = [x * 15, y * 15];
    const inside = (column: number, row: number) =>
      column >= left && column < left + 20 && row >= top && row < top + 10;
    expect(sides(pixels)).toBe('50x40');
    expect(
      differences(pixels, (column, row) => (inside(column, row) ? BLUE : [255, 255, 255])),
    ).toEqual([]);
  });
});

describe('cover crops by content', () => {
  const cover = ['resize', '--width', '40', '--height', '40', '--fit', 'cover', '--position'];

  test('with position attention', async () => {
    const source = painted({ width: 160, height: 40 }, (x, y) =>
      Math.hypot(x - 130, y - 20) < 12 ? [230, 60, 40] : [128, 128, 128],
    );
    const pixels = await runOne([...cover, 'attention'], await png(source));
    const found = Array.from({ length: 40 }, (_, x) => letter(pixels, x, 20)).join('');
    expect(found).toContain('RRRRRRRRRR');
  });

  test('with position entropy', async () => {
    const random = randomNumbers(3);
    const source = painted({ width: 160, height: 40 }, (x) =>
      x < 40 ? [random(256), random(256), random(256)] : [0, 0, 0],
    );
    const pixels = await runOne([...cover, 'entropy'], await png(source));
    const dark = Array.from({ length: 40 }, (_, x) => pixels.rgb(x, 20)).filter(
      ([red, green, blue]) => red! + green! + blue! < 30,
    );
    expect(dark.length).toBeLessThan(12);
  });

  test.each(['attention', 'entropy'])('%s is refused for animations', async (position) => {
    const frames = [RED, GREEN].map((colour) => flat({ width: 60, height: 20 }, colour));
    const gif = await animatedGif(frames, { delay: [100, 100], loop: 0 });
    const batch = await runBatch([...cover, position], { 'a.gif': gif });
    expect(batch.record('a.gif').error?.code).toBe('animation_unsupported');
    const first = await runOne([...cover, position, '--animated', 'first'], gif, 'a.gif');
    expect([first.pages, letter(first, 10, 10)]).toEqual([1, 'R']);
  });
});

describe('the background of contain', () => {
  const contain = ['resize', '--width', '40', '--height', '60', '--fit', 'contain'];
  const sources = async () => ({
    'opaque.png': await png(flat({ width: 80, height: 40 }, BLUE)),
    'alpha.png': await png(disc({ width: 80, height: 40 })),
    'photo.jpg': await flat({ width: 80, height: 40 }, BLUE).jpeg({ quality: 100 }).toBuffer(),
    'grey.png': await png(painted({ width: 80, height: 40, channels: 1 }, () => [90])),
    'deep.png': await png(painted({ width: 80, height: 40, deep: true }, () => [40_001, 7, 9])),
    'grey-deep.png': await png(
      painted({ width: 80, height: 40, channels: 1, deep: true }, () => [40_001]),
    ),
  });

  test.each([
    [[], [255, 255, 255], 255],
    [['--background', '#ff8800'], [255, 136, 0], 255],
    [['--background', 'transparent'], [0, 0, 0], 0],
    [['--background', '#ff880080'], [255, 136, 0], 128],
  ])('with %j', async (flags, colour, alpha) => {
    const batch = await runBatch([...contain, ...flags], await sources());
    for (const [name, pixels] of await batch.decoded(await sources())) {
      const where = `${name} with ${flags}`;
      expect(sides(pixels), where).toBe('40x60');
      if (name === 'photo.jpg') {
        const onWhite = colour.map((sample) =>
          Math.round((sample * alpha + 255 * (255 - alpha)) / 255),
        );
        expectColour(pixels.rgb(2, 2), onWhite, 12, where);
        continue;
      }
      // Of sixteen bits sharp fills 255 x 256 for white.
      const scale = pixels.deep ? 257 : 1;
      const tolerance = pixels.deep ? 256 : 1;
      const border = [...pixels.rgb(2, 2), pixels.alpha(2, 2)];
      const expected = [...colour, alpha].map((sample) => sample * scale);
      expectColour(border, expected, tolerance, where);
      const middle = { 'opaque.png': BLUE, 'alpha.png': RED, 'grey.png': [90, 90, 90] }[name];
      if (middle) expectColour(pixels.rgb(20, 30), middle, 1, where);
      else if (name === 'deep.png') expectColour(pixels.rgb(20, 30), [40_001, 7, 9], 1, where);
      else expectColour(pixels.rgb(20, 30), [40_001, 40_001, 40_001], 1, where);
      expect(pixels.alpha(20, 30), where).toBe(255 * scale);
      if (name.startsWith('grey')) {
        const neutral = colour.every((sample) => sample === colour[0]);
        expect(pixels.metadata.channels! < 3, where).toBe(neutral);
      }
    }
  });
});

describe('pixels', () => {
  test('are repeated by nearest, and not by lanczos3', async () => {
    const random = randomNumbers(9);
    const source = Array.from({ length: 64 }, () => (random(2) ? [255, 255, 255] : [0, 0, 0]));
    const bytes = await png(painted({ width: 8, height: 8 }, (x, y) => source[y * 8 + x]!));
    const args = ['resize', '--width', '24', '--enlarge', '--kernel'];
    const nearest = await runOne([...args, 'nearest'], bytes);
    expect(
      differences(nearest, (x, y) => source[Math.floor(y / 3) * 8 + Math.floor(x / 3)]!),
    ).toEqual([]);
    const smooth = await runOne([...args, 'lanczos3'], bytes);
    expect(differences(smooth, nearest.rgb).length).toBeGreaterThan(0);
  });

  test('of a flat colour are kept by every kernel', async () => {
    const bytes = await png(flat({ width: 33, height: 21 }, [10, 200, 90]));
    for (const kernel of ['lanczos2', 'mitchell', 'cubic', 'linear', 'mks2013', 'mks2021']) {
      const pixels = await runOne(['resize', '--width', '15', '--kernel', kernel], bytes);
      const wrong = differences(pixels, () => [10, 200, 90]);
      expect(wrong, kernel).toEqual([]);
    }
  });

  test('beside transparency are not darkened', async () => {
    const source = await png(disc({ width: 120, height: 120 }));
    for (const flags of [
      ['--width', '35'],
      ['--width', '300', '--enlarge'],
    ]) {
      const pixels = await runOne(['resize', ...flags], source);
      for (let y = 0; y < pixels.height; y += 1) {
        for (let x = 0; x < pixels.width; x += 1) {
          // With little opacity left, eight bits do not tell the colour any more.
          if (pixels.alpha(x, y) < 32) continue;
          const [red = 0] = pixels.rgb(x, y);
          if (red < 247) expect.fail(`${x},${y} is ${pixels.rgb(x, y)} of ${flags}`);
        }
      }
      expect(pixels.alpha(0, 0)).toBe(0);
    }
  });

  test('keep depth and grey', async () => {
    const size = { width: 40, height: 30 };
    const deep = painted({ ...size, deep: true }, () => [40_001, 7, 65_535]);
    const grey = painted({ ...size, channels: 1 }, () => [90]);
    const batch = await runBatch(['resize', '--width', '20'], {
      'deep.png': await png(deep.clone()),
      'deep.tiff': await deep.tiff({ compression: 'lzw' }).toBuffer(),
      'grey.jpg': await grey.jpeg().toBuffer(),
      'grey16.png': await png(painted({ ...size, channels: 1, deep: true }, () => [40_001])),
    });
    for (const [name, pixels] of await batch.decoded(['deep.png', 'deep.tiff'])) {
      expect(pixels.metadata).toMatchObject({ depth: 'ushort', channels: 3 });
      const wrong = differences(pixels, () => [40_001, 7, 65_535]);
      expect(wrong, name).toEqual([]);
    }
    expect((await batch.pixels('grey.jpg')).metadata).toMatchObject({ channels: 1 });
    const grey16 = await batch.pixels('grey16.png');
    expect(grey16.metadata).toMatchObject({ depth: 'ushort', channels: 1 });
    expect(differences(grey16, () => [40_001, 40_001, 40_001])).toEqual([]);
  });

  test('of a large photograph are downscaled correctly', async () => {
    const size = { width: 640, height: 480 };
    const smooth = painted(size, (x, y) => [x / 3, y / 2, (x + y) / 5].map(Math.round));
    const batch = await runBatch(['resize', '--width', '40', '--format', 'png'], {
      'a.jpg': await smooth.clone().jpeg({ quality: 98 }).toBuffer(),
      'b.png': await smooth.clone().png().toBuffer(),
      'c.webp': await smooth.clone().webp({ quality: 98 }).toBuffer(),
    });
    for (const [name, pixels] of await batch.decoded(['a.jpg', 'b.png', 'c.webp'])) {
      for (const at of ['3,3', '20,15', '36,26']) {
        const [x, y] = at.split(',').map(Number) as [number, number];
        const [fromX, fromY] = [(x + 0.5) * 16, (y + 0.5) * 16];
        expectColour(pixels.rgb(x, y), [fromX / 3, fromY / 2, (fromX + fromY) / 5], 4, name);
      }
    }
  });
});

describe('inputs', () => {
  test('are measured oriented, for any EXIF orientation', async () => {
    const files = await everyOrientation({ width: 48, height: 32 });
    const cases: [string, string, string][] = [
      ['--width 24', '24x16', 'RGBW'],
      ['--width 20 --height 20 --fit cover', '20x20', 'RGBW'],
      ['--width 16 --height 24 --fit fill', '16x24', 'RGBW'],
      ['--width 24 --height 32 --fit cover --position west', '24x32', 'RRBB'],
    ];
    for (const [flags, size, look] of cases) {
      const args = ['resize', ...flags.split(' '), '--format', 'png'];
      const batch = await runBatch(args, files);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect([sides(pixels), quarters(pixels)], `${name} ${flags}`).toEqual([size, look]);
      }
    }
    const args = ['resize', '--width', '60', '--height', '60', '--fit', 'contain'];
    const batch = await runBatch([...args, '--position', 'southeast', '--format', 'png'], files);
    for (const [name, pixels] of await batch.decoded(files)) {
      const seen = [letter(pixels, 5, 20), letter(pixels, 20, 35), letter(pixels, 50, 35)];
      expect(seen.join(''), name).toBe('WRG');
    }
  });

  test('keep their format', async () => {
    const files = await everyFormat(quadrants({ width: 40, height: 40 }));
    const batch = await runBatch(['resize', '--width', '20'], files);
    const formats = batch.result.results.map(({ format }) => format);
    expect(formats).toEqual(['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff']);
    for (const [name, pixels] of await batch.decoded(files)) {
      expect(quarters(pixels), name).toBe('RGBW');
    }
  });

  test.each([
    '--width 20',
    '--width 80 --enlarge',
    '--width 30 --height 10 --fit fill',
    '--width 20 --height 20 --fit cover',
    '--width 20 --height 30 --fit contain --background black',
  ])('of several frames are resized frame by frame: %s', async (flags) => {
    const frames = [RED, GREEN, BLUE].map((colour) => flat({ width: 40, height: 36 }, colour));
    const timing = { delay: [100, 200, 300], loop: 2 };
    const batch = await runBatch(['resize', ...flags.split(' '), '--lossless'], {
      'a.gif': await animatedGif(frames, timing),
      'b.webp': await animatedWebp(frames, timing),
      'c.tiff': await multipageTiff(frames),
    });
    for (const [name, pixels] of await batch.decoded(['a.gif', 'b.webp', 'c.tiff'])) {
      expect(pixels.pages, name).toBe(3);
      expect(sides(batch.record(name) as Size)).toBe(sides(pixels));
      if (name !== 'c.tiff') expect(pixels.metadata).toMatchObject(timing);
      [RED, GREEN, BLUE].forEach((colour, page) => {
        expect(coloursOf(pixels, page), `page ${page} of ${name}`).toEqual(
          flags.includes('contain') ? new Set(['0,0,0', colour.join()]) : new Set([colour.join()]),
        );
      });
    }
  });

  function coloursOf(pixels: Pixels, page: number): Set<string> {
    const found = new Set<string>();
    for (let y = 0; y < pixels.height; y += 1) {
      for (let x = 0; x < pixels.width; x += 1) found.add(pixels.rgb(x, y, page).join());
    }
    return found;
  }
});

test.each([
  ['webp', 16_383],
  ['avif', 16_384],
  ['jpeg', 65_500],
])('an output beyond the sides of %s fails before any work', async (format, most) => {
  const files = { 'a.png': await png(photo({ width: 1, height: 1 })) };
  const args = ['resize', '--height', '1', '--fit', 'fill', '--enlarge', '--format', format];
  const resized = async (width: number) => {
    const sides = ['--width', String(width), '--max-side', '65535'];
    return (await runBatch([...args, ...sides], files)).record('a.png');
  };
  expect(await resized(most)).toMatchObject({ width: most, height: 1 });
  expect((await resized(most + 1)).error).toEqual({
    code: 'output_too_large',
    message: `the output would be ${most + 1}x1, more than ${most} pixels along a side of ${format.toUpperCase()}`,
  });
});

test('an output beyond the limit fails only its file', async () => {
  const frames = Array.from({ length: 30 }, (_, index) =>
    painted({ width: 30, height: 20 }, (x) => [index * 8, x, 0]),
  );
  const files = {
    'wide.png': await png(photo({ width: 300, height: 10 })),
    'square.png': await png(photo({ width: 20, height: 20 })),
    'frames.gif': await animatedGif(frames, { delay: frames.map(() => 50), loop: 0 }),
  };
  const args = ['resize', '--percent', '400', '--max-side', '1000', '--max-pixels', '0.05'];
  const batch = await runBatch(args, files);
  expect(batch.code).toBe(1);
  expect(batch.record('wide.png').error?.code).toBe('output_too_large');
  expect(batch.record('square.png')).toMatchObject({ width: 80, height: 80 });
  // 120x80 in thirty frames is more than four times the limit; one such frame is not.
  expect(batch.record('frames.gif').error).toEqual({
    code: 'output_too_large',
    message: 'the output would be 120x80 in 30 frames, more than 0.2 megapixels',
  });
  const still = await runBatch([...args, '--format', 'png'], files);
  expect(still.record('frames.gif')).toMatchObject({ width: 120, height: 80 });
});
