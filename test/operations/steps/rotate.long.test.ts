import { describe, expect, test } from 'vitest';
import { type Batch, runBatch, runOne } from '../../batch.ts';
import {
  animatedGif,
  animatedWebp,
  BLACK,
  BLUE,
  disc,
  everyFormat,
  everyOrientation,
  GREEN,
  multipageTiff,
  painted,
  pngOf,
  quadrants,
  RED,
} from '../../fixtures/images.ts';
import { differences, expectColour, letter, type Pixels, quarters } from '../../pixels.ts';

const UPRIGHT = { width: 48, height: 32 };
const picture = () => pngOf(quadrants(UPRIGHT));
const turn = async (flags: string, bytes = picture()) =>
  runOne(['rotate', ...flags.split(' ')], await bytes);
/** The rows and columns of the first and the last pixels. */
const corners = ({ width, height }: Pixels) =>
  [0, width - 1].flatMap((x) => [0, height - 1].map((y) => [x, y] as const));

/** What the quadrants RGBW become, in reading order. */
const TURNED = { 0: 'RGBW', 90: 'BRWG', 180: 'WBGR', 270: 'GWRB' } as const;
const flipped = ([a, b, c, d]: string) => `${c}${d}${a}${b}`;
const flopped = ([a, b, c, d]: string) => `${b}${a}${d}${c}`;

describe('quarter turns', () => {
  test.each([
    [0, 0],
    [90, 90],
    [180, 180],
    [270, 270],
    [-90, 270],
    [360, 0],
  ] as const)('%i degrees rotate clockwise', async (angle, same) => {
    const pixels = await turn(`--angle=${angle}`);
    const sides = same % 180 === 0 ? [48, 32] : [32, 48];
    expect([pixels.width, pixels.height]).toEqual(sides);
    expect(quarters(pixels)).toBe(TURNED[same]);
    expect(pixels.metadata.channels).toBe(3);
  });

  test.each([
    ['--angle 90 --flip', flipped(TURNED[90])],
    ['--angle 90 --flop', flopped(TURNED[90])],
    ['--angle 90 --flip --flop', flipped(flopped(TURNED[90]))],
    ['--angle -90 --flip', flipped(TURNED[270])],
    ['--angle 180 --flop', flopped(TURNED[180])],
    ['--flip', flipped('RGBW')],
    ['--flop', flopped('RGBW')],
  ])('%s rotates, then mirrors', async (flags, expected) => {
    expect(quarters(await turn(flags))).toBe(expected);
  });

  test('all pixels keep their values', async () => {
    const source = painted({ width: 7, height: 5 }, (x, y) => [x * 30, y * 50, x + y]);
    const pixels = await turn('--angle 90', pngOf(source));
    expect([pixels.width, pixels.height]).toEqual([5, 7]);
    expect(differences(pixels, (x, y) => [y * 30, (4 - x) * 50, y + 4 - x])).toEqual([]);
  });
});

