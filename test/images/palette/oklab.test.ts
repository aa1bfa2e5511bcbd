import { describe, expect, it } from 'vitest';
import { oklabFromSrgb, srgbFromOklab } from '../../../src/images/palette/oklab.ts';

const srgb = (red: number, green: number, blue: number) => ({ red, green, blue });

describe('OKLab conversion', () => {
  // Values of CSS Color 4's sample conversions, to the digits that browsers print.
  it.each([
    [srgb(255, 255, 255), 1, 0, 0],
    [srgb(0, 0, 0), 0, 0, 0],
    [srgb(255, 0, 0), 0.62796, 0.22486, 0.12585],
    [srgb(0, 255, 0), 0.86644, -0.23389, 0.1795],
    [srgb(0, 0, 255), 0.45201, -0.03246, -0.31153],
    [srgb(255, 255, 0), 0.96798, -0.07137, 0.19857],
  ])('of %o agrees with the reference', (colour, lightness, a, b) => {
    const oklab = oklabFromSrgb(colour);
    expect(oklab.lightness).toBeCloseTo(lightness, 4);
    expect(oklab.a).toBeCloseTo(a, 4);
    expect(oklab.b).toBeCloseTo(b, 4);
  });

  it('round-trips every 8-bit colour', () => {
    for (let red = 0; red < 256; red += 5) {
      for (let green = 0; green < 256; green += 5) {
        for (let blue = 0; blue < 256; blue += 5) {
          const there = oklabFromSrgb(srgb(red, green, blue));
          const back = srgbFromOklab(there);
          if (back.red !== red || back.green !== green || back.blue !== blue) {
            expect(back).toEqual(srgb(red, green, blue));
          }
        }
      }
    }
  });

  it('is monotonic between whole levels', () => {
    const steps = [254, 254.25, 254.75, 255].map(
      (level) => oklabFromSrgb(srgb(level, level, level)).lightness,
    );
    expect(steps).toEqual(steps.toSorted((x, y) => x - y));
    expect(new Set(steps).size).toBe(4);
  });

  it('clips colours outside of sRGB', () => {
    expect(srgbFromOklab({ lightness: 1.5, a: 0, b: 0 })).toEqual(srgb(255, 255, 255));
    expect(srgbFromOklab({ lightness: -1, a: 0, b: 0 })).toEqual(srgb(0, 0, 0));
    expect(srgbFromOklab({ lightness: 0.6, a: 0.4, b: 0.2 }).green).toBe(0);
  });
});
