import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runBatch, runOne } from '../../batch.ts';
import {
  animatedGif,
  animatedWebp,
  BLACK,
  BLUE,
  disc,
  everyFormat,
  GREEN,
  multipageTiff,
  ORIENTATIONS,
  painted,
  pngOf,
  quadrants,
  RED,
  storedAs,
} from '../../fixtures/images.ts';
import { oriel, temporaryFolder } from '../../oriel.ts';
import { decode, differences, letter, quarters } from '../../pixels.ts';

const SIZE = { width: 48, height: 32 };
/** Every pixel encodes its position. */
const place = (x: number, y: number) => [x * 5, y * 7, 9];
const map = () => pngOf(painted(SIZE, place));

const rectangle = (left: number, top: number, width: number, height: number) => [
  ...['--left', `${left}`, '--top', `${top}`],
  ...['--width', `${width}`, '--height', `${height}`],
];

describe('the rectangle', () => {
  test.each([
    [0, 0, 48, 32],
    [0, 0, 1, 1],
    [47, 31, 1, 1],
    [11, 7, 13, 5],
    [0, 30, 48, 2],
    [40, 0, 8, 32],
  ])('from %i,%i of %ix%i is the output', async (left, top, width, height) => {
    const pixels = await runOne(['crop', ...rectangle(left, top, width, height)], await map());
    expect([pixels.width, pixels.height]).toEqual([width, height]);
    expect(differences(pixels, (x, y) => place(left + x, top + y))).toEqual([]);
  });

  test.each([
    [1, 0, 48, 32],
    [0, 1, 48, 32],
    [0, 0, 49, 1],
    [0, 0, 1, 33],
    [48, 0, 1, 1],
    [9_000, 9_000, 8192, 8192],
  ])('from %i,%i of %ix%i exceeds the image and is refused', async (left, top, width, height) => {
    const batch = await runBatch(['crop', ...rectangle(left, top, width, height)], {
      'a.png': await map(),
    });
    expect(batch.code).toBe(1);
    const { error } = batch.record('a.png');
    expect(error?.code).toBe('crop_out_of_bounds');
    expect(error?.message).toContain(`${width}x${height}`);
    expect(error?.message).toContain('48x32');
  });

  test('is checked against each file', async () => {
    const batch = await runBatch(['crop', ...rectangle(20, 20, 20, 10)], {
      'large.png': await map(),
      'small.png': await pngOf(quadrants({ width: 30, height: 30 })),
    });
    expect(batch.result.summary).toMatchObject({ total: 2, succeeded: 1, failed: 1 });
    expect(batch.record('small.png').error?.code).toBe('crop_out_of_bounds');
  });

  test('is measured on the oriented image, for any EXIF orientation', async () => {
    const files: Record<string, Buffer> = {};
    for (const orientation of ORIENTATIONS) {
      const stored = await storedAs(quadrants(SIZE), orientation);
      files[`jpeg-${orientation}.jpg`] = await stored.clone().jpeg({ quality: 95 }).toBuffer();
      files[`png-${orientation}.png`] = await stored.clone().png().toBuffer();
      files[`webp-${orientation}.webp`] = await stored.clone().webp({ lossless: true }).toBuffer();
      files[`tiff-${orientation}.tiff`] = await stored.clone().tiff().toBuffer();
    }
    // Green, two pixels of red to its left and two of white below.
    const batch = await runBatch(['crop', ...rectangle(16, 0, 32, 20), '--metadata', 'all'], files);
    for (const [name, pixels] of await batch.decoded(files)) {
      expect([pixels.width, pixels.height], name).toEqual([32, 20]);
      const seen = [letter(pixels, 3, 8), letter(pixels, 20, 8), letter(pixels, 28, 18)];
      expect(seen.join(''), name).toBe('RGW');
      expect(pixels.metadata.orientation ?? 1, name).toBe(1);
    }
    const beyond = await runBatch(['crop', ...rectangle(0, 0, 32, 48)], files);
    for (const name of Object.keys(files)) {
      expect(beyond.record(name).error?.code, name).toBe('crop_out_of_bounds');
    }
  });
});