describe('other angles', () => {
  test.each([
    ['45', 57, 57],
    ['30.5', 58, 52],
    ['-12.25', 54, 41],
  ])('at %s degrees the output is the bounding box', async (angle, width, height) => {
    const pixels = await turn(`--angle=${angle}`);
    // The box of libvips may be a pixel wider than the sum of sines and cosines.
    expect(Math.abs(pixels.width - width)).toBeLessThanOrEqual(1);
    expect(Math.abs(pixels.height - height)).toBeLessThanOrEqual(1);
  });

  test('edges beside transparent corners are not darkened', async () => {
    const white = painted({ width: 40, height: 40 }, () => [255, 255, 255]);
    const pixels = await turn('--angle 30', pngOf(white));
    for (let y = 0; y < pixels.height; y += 1) {
      for (let x = 0; x < pixels.width; x += 1) {
        if (pixels.alpha(x, y) > 0) expectColour(pixels.rgb(x, y), [255, 255, 255], 1, `${x},${y}`);
      }
    }
  });

  test('corners are transparent in every format with alpha', async () => {
    const { 'a.jpg': _, ...files } = await everyFormat(quadrants(UPRIGHT));
    const batch = await runBatch(['rotate', '--angle', '45'], files);
    for (const [name, pixels] of await batch.decoded(files)) {
      for (const at of corners(pixels)) expect(pixels.alpha(...at), name).toBe(0);
      expect(pixels.alpha(pixels.width >> 1, pixels.height >> 1), name).toBe(255);
    }
  });

  test.each([
    ['', [255, 255, 255]],
    [' --background #ff8800', [255, 136, 0]],
    [' --background transparent', [255, 255, 255]],
    [' --background #ff880080', [255, 195, 127]],
  ])('corners of JPEG are filled, with%s', async (flags, expected) => {
    const jpeg = '--format jpeg --quality 100 --chroma-subsampling 4:4:4';
    const pixels = await turn(`--angle 45 ${jpeg}${flags}`);
    expectColour(pixels.rgb(0, 0), expected, 3);
  });

  test('a semitransparent background is kept', async () => {
    const opaque = await turn('--angle 45 --background #ff8800');
    expect(opaque.rgb(0, 0)).toEqual([255, 136, 0]);
    expect(opaque.alpha(0, 0)).toBe(255);
    const half = await turn('--angle 45 --background #ff880080');
    expectColour([...half.rgb(0, 0), half.alpha(0, 0)], [255, 136, 0, 128], 1);
    expect(half.alpha(half.width >> 1, half.height >> 1)).toBe(255);
  });

  test('transparency of the input is kept', async () => {
    const pixels = await turn('--angle 20', pngOf(disc({ width: 60, height: 60 })));
    expect(letter(pixels, pixels.width >> 1, pixels.height >> 1)).toBe('R');
    expect(pixels.alpha(pixels.width >> 1, 6)).toBe(0);
  });

  test('flip and flop are applied after the rotation', async () => {
    // Upright, only the upper left pixel block is red; turned by 30 degrees it moves to the right.
    const square = { width: 60, height: 60 };
    const source = pngOf(painted(square, (x, y) => (x < 20 && y < 20 ? RED : BLUE)));
    const plain = await turn('--angle 30', source);
    const flip = await turn('--angle 30 --flip', source);
    const flop = await turn('--angle 30 --flop', source);
    const both = await turn('--angle 30 --flip --flop', source);
    const { width, height } = plain;
    for (const other of [flip, flop, both]) {
      expect([other.width, other.height]).toEqual([width, height]);
    }
    for (let y = 3; y < height - 3; y += 6) {
      for (let x = 3; x < width - 3; x += 6) {
        const near = new Set(
          [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => letter(plain, x + dx, y + dy))),
        );
        // On an edge the two ways of resampling may fall to either side.
        if (near.size > 1) continue;
        const expected = letter(plain, x, y);
        expect(letter(flip, x, height - 1 - y), `flip ${x},${y}`).toBe(expected);
        expect(letter(flop, width - 1 - x, y), `flop ${x},${y}`).toBe(expected);
        expect(letter(both, width - 1 - x, height - 1 - y), `both ${x},${y}`).toBe(expected);
      }
    }
  });
});

describe('samples', () => {
  const deep = () =>
    pngOf(
      painted({ width: 20, height: 12, deep: true }, (x, y) => [x * 3001, y * 5003, 65_535 - x]),
    );

  test('16 bits are kept', async () => {
    const turned = await turn('--angle 180', deep());
    expect(turned.metadata).toMatchObject({ depth: 'ushort', channels: 3 });
    expect(turned.rgb(19, 11)).toEqual([0, 0, 65_535]);
    expect(turned.rgb(2, 3)).toEqual([17 * 3001, 8 * 5003, 65_535 - 17]);
  });

  test.each(['', ' --flip', ' --flop'])(
    'sixteen bits outlive an angle between,%s',
    async (flag) => {
      const colour = [65_535, 1000, 30_001];
      const source = painted({ width: 20, height: 20, deep: true }, () => colour);
      const pixels = await turn(`--angle 45${flag}`, pngOf(source));
      const middle = pixels.width >> 1;
      expect(pixels.metadata.depth).toBe('ushort');
      expectColour(pixels.rgb(middle, middle), colour, 1);
      expect(pixels.alpha(middle, middle)).toBe(65_535);
      expect(pixels.alpha(0, 0)).toBe(0);
    },
  );

  test('grey is kept in 8 and 16 bits', async () => {
    const grey = painted({ width: 9, height: 5, channels: 1 }, (x) => [x * 20]);
    const grey16 = painted({ width: 9, height: 5, channels: 1, deep: true }, (x) => [x * 7001]);
    const batch = await runBatch(['rotate', '--angle', '90'], {
      'grey.png': await pngOf(grey),
      'grey16.png': await pngOf(grey16),
    });
    const [eight, sixteen] = [await batch.pixels('grey.png'), await batch.pixels('grey16.png')];
    expect(eight.metadata).toMatchObject({ space: 'b-w', channels: 1 });
    expect(eight.rgb(0, 7)).toEqual([140, 140, 140]);
    expect(sixteen.metadata).toMatchObject({ space: 'grey16', channels: 1 });
    expect(sixteen.rgb(0, 7)).toEqual([49_007, 49_007, 49_007]);
  });

  test('a coloured background of a grey image has its colour', async () => {
    const grey = painted({ width: 20, height: 20, channels: 1 }, () => [100]);
    const pixels = await turn('--angle 45 --background #ff0000', pngOf(grey));
    expect(pixels.rgb(0, 0)).toEqual([255, 0, 0]);
    expect(pixels.rgb(14, 14)).toEqual([100, 100, 100]);
  });
});

