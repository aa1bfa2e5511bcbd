import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DIFFERENCE_HASH_RASTER,
  differenceHash,
  PERCEPTUAL_HASH_RASTER,
  perceptualHash,
} from '../../../src/images/similarity/perceptual.ts';

type Shade = (x: number, y: number) => number;

function raster({ width, height }: { width: number; height: number }, shade: Shade): Uint8Array {
  return Uint8Array.from({ length: width * height }, (_, index) =>
    shade(index % width, Math.floor(index / width)),
  );
}

const small = (shade: Shade) => raster(DIFFERENCE_HASH_RASTER, shade);
const large = (shade: Shade) => raster(PERCEPTUAL_HASH_RASTER, shade);

/** A smooth scene of two blobs on a slope; 0 to 1 in both directions, 20 to 220 in brightness. */
function scene(x: number, y: number): number {
  const blob = (centreX: number, centreY: number) =>
    Math.exp(-((x - centreX) ** 2 + (y - centreY) ** 2) * 14);
  return 20 + 60 * x + 30 * y + 70 * blob(0.3, 0.25) + 40 * blob(0.75, 0.7);
}

const smallScene = small((x, y) => scene(x / 8, y / 7));
const largeScene = large((x, y) => scene(x / 31, y / 31));

function mirrored(pixels: Uint8Array, width: number): Uint8Array {
  return pixels.map((_, index) => {
    const row = Math.floor(index / width);
    return pixels[row * width + (width - 1 - (index % width))]!;
  });
}

function differingBits(one: string, other: string): number {
  const differing = (BigInt(`0x${one}`) ^ BigInt(`0x${other}`)).toString(2);
  return differing.replaceAll('0', '').length;
}

const HASH = /^[0-9a-f]{16}$/;

describe('differenceHash', () => {
  it.each<[string, Shade, string]>([
    ['one grey', () => 90, '0000000000000000'],
    ['brighter to the right', (x) => x * 20, 'ffffffffffffffff'],
    ['darker to the right', (x) => 200 - x * 20, '0000000000000000'],
    ['brighter downwards', (_, y) => y * 20, '0000000000000000'],
    ['bright and dark columns by turns', (x) => (x % 2) * 255, 'aaaaaaaaaaaaaaaa'],
    ['a step at the top left', (x, y) => (x === 0 && y === 0 ? 0 : 1), '8000000000000000'],
    ['a step at the bottom right', (x, y) => (x === 8 && y === 7 ? 1 : 0), '0000000000000001'],
    ['a step in the second row', (x, y) => (x === 0 && y === 1 ? 0 : 1), '0080000000000000'],
  ])('of %s is known', (_, shade, hash) => {
    expect(differenceHash(small(shade))).toBe(hash);
  });

  it('agrees with a direct implementation of its definition', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 72, maxLength: 72 }), (gray) => {
        let value = 0n;
        for (let y = 0; y < 8; y += 1) {
          for (let x = 0; x < 8; x += 1) {
            value = value * 2n + (gray[y * 9 + x]! < gray[y * 9 + x + 1]! ? 1n : 0n);
          }
        }
        const hash = differenceHash(gray);
        expect(hash).toMatch(HASH);
        expect(BigInt(`0x${hash}`)).toBe(value);
      }),
    );
  });

  it('is the same for a brighter image', () => {
    const brighter = smallScene.map((level) => level + 30);
    expect(differenceHash(brighter)).toBe(differenceHash(smallScene));
  });

  it('differs for the mirrored image', () => {
    const flipped = differenceHash(mirrored(smallScene, 9));
    expect(differingBits(flipped, differenceHash(smallScene))).toBeGreaterThan(20);
  });
});

describe('perceptualHash', () => {
  // By hand: half a row of ones sums, at frequency k, to sin(pi k/2) / (2 sin(pi k/64)): nothing
  // where k is even, then plus, minus, plus, minus. All else is 0, and so is the median.
  it.each<[string, Shade, string]>([
    ['black', () => 0, '0000000000000000'],
    ['one grey', () => 90, '8000000000000000'],
    ['a bright left half', (x) => (x < 16 ? 255 : 0), 'c400000000000000'],
    ['a bright right half', (x) => (x < 16 ? 0 : 255), '9100000000000000'],
    ['a bright upper half', (_, y) => (y < 16 ? 200 : 10), '8080000000800000'],
    ['a bright lower half', (_, y) => (y < 16 ? 10 : 200), '8000008000000080'],
  ])('of %s is known', (_, shade, hash) => {
    expect(perceptualHash(large(shade))).toBe(hash);
  });

  /** The coefficients by the definition of DCT-II, as sums over all pixels. */
  function reference(gray: Uint8Array): bigint {
    const coefficients: number[] = [];
    for (let v = 0; v < 8; v += 1) {
      for (let u = 0; u < 8; u += 1) {
        let sum = 0;
        for (let y = 0; y < 32; y += 1) {
          for (let x = 0; x < 32; x += 1) {
            const horizontal = Math.cos((((x + 0.5) * u) / 32) * Math.PI);
            const vertical = Math.cos((((y + 0.5) * v) / 32) * Math.PI);
            sum += gray[y * 32 + x]! * horizontal * vertical;
          }
        }
        coefficients.push(Number(sum.toFixed(6)));
      }
    }
    const median = coefficients.slice(1).sort((one, other) => one - other)[31]!;
    return coefficients.reduce((value, c) => value * 2n + (c > median ? 1n : 0n), 0n);
  }

  it('agrees with a direct implementation of its definition', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1024, maxLength: 1024 }), (gray) => {
        const hash = perceptualHash(gray);
        expect(hash).toMatch(HASH);
        expect(BigInt(`0x${hash}`)).toBe(reference(gray));
      }),
      { numRuns: 60 },
    );
    expect(BigInt(`0x${perceptualHash(largeScene)}`)).toBe(reference(largeScene));
  });

  it('is the same as of Python imagehash', () => {
    // Values of scipy.fftpack.dct along both axes and numpy.median, as Python's imagehash uses them.
    const formula = large((x, y) => (x * x * 7 + y * 13 + x * y * 5) % 256);
    expect(perceptualHash(formula)).toBe('96c022037a4aafff');
  });

  it('is the same for a brighter image and similar for a noisy or softer one', () => {
    const hash = perceptualHash(largeScene);
    expect(perceptualHash(largeScene.map((level) => level + 30))).toBe(hash);
    const noisy = largeScene.map((level, index) => level + (((index * 7919) % 5) - 2));
    expect(differingBits(perceptualHash(noisy), hash)).toBeLessThanOrEqual(8);
    const softer = largeScene.map((level) => 128 + Math.round((level - 128) * 0.8));
    expect(differingBits(perceptualHash(softer), hash)).toBeLessThanOrEqual(8);
  });

  it('differs for the mirrored image', () => {
    const flipped = perceptualHash(mirrored(largeScene, 32));
    expect(differingBits(flipped, perceptualHash(largeScene))).toBeGreaterThan(20);
  });

  it('sets half of the bits for an image with detail', () => {
    const noise = large((x, y) => (x * 7919 + y * 104729 + x * x * y * 31) % 251);
    expect(differingBits(perceptualHash(noise), '0000000000000000')).toBe(32);
  });
});
