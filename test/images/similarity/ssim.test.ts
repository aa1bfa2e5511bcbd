import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Samples } from '../../../src/images/decoding/pixels.ts';
import { difference, differencePicture } from '../../../src/images/similarity/difference.ts';
import { type Luma, lumaOf, reductionFor, ssim } from '../../../src/images/similarity/ssim.ts';
import { randomNumbers } from '../../fixtures/images.ts';
import { runs } from '../../runs.ts';

/** SSIM by its definition: each window by itself, with means and variances around them. */
function reference(one: Luma, other: Luma): number {
  const { width, height } = one;
  const across = Math.min(11, width);
  const down = Math.min(11, height);
  const weight = (tap: number, taps: number) =>
    Math.exp(-((tap - (taps - 1) / 2) ** 2) / (2 * 1.5 ** 2));
  const values: number[] = [];
  for (let top = 0; top + down <= height; top += 1) {
    for (let left = 0; left + across <= width; left += 1) {
      const window: [weight: number, a: number, b: number][] = [];
      for (let y = 0; y < down; y += 1) {
        for (let x = 0; x < across; x += 1) {
          const at = (top + y) * width + left + x;
          window.push([weight(y, down) * weight(x, across), one.levels[at]!, other.levels[at]!]);
        }
      }
      const total = window.reduce((sum, [share]) => sum + share, 0);
      const mean = (value: (a: number, b: number) => number) =>
        window.reduce((sum, [share, a, b]) => sum + share * value(a, b), 0) / total;
      const meanA = mean((a) => a);
      const meanB = mean((_, b) => b);
      const varianceA = mean((a) => (a - meanA) ** 2);
      const varianceB = mean((_, b) => (b - meanB) ** 2);
      const covariance = mean((a, b) => (a - meanA) * (b - meanB));
      values.push(
        ((2 * meanA * meanB + 6.5025) * (2 * covariance + 58.5225)) /
          ((meanA ** 2 + meanB ** 2 + 6.5025) * (varianceA + varianceB + 58.5225)),
      );
    }
  }
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const planes = fc
  .tuple(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 24 }), fc.nat(), fc.nat(80))
  .map(([width, height, seed, noise]) => {
    const random = randomNumbers(seed);
    const first = Float32Array.from({ length: width * height }, () => random(256));
    const second = first.map((level) => Math.min(255, level + random(noise + 1)));
    return [
      { width, height, levels: first },
      { width, height, levels: second },
    ] as const;
  });

/** A picture of one colour. */
function plain(colour: readonly number[], width = 4, height = 3): Samples {
  const channels = colour.length as 3 | 4;
  const data = Uint8Array.from(
    { length: width * height * channels },
    (_, at) => colour[at % channels]!,
  );
  return { width, height, channels, data };
}

describe('ssim', () => {
  it('agrees with its definition, for planes smaller than the window too', () => {
    fc.assert(
      fc.property(planes, ([one, other]) => {
        expect(ssim(one, other)).toBeCloseTo(reference(one, other), 4);
      }),
      { numRuns: runs(80) },
    );
  });

  it('is symmetric, at most 1, and 1 for equal planes', () => {
    fc.assert(
      fc.property(planes, ([one, other]) => {
        expect(ssim(one, one)).toBe(1);
        expect(ssim(one, other)).toBeCloseTo(ssim(other, one), 9);
        expect(ssim(one, other)).toBeLessThanOrEqual(1 + 1e-9);
      }),
      { numRuns: runs(80) },
    );
  });
});

describe('lumaOf', () => {
  it('averages squares, and smaller ones at the borders', () => {
    const data = new Uint8Array(5 * 3 * 3).map((_, at) => Math.floor(at / 3) * 10);
    const luma = lumaOf({ width: 5, height: 3, channels: 3, data }, 2);
    expect([luma.width, luma.height]).toEqual([3, 2]);
    // Rows of 0 to 40, 50 to 90 and 100 to 140.
    expect([...luma.levels].map((level) => Math.round(level))).toEqual([30, 50, 65, 105, 125, 140]);
  });

  it('reduces as the published program does', () => {
    expect(
      [
        [100, 80],
        [383, 900],
        [384, 900],
        [4000, 3000],
      ].map(([w, h]) => reductionFor(w!, h!)),
    ).toEqual([1, 1, 2, 12]);
  });
});

describe('difference', () => {
  it('of equal pictures is none', () => {
    const picture = plain([1, 2, 3]);
    expect(difference(picture, picture)).toEqual({ ssim: 1, psnr: null, differing: 0 });
  });

  it('has the PSNR of its formula', () => {
    const { psnr, differing } = difference(plain([10, 20, 30]), plain([13, 20, 30]));
    expect(psnr).toBeCloseTo(10 * Math.log10(255 ** 2 / 3), 9);
    expect(differing).toBe(1);
  });

  it('ignores colours that are not visible, and sees transparency', () => {
    expect(difference(plain([255, 0, 0, 0]), plain([0, 0, 255, 0])).psnr).toBeNull();
    // A white pixel differs from a transparent one on black only, a black pixel on white only.
    for (const level of [0, 255]) {
      const opaque = plain([level, level, level]);
      expect(difference(opaque, plain([0, 0, 0, 0])).psnr).toBe(0);
    }
  });

  it('is shown in red on the picture in light grey', () => {
    const other = plain([0, 0, 0]);
    other.data.set([200, 0, 0], 0);
    other.data.set([0, 1, 0], 3);
    const { data } = differencePicture(plain([0, 0, 0]), other);
    expect([...data.subarray(0, 3)]).toEqual([255, 0, 0]);
    expect(data[3]).toBe(255);
    expect(data[4]).toBeLessThan(160);
    expect([...data.subarray(6, 9)]).toEqual([215, 215, 215]);
  });
});