describe('oriented inputs', () => {
  test('are rotated and mirrored after orientation by EXIF', async () => {
    const files = await everyOrientation(UPRIGHT);
    const runs: [string[], string, number][] = [
      [['--angle', '90'], TURNED[90], 32],
      [['--flip'], flipped('RGBW'), 48],
      [['--flop'], flopped('RGBW'), 48],
      [['--angle', '270', '--flip'], flipped(TURNED[270]), 32],
    ];
    for (const [flags, expected, width] of runs) {
      const batch = await runBatch(['rotate', ...flags, '--metadata', 'all'], files);
      for (const [name, pixels] of await batch.decoded(files)) {
        expect(quarters(pixels), `${flags} of ${name}`).toBe(expected);
        expect(pixels.width).toBe(width);
        expect(pixels.metadata.orientation ?? 1).toBe(1);
      }
    }
    const tilted = await runBatch(['rotate', '--angle', '30', '--format', 'png'], files);
    const reference = await tilted.pixels('1.jpg');
    for (const [name, pixels] of await tilted.decoded(files)) {
      expect([pixels.width, pixels.height]).toEqual([reference.width, reference.height]);
      for (let x = 6; x < pixels.width; x += 6) {
        expect(letter(pixels, x, 20), `${name} at ${x},20`).toBe(letter(reference, x, 20));
      }
    }
  });
});

describe('animations', () => {
  const timing = { delay: [100, 200, 300], loop: 2 };
  /** Each frame is a colour above and black below. */
  const frames = [RED, GREEN, BLUE].map((colour) =>
    painted({ width: 24, height: 16 }, (_, y) => (y < 8 ? colour : BLACK)),
  );
  const order = ['R', 'G', 'B'];

  async function expectFrames(batch: Batch, name: string, expected: (colour: string) => string) {
    const pixels = await batch.pixels(name);
    expect(pixels.pages).toBe(3);
    order.forEach((colour, page) => {
      expect(quarters(pixels, page), `page ${page} of ${name}`).toBe(expected(colour));
    });
    return pixels;
  }

  test.each([
    [['--angle', '90'], (c: string) => `K${c}K${c}`],
    [['--angle', '180'], (c: string) => `KK${c}${c}`],
    [['--flip'], (c: string) => `KK${c}${c}`],
    [['--flop'], (c: string) => `${c}${c}KK`],
    [['--angle', '90', '--flop'], (c: string) => `${c}K${c}K`],
  ] as const)('are rotated frame by frame: %j', async (flags, expected) => {
    const batch = await runBatch(['rotate', ...flags], {
      'a.gif': await animatedGif(frames, timing),
      'b.webp': await animatedWebp(frames, timing),
      'c.tiff': await multipageTiff(frames),
    });
    const gif = await expectFrames(batch, 'a.gif', expected);
    expect(gif.metadata).toMatchObject(timing);
    const webp = await expectFrames(batch, 'b.webp', expected);
    expect(webp.metadata).toMatchObject(timing);
    const tiff = await expectFrames(batch, 'c.tiff', expected);
    expect(tiff.metadata.hasAlpha).toBe(false);
    const turned = flags.some((flag) => flag === '90');
    for (const pixels of [gif, webp, tiff]) {
      expect([pixels.width, pixels.height]).toEqual(turned ? [16, 24] : [24, 16]);
    }
  });

  test('have transparent corners in each frame at other angles', async () => {
    const batch = await runBatch(['rotate', '--angle', '45'], {
      'a.gif': await animatedGif(frames, timing),
      'b.webp': await animatedWebp(frames, timing),
    });
    for (const [name, pixels] of await batch.decoded(['a.gif', 'b.webp'])) {
      expect(batch.record(name)).toMatchObject({ pages: 3, width: pixels.width });
      order.forEach((colour, page) => {
        const [x, y] = [pixels.width >> 1, pixels.height >> 1];
        for (const at of corners(pixels)) expect(letter(pixels, ...at, page)).toBe('.');
        expect(letter(pixels, x + 3, y - 4, page)).toBe(colour);
        expect(letter(pixels, x - 3, y + 4, page)).toBe('K');
      });
    }
  });

  test('of 16-bit pages keep 16 bits', async () => {
    const page = (sample: number) =>
      painted({ width: 6, height: 4, deep: true }, (x) => [sample, x * 1001, 7]);
    const pixels = await runOne(
      ['rotate', '--angle', '90'],
      await multipageTiff([page(40_000), page(50_001)], true),
      'pages.tiff',
    );
    expect(pixels.metadata).toMatchObject({ depth: 'ushort', channels: 3, pages: 2 });
    expect(pixels.rgb(3, 5, 0)).toEqual([40_000, 5005, 7]);
    expect(pixels.rgb(0, 2, 1)).toEqual([50_001, 2002, 7]);
  });

  test('with a truncated frame fail with corrupt_image', async () => {
    const whole = await animatedGif(frames, timing);
    const batch = await runBatch(['rotate', '--angle', '90'], {
      'cut.gif': whole.subarray(0, whole.length - 20),
    });
    expect(batch.record('cut.gif').error?.code).toBe('corrupt_image');
  });
});

