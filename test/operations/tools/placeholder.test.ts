import { decode as decodeBlurHash } from 'blurhash';
import sharp from 'sharp';
import {
  thumbHashToApproximateAspectRatio,
  thumbHashToAverageRGBA,
  thumbHashToRGBA,
} from 'thumbhash';
import { describe, expect, test } from 'vitest';
import { runBatch } from '../../batch.ts';
import { disc, painted, photo, pngOf, quadrants, storedAs } from '../../fixtures/images.ts';

interface Placeholder {
  readonly width: number;
  readonly height: number;
  readonly color?: string;
  readonly blurhash: string;
  readonly thumbhash: string;
  readonly dataUrl?: string;
}

const SIZE = { width: 300, height: 200 };

async function placeholders(files: Record<string, Buffer>, ...args: string[]) {
  const batch = await runBatch(['placeholder', ...args], files);
  expect(batch.stderr).not.toMatch(/failed/);
  return (name: string) => batch.record(name).data as Placeholder;
}

const bytesOf = (dataUrl = '') =>
  Buffer.from(dataUrl.replace(/^data:image\/\w+;base64,/, ''), 'base64');

/** The colour of a pixel of a decoded placeholder, as a share of its sides from the top left. */
function at({ width, rgba }: { width: number; rgba: ArrayLike<number> }, x: number, y: number) {
  const height = rgba.length / 4 / width;
  const start = (Math.floor(y * height) * width + Math.floor(x * width)) * 4;
  return [rgba[start]!, rgba[start + 1]!, rgba[start + 2]!];
}

describe('placeholder', () => {
  test('of one colour is known', async () => {
    const plain = (colour: readonly number[]) => pngOf(painted(SIZE, () => colour));
    const of = await placeholders({
      'red.png': await plain([255, 0, 0]),
      'white.png': await plain([255, 255, 255]),
    });
    expect(of('red.png')).toMatchObject({ ...SIZE, color: '#ff0000' });
    // L is 4x3 components; the third to sixth digits are the average, 24 bits in base 83.
    expect(of('red.png').blurhash).toMatch(/^L.TI:j/);
    expect(of('white.png').blurhash).toMatch(/^L.TSUA/);
  });

  test('shows where the colours are', async () => {
    const of = await placeholders({ 'a.png': await pngOf(quadrants(SIZE)) }, '--components', '5x5');
    const { blurhash, thumbhash, dataUrl } = of('a.png');
    const blurred = { width: 30, rgba: decodeBlurHash(blurhash, 30, 20) };
    const { w, rgba } = thumbHashToRGBA(Buffer.from(thumbhash, 'base64'));
    const { data, info } = await sharp(bytesOf(dataUrl))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const decoded = {
      blurhash: blurred,
      thumbhash: { width: w, rgba },
      dataUrl: { width: info.width, rgba: data },
    };
    for (const [kind, picture] of Object.entries(decoded)) {
      const strongest = [
        [0.25, 0.25],
        [0.75, 0.25],
        [0.25, 0.75],
      ].map(([x, y]) => {
        const colour = at(picture, x!, y!);
        return colour.indexOf(Math.max(...colour));
      });
      expect([kind, strongest]).toEqual([kind, [0, 1, 2]]);
    }
  });

  test('has the aspect ratio and orientation of the displayed picture', async () => {
    const stored = await storedAs(quadrants(SIZE), 6);
    const of = await placeholders({ 'turned.jpg': await stored.jpeg().toBuffer() });
    const { width, height, thumbhash, dataUrl } = of('turned.jpg');
    expect({ width, height }).toEqual(SIZE);
    expect(thumbHashToApproximateAspectRatio(Buffer.from(thumbhash, 'base64'))).toBeCloseTo(
      7 / 5,
      1,
    );
    expect(await sharp(bytesOf(dataUrl)).metadata()).toMatchObject({ width: 16, height: 11 });
  });

  test('keeps transparency in ThumbHash and WebP, and lays it on white in BlurHash and JPEG', async () => {
    const files = { 'disc.png': await pngOf(disc({ width: 100, height: 100 })) };
    const { thumbhash, blurhash, dataUrl } = (await placeholders(files))('disc.png');
    expect(thumbHashToAverageRGBA(Buffer.from(thumbhash, 'base64')).a).toBeLessThan(0.6);
    expect(at({ width: 10, rgba: decodeBlurHash(blurhash, 10, 10) }, 0, 0)[1]).toBeGreaterThan(180);
    expect((await sharp(bytesOf(dataUrl)).stats()).isOpaque).toBe(false);
    const jpeg = (await placeholders(files, '--data-url', 'jpeg'))('disc.png').dataUrl;
    const { data } = await sharp(bytesOf(jpeg)).raw().toBuffer({ resolveWithObject: true });
    expect(data[0]).toBeGreaterThan(200);
  });

  test('has a data URL of a few hundred bytes, of the asked format and size, or none', async () => {
    const files = { 'photo.jpg': await photo({ width: 900, height: 600 }).jpeg().toBuffer() };
    for (const [format, limit] of [
      ['webp', 400],
      ['jpeg', 700],
    ] as const) {
      const { dataUrl } = (await placeholders(files, '--data-url', format))('photo.jpg');
      expect(dataUrl).toMatch(new RegExp(`^data:image/${format};base64,`));
      expect(dataUrl!.length).toBeLessThan(limit);
    }
    const wide = (await placeholders(files, '--side', '32'))('photo.jpg').dataUrl;
    expect((await sharp(bytesOf(wide)).metadata()).width).toBe(32);
    expect((await placeholders(files, '--data-url', 'none'))('photo.jpg')).not.toHaveProperty(
      'dataUrl',
    );
  });

  test('of tiny, narrow and invisible pictures is made', async () => {
    const of = await placeholders({
      'dot.png': await pngOf(painted({ width: 1, height: 1 }, () => [1, 2, 3])),
      'line.png': await pngOf(quadrants({ width: 2000, height: 1 })),
      'none.png': await pngOf(painted({ width: 9, height: 9, channels: 4 }, () => [0, 0, 0, 0])),
    });
    expect(of('dot.png').color).toBe('#010203');
    expect(of('line.png').blurhash).toHaveLength(28);
    expect(of('none.png')).not.toHaveProperty('color');
  });

  test('rejects components beyond 9x9', async () => {
    await expect(placeholders({}, '--components', '10x3')).rejects.toThrow(
      /--components: expected horizontal and vertical components from 1x1 to 9x9/,
    );
  });
});
