import { describe, expect, test } from 'vitest';
import { runBatch } from '../../batch.ts';
import { animatedGif, painted, photo, pngOf, quadrants } from '../../fixtures/images.ts';

interface Colour {
  readonly hex: string;
  readonly proportion: number;
}

const TRICOLOUR = [
  ['#ae1c28', 300],
  ['#ffffff', 200],
  ['#21468b', 100],
] as const;

/** Upright stripes of these colours, of the given widths. */
function flag(stripes: typeof TRICOLOUR, height = 120) {
  const columns = stripes.flatMap(([hex, width]) => {
    const value = Number.parseInt(hex.slice(1), 16);
    return Array.from({ length: width }, () => [value >> 16, (value >> 8) & 255, value & 255]);
  });
  return painted({ width: columns.length, height }, (x) => columns[x]!);
}

async function palettes(files: Record<string, Buffer>, ...args: string[]) {
  const batch = await runBatch(['palette', ...args], files);
  expect(batch.stderr).not.toMatch(/failed/);
  return (name: string) => (batch.record(name).data as { colors: Colour[] }).colors;
}

describe('palette', () => {
  test('of a flag returns its colours and shares, largest first', async () => {
    const of = await palettes({
      'large.png': await pngOf(flag(TRICOLOUR)),
      'lossless.webp': await flag(TRICOLOUR).webp({ lossless: true }).toBuffer(),
      'tall.tiff': await flag(TRICOLOUR, 900).rotate(90).tiff({ compression: 'lzw' }).toBuffer(),
    });
    for (const name of ['large.png', 'lossless.webp', 'tall.tiff']) {
      const colours = of(name);
      expect([name, colours.map(({ hex }) => hex)]).toEqual([
        name,
        ['#ae1c28', '#ffffff', '#21468b'],
      ]);
      for (const [index, share] of [1 / 2, 1 / 3, 1 / 6].entries()) {
        expect(colours[index]!.proportion).toBeCloseTo(share, 1);
      }
    }
  });

  test('has --count colours, whose shares sum to 1', async () => {
    const files = { 'photo.jpg': await photo({ width: 200, height: 150 }).jpeg().toBuffer() };
    for (const count of [1, 2, 6, 20]) {
      const colours = (await palettes(files, '--count', String(count)))('photo.jpg');
      expect(colours.length).toBeGreaterThan(0);
      expect(colours.length).toBeLessThanOrEqual(count);
      expect(colours.reduce((sum, { proportion }) => sum + proportion, 0)).toBeCloseTo(1, 10);
      const shares = colours.map(({ proportion }) => proportion);
      expect(shares).toEqual([...shares].sort((one, other) => other - one));
    }
    expect((await palettes(files))('photo.jpg').length).toBe(
      (await palettes(files, '--count', '6'))('photo.jpg').length,
    );
  });

  test('has fewer colours where the image has fewer, and none for a transparent image', async () => {
    const size = { width: 40, height: 40, channels: 4 } as const;
    const red = painted(size, () => [255, 0, 0, 255]);
    const unseen = painted(size, () => [255, 0, 0, 100]);
    const half = painted(size, (x) => [0, 0, 255, x < 20 ? 255 : 0]);
    const frames = [
      quadrants({ width: 20, height: 20 }),
      painted({ width: 20, height: 20 }, () => [1, 2, 3]),
    ];
    const of = await palettes({
      'red.png': await pngOf(red),
      'unseen.png': await pngOf(unseen),
      'half.png': await pngOf(half),
      'ink.tiff': await red
        .removeAlpha()
        .toColourspace('cmyk')
        .tiff({ compression: 'lzw' })
        .toBuffer(),
      'animated.gif': await animatedGif(frames, { delay: [100, 100], loop: 0 }),
    });
    expect(of('red.png')).toEqual([{ hex: '#ff0000', proportion: 1 }]);
    expect(of('unseen.png')).toEqual([]);
    expect(of('half.png')).toEqual([{ hex: '#0000ff', proportion: 1 }]);
    expect(of('ink.tiff')).toHaveLength(1);
    // The first frame alone.
    expect(of('animated.gif')).toHaveLength(4);
  });
});