describe('the format', () => {
  const kinds = () => everyFormat(quadrants(SIZE));

  test("is the input's where crop writes it, else PNG", async () => {
    const batch = await runBatch(['crop', ...rectangle(12, 8, 24, 16)], await kinds());
    const formats = batch.result.results.map(({ format }) => format);
    expect(formats.join(' ')).toBe('jpeg png webp png png png');
    for (const [name, pixels] of await batch.decoded(await kinds())) {
      expect(quarters(pixels), name).toBe('RGBW');
    }
  });

  test('is predicted for output names', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'a.gif');
    writeFileSync(path, (await kinds())['e.gif']);
    const args = ['crop', ...rectangle(12, 8, 24, 16), path];
    expect((await oriel(args)).code).toBe(0);
    expect(quarters(await decode(readFileSync(join(folder, 'a.png'))))).toBe('RGBW');
    const again = await oriel(args);
    expect([again.code, again.out]).toEqual([1, expect.stringContaining('a.png exists')]);
  });

  // The tests of convert have every format.
  test.each(['jpg', 'avif'])('is %s on request', async (format) => {
    const args = ['crop', ...rectangle(12, 8, 24, 16), '--format', format];
    const batch = await runBatch(args, await kinds());
    const expected = format === 'jpg' ? 'jpeg' : format;
    for (const [name, pixels] of await batch.decoded(await kinds())) {
      // libvips calls AVIF by its container.
      expect(pixels.metadata.format, name).toBe(expected === 'avif' ? 'heif' : expected);
      expect(batch.record(name).format).toBe(expected);
      expect(quarters(pixels), name).toBe('RGBW');
    }
  });
});

describe('the pixels in the rectangle', () => {
  test('keep depth, grey and transparency', async () => {
    const deep = (x: number, y: number) => [x * 1201, y * 1999, 65_535 - x];
    const batch = await runBatch(['crop', ...rectangle(5, 3, 30, 20)], {
      'deep.png': await pngOf(painted({ ...SIZE, deep: true }, deep)),
      'deep-lzw.tiff': await painted({ ...SIZE, deep: true }, deep)
        .tiff({ compression: 'lzw' })
        .toBuffer(),
      'grey.png': await pngOf(painted({ ...SIZE, channels: 1 }, (x) => [x * 5])),
      'disc.png': await pngOf(disc({ width: 48, height: 32 })),
    });
    for (const [name, pixels] of await batch.decoded(['deep.png', 'deep-lzw.tiff'])) {
      const wrong = differences(pixels, (x, y) => deep(x + 5, y + 3));
      expect(wrong, name).toEqual([]);
    }
    const grey = await batch.pixels('grey.png');
    expect(grey.metadata.channels).toBe(1);
    expect(differences(grey, (x) => Array(3).fill((x + 5) * 5))).toEqual([]);
    const alpha = await batch.pixels('disc.png');
    expect([alpha.alpha(0, 0), letter(alpha, 19, 13)]).toEqual([0, 'R']);
  });

  test('are flattened on the background in JPEG', async () => {
    const source = await pngOf(disc({ width: 48, height: 32 }));
    const args = ['crop', ...rectangle(0, 0, 48, 16), '--format', 'jpeg'];
    expect(letter(await runOne(args, source), 2, 2)).toBe('W');
    const blue = await runOne([...args, '--background', 'blue'], source);
    expect([letter(blue, 2, 2), letter(blue, 24, 14)]).toEqual(['B', 'R']);
  });

  test('are cropped from each frame', async () => {
    const frames = [RED, GREEN, BLUE].map((colour) =>
      painted(SIZE, (x, y) => (x >= 40 && y >= 24 ? colour : BLACK)),
    );
    const timing = { delay: [100, 200, 300], loop: 2 };
    const files = {
      'a.webp': await animatedWebp(frames, timing),
      'b.gif': await animatedGif(frames, timing),
      'c.tiff': await multipageTiff(frames),
    };
    const batch = await runBatch(['crop', ...rectangle(38, 20, 10, 12), '--lossless'], files);
    const webp = await batch.pixels('a.webp');
    expect(batch.record('a.webp')).toMatchObject({ width: 10, height: 12, pages: 3 });
    expect(webp.metadata).toMatchObject(timing);
    [RED, GREEN, BLUE].forEach((colour, page) => {
      expect([webp.rgb(1, 4, page), webp.rgb(2, 3, page)]).toEqual([BLACK, BLACK]);
      expect([webp.rgb(2, 4, page), webp.rgb(9, 11, page)]).toEqual([colour, colour]);
    });
    expect(batch.warnings('b.gif')).toEqual(['animation_lost']);
    expect(batch.warnings('c.tiff')).toEqual(['pages_lost']);
    for (const [name, pixels] of await batch.decoded(['b.gif', 'c.tiff'])) {
      expect([pixels.metadata.format, letter(pixels, 9, 11)], name).toEqual(['png', 'R']);
    }
    // The height of all frames together is no height to cut from.
    const beyond = await runBatch(['crop', ...rectangle(0, 30, 10, 10)], files);
    for (const name of Object.keys(files)) {
      expect(beyond.record(name).error?.code, name).toBe('crop_out_of_bounds');
    }
  });
});
