import { describe, expect, it } from 'vitest';
import { colourHistogram, type Histogram } from '../../../src/images/palette/histogram.ts';
import { oklabFromSrgb } from '../../../src/images/palette/oklab.ts';

/** Opaque pixels of each colour (0xrrggbb) in the given number and order. */
function pixelsOf(...areas: readonly (readonly [colour: number, times: number])[]): Uint8Array {
  return Uint8Array.from(
    areas
      .flatMap(([colour, times]) =>
        Array.from({ length: times }, () => [colour >> 16, (colour >> 8) & 255, colour & 255, 255]),
      )
      .flat(),
  );
}

const grey = (level: number): number => (level << 16) | (level << 8) | level;

/** The genuine weight of the bin that holds a colour, found by the colour's own histogram. */
function genuineOf(histogram: Histogram, colour: number): number {
  const alone = colourHistogram(pixelsOf([colour, 1]));
  const index = histogram.places.indexOf(alone.places[0]!) / 3;
  expect(index).toBeGreaterThanOrEqual(0);
  return histogram.genuine[index]!;
}

describe('colourHistogram', () => {
  it('counts bins of eight levels and keeps their true mean colour', () => {
    const histogram = colourHistogram(pixelsOf([0x080808, 1], [0x0f0f0f, 3], [0x101010, 2]));
    expect(histogram.size).toBe(2);
    expect(histogram.total).toBe(6);
    expect([...histogram.weight]).toEqual([4, 2]);
    const level = (8 + 3 * 15) / 4;
    const mean = oklabFromSrgb({ red: level, green: level, blue: level });
    expect(histogram.places[0]).toBeCloseTo(mean.lightness, 12);
    expect(histogram.places[3]).toBe(oklabFromSrgb({ red: 16, green: 16, blue: 16 }).lightness);
  });

  it('returns the flat colour of a bin only if more than half of its pixels have it', () => {
    const flatOf = (...areas: readonly (readonly [number, number])[]) => {
      const { flat, flatWeight } = colourHistogram(pixelsOf(...areas));
      return [flat[0], flatWeight[0]];
    };
    expect(flatOf([0x000001, 2], [0x000002, 3])).toEqual([2, 3]);
    expect(flatOf([0x000001, 3], [0x000002, 3])).toEqual([-1, 0]);
    expect(flatOf([0x000001, 2], [0x000002, 2], [0x000003, 3])).toEqual([-1, 0]);
  });

  it('ignores an incomplete last pixel', () => {
    expect(colourHistogram(new Uint8Array([1, 2, 3, 255, 9, 9, 9])).total).toBe(1);
  });
});

describe('colours of blurred edges', () => {
  it('have no genuine weight between two flat colours', () => {
    const histogram = colourHistogram(
      pixelsOf([0x000000, 400], [0xffffff, 400], [grey(64), 10], [grey(128), 10], [0x884020, 10]),
    );
    expect(genuineOf(histogram, grey(64))).toBe(0);
    expect(genuineOf(histogram, grey(128))).toBe(0);
    expect(genuineOf(histogram, 0x884020)).toBe(10);
    expect(genuineOf(histogram, 0xffffff)).toBe(400);
  });

  it('include the overshoot of a sharpening resampler', () => {
    const histogram = colourHistogram(
      pixelsOf([grey(40), 400], [grey(216), 400], [grey(26), 10], [grey(230), 10], [grey(8), 10]),
    );
    expect(genuineOf(histogram, grey(26))).toBe(0);
    expect(genuineOf(histogram, grey(230))).toBe(0);
    expect(genuineOf(histogram, grey(8))).toBe(10);
  });

  it('keep their weight if they are half of an area', () => {
    const shades = Array.from({ length: 24 }, (_, step) => [grey(16 + step * 9), 20] as const);
    const histogram = colourHistogram(pixelsOf([0x000000, 400], [0xffffff, 400], ...shades));
    expect(genuineOf(histogram, grey(16))).toBe(20);
  });

  it('keep their weight in an image that is no flat drawing', () => {
    const noise = Array.from({ length: 4000 }, (_, i) => [(i * 2654435761) & 0xffffff, 1] as const);
    const histogram = colourHistogram(
      pixelsOf([0x000000, 400], [0xffffff, 400], [grey(128), 10], ...noise),
    );
    expect(histogram.genuine).toEqual(histogram.weight);
  });
});

describe('specks', () => {
  it('have no genuine weight in a flat drawing', () => {
    const histogram = colourHistogram(pixelsOf([0xffffff, 9000], [0x0000ff, 900], [0x884020, 2]));
    expect(genuineOf(histogram, 0x884020)).toBe(0);
    expect(genuineOf(histogram, 0x0000ff)).toBe(900);
  });

  it('keep their weight if they are a picture on a flat background', () => {
    const picture = Array.from(
      { length: 900 },
      (_, i) => [(i * 2654435761) & 0xffffff, 1] as const,
    );
    const histogram = colourHistogram(pixelsOf([0xffffff, 9000], ...picture));
    expect(histogram.genuine).toEqual(histogram.weight);
  });
});