test('an output beyond the limit fails only its file', async () => {
  const batch = await runBatch(['rotate', '--angle', '45', '--max-side', '50'], {
    'big.png': await picture(),
    'small.png': await pngOf(quadrants({ width: 16, height: 16 })),
  });
  expect(batch.code).toBe(1);
  expect(batch.record('big.png').error?.code).toBe('output_too_large');
  expect(batch.record('small.png').status).toBe('succeeded');
});

describe('lossless', () => {
  const upright = { width: 64, height: 48 };
  const jpeg = () =>
    quadrants(upright).jpeg({ quality: 90, chromaSubsampling: '4:4:4' }).toBuffer();

  test.each([
    ['--angle 90', TURNED[90]],
    ['--angle=-90 --flip', flipped(TURNED[270])],
    ['--angle 180 --flop', flopped(TURNED[180])],
    ['--flip', flipped('RGBW')],
    ['--angle 360', 'RGBW'],
  ])('%s turns JPEG as without it', async (flags, expected) => {
    const pixels = await turn(`${flags} --lossless`, jpeg());
    expect(quarters(pixels)).toBe(expected);
    expect(pixels.metadata.format).toBe('jpeg');
  });

  test('EXIF orientation becomes 1, with other metadata kept on request', async () => {
    const files = await everyOrientation(upright, (image) =>
      image.withExifMerge({ IFD0: { Artist: 'A. Painter' } }).jpeg({ chromaSubsampling: '4:4:4' }),
    );
    const flags = ['rotate', '--angle', '0', '--lossless'];
    const all = await runBatch([...flags, '--metadata', 'all'], files);
    const none = await runBatch(flags, files);
    for (const [name, pixels] of await all.decoded(files)) {
      expect([pixels.width, pixels.height, quarters(pixels)], name).toEqual([64, 48, 'RGBW']);
      expect(pixels.metadata.orientation ?? 1, name).toBe(1);
      expect(pixels.metadata.exif?.includes('A. Painter'), name).toBe(true);
      expect((await none.pixels(name)).metadata.exif, name).toBeUndefined();
    }
  });

  test('partial blocks are refused by size and block, or cut off', async () => {
    const files = { 'a.jpg': await quadrants({ width: 70, height: 50 }).jpeg().toBuffer() };
    const refused = await runBatch(['rotate', '--angle', '90', '--lossless'], files);
    expect(refused.code).toBe(1);
    expect(refused.record('a.jpg').error).toEqual({
      code: 'lossless_impossible',
      message:
        '70x50 is not whole blocks of 16x16, which cannot be turned this way without loss; lossless trim cuts its height to 48',
    });
    const cut = await runBatch(['rotate', '--angle', '90', '--lossless', '--lossless-trim'], files);
    expect(cut.record('a.jpg')).toMatchObject({ width: 48, height: 70 });
  });

  test('what cannot be lossless fails, and settings of encoders are warned of', async () => {
    const files = {
      'a.jpg': await jpeg(),
      'b.gif': await quadrants(upright).gif().toBuffer(),
      'c.png': await picture(),
    };
    const tilted = await runBatch(['rotate', '--angle', '45', '--lossless'], files);
    expect(tilted.record('a.jpg').error?.message).toMatch(/multiples of 90 degrees, not by 45/);
    expect(tilted.record('b.gif').error?.code).toBe('lossless_impossible');
    expect(tilted.record('c.png').status).toBe('succeeded');
    const set = await runBatch(['rotate', '--flip', '--lossless', '--quality', '50'], files);
    expect(set.warnings('a.jpg')).toEqual(['quality_ignored']);
  });
});
