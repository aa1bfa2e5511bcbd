import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Oklab, oklabFromSrgb } from '../../../src/images/palette/oklab.ts';
import { quantise, type Swatch } from '../../../src/images/palette/quantise.ts';
import { runs } from '../../runs.ts';

type Pixel = readonly [red: number, green: number, blue: number, alpha?: number];

function pixelsOf(colours: readonly Pixel[]): Uint8Array {
  return Uint8Array.from(
    colours.flatMap(([red, green, blue, alpha]) => [red, green, blue, alpha ?? 255]),
  );
}

function repeat(colour: Pixel, times: number): Pixel[] {
  return Array.from({ length: times }, () => colour);
}

/** Stripes of flat colours, drawn 8 times larger and averaged, so that edges become mixtures. */
function shrunkStripes(colours: readonly Pixel[], size: number): Pixel[] {
  const at = (position: number) => colours[Math.floor((position * colours.length) / (size * 8))]!;
  return Array.from({ length: size * size }, (_, index): Pixel => {
    const column = index % size;
    const samples = Array.from({ length: 8 }, (_, part) => at(column * 8 + part));
    const mean = (channel: 0 | 1 | 2) =>
      Math.round(samples.reduce((sum, sample) => sum + sample[channel], 0) / 8);
    return [mean(0), mean(1), mean(2)];
  });
}

function oklab(red: number, green: number, blue: number): Oklab {
  return oklabFromSrgb({ red, green, blue });
}

function oklabOfHex(hex: string): Oklab {
  const value = Number.parseInt(hex.slice(1), 16);
  return oklab(value >> 16, (value >> 8) & 255, value & 255);
}

/** The mean distance from a pixel to its nearest swatch, which measures the quality of a palette. */
function meanDistance(colours: readonly Pixel[], swatches: readonly Swatch[]): number {
  const palette = swatches.map((swatch) => oklabOfHex(swatch.hex));
  const nearest = colours.map(([red, green, blue]) => {
    const pixel = oklab(red, green, blue);
    return Math.min(
      ...palette.map(({ lightness, a, b }) =>
        Math.hypot(lightness - pixel.lightness, a - pixel.a, b - pixel.b),
      ),
    );
  });
  return nearest.reduce((sum, distance) => sum + distance, 0) / nearest.length;
}

/** A picture-like field of colours from a fixed formula: three soft blobs over a slope. */
function field(size: number): Pixel[] {
  const blob = (x: number, y: number, centreX: number, centreY: number) =>
    Math.exp(-((x - centreX) ** 2 + (y - centreY) ** 2) * 18);
  return Array.from({ length: size * size }, (_, index): Pixel => {
    const x = (index % size) / size;
    const y = Math.floor(index / size) / size;
    const level = (value: number) => Math.max(0, Math.min(255, Math.round(value * 255)));
    return [
      level(0.2 + 0.3 * y + 0.7 * blob(x, y, 0.25, 0.3)),
      level(0.3 + 0.2 * x + 0.5 * blob(x, y, 0.7, 0.6)),
      level(0.5 - 0.4 * y + 0.6 * blob(x, y, 0.6, 0.15)),
    ];
  });
}

const red: Pixel = [174, 28, 40];
const white: Pixel = [255, 255, 255];
const blue: Pixel = [33, 70, 139];

describe('a palette of flat areas', () => {
  it('has the exact colours of three equal stripes', () => {
    const flag = [...repeat(red, 300), ...repeat(white, 300), ...repeat(blue, 300)];
    expect(quantise(pixelsOf(flag), 6)).toEqual([
      { hex: '#21468b', proportion: 0.3334 },
      { hex: '#ae1c28', proportion: 0.3333 },
      { hex: '#ffffff', proportion: 0.3333 },
    ]);
  });

  it('orders unequal stripes by their share', () => {
    const flag = [
      ...repeat([0, 0, 0], 50),
      ...repeat([221, 0, 0], 25),
      ...repeat([255, 204, 0], 25),
    ];
    expect(quantise(pixelsOf(flag), 6)).toEqual([
      { hex: '#000000', proportion: 0.5 },
      { hex: '#dd0000', proportion: 0.25 },
      { hex: '#ffcc00', proportion: 0.25 },
    ]);
  });

  it.each([3, 6, 20])('has no colours of blurred edges (%i requested)', (count) => {
    const swatches = quantise(pixelsOf(shrunkStripes([red, white, blue], 127)), count);
    expect(swatches.map((swatch) => swatch.hex).toSorted()).toEqual([
      '#21468b',
      '#ae1c28',
      '#ffffff',
    ]);
    for (const { proportion } of swatches) expect(Math.abs(proportion - 1 / 3)).toBeLessThan(0.01);
  });

  it('keeps a rare colour that is no mixture of the others', () => {
    const colours = [...repeat(white, 950), ...repeat(blue, 45), ...repeat([230, 25, 75], 5)];
    expect(quantise(pixelsOf(colours), 6)).toEqual([
      { hex: '#ffffff', proportion: 0.95 },
      { hex: '#21468b', proportion: 0.045 },
      { hex: '#e6194b', proportion: 0.005 },
    ]);
  });

  it('keeps a grey area between black and white', () => {
    const colours = [
      ...repeat([0, 0, 0], 400),
      ...repeat(white, 400),
      ...repeat([119, 119, 119], 100),
    ];
    expect(quantise(pixelsOf(colours), 6).map((swatch) => swatch.hex)).toContain('#777777');
  });

  it('keeps a dominating colour unchanged by noise around it', () => {
    const noise = Array.from({ length: 400 }, (_, index): Pixel => [100 + (index % 12), 60, 20]);
    const colours = [...repeat([100, 60, 20], 600), ...noise, ...repeat([0, 120, 200], 500)];
    expect(quantise(pixelsOf(colours), 2).map((swatch) => swatch.hex)).toEqual([
      '#643c14',
      '#0078c8',
    ]);
  });

  it('keeps the many rare colours of a picture on white', () => {
    const colours = [...repeat(white, 150 * 150), ...field(120)];
    const swatches = quantise(pixelsOf(colours), 6);
    expect(swatches).toHaveLength(6);
    expect(swatches[0]!.hex).toBe('#ffffff');
  });

  it('has one swatch for colours that look alike', () => {
    const colours = [...repeat([200, 100, 50], 60), ...repeat([202, 101, 50], 40)];
    expect(quantise(pixelsOf(colours), 6)).toEqual([{ hex: '#c86432', proportion: 1 }]);
  });
});

describe('the number of swatches', () => {
  it('is smaller than requested if there are fewer colours', () => {
    expect(quantise(pixelsOf([red, red, white]), 20)).toEqual([
      { hex: '#ae1c28', proportion: 0.6667 },
      { hex: '#ffffff', proportion: 0.3333 },
    ]);
  });

  it('is one for one pixel', () => {
    expect(quantise(pixelsOf([[1, 2, 3]]), 6)).toEqual([{ hex: '#010203', proportion: 1 }]);
  });

  it('is one if one is requested: the median colour', () => {
    const colours = [...repeat(white, 60), ...repeat(red, 40)];
    expect(quantise(pixelsOf(colours), 1)).toEqual([{ hex: '#ffffff', proportion: 1 }]);
  });

  it('is twenty for a picture with enough colours', () => {
    expect(quantise(pixelsOf(field(96)), 20)).toHaveLength(20);
  });

  it('is zero if no pixel is visible', () => {
    expect(quantise(new Uint8Array(0), 6)).toEqual([]);
    expect(quantise(pixelsOf(repeat([200, 0, 0, 127], 10)), 6)).toEqual([]);
  });
});

describe('transparency', () => {
  it('excludes pixels with an alpha under 128 and includes the others as opaque', () => {
    const colours: Pixel[] = [
      ...repeat([255, 0, 0, 127], 500),
      ...repeat([0, 128, 0, 128], 30),
      ...repeat([0, 0, 128, 255], 10),
    ];
    expect(quantise(pixelsOf(colours), 6)).toEqual([
      { hex: '#008000', proportion: 0.75 },
      { hex: '#000080', proportion: 0.25 },
    ]);
  });
});

describe('a palette of a gradient', () => {
  const ramp = Array.from({ length: 2560 }, (_, index): Pixel => {
    const level = Math.floor(index / 10);
    return [level, level, level];
  });

  it('is evenly spread and of neutral greys', () => {
    const swatches = quantise(pixelsOf(ramp), 4);
    const levels = swatches.map(({ hex }) => Number.parseInt(hex.slice(1, 3), 16));
    for (const [index, { hex }] of swatches.entries()) {
      const pair = levels[index]!.toString(16).padStart(2, '0');
      expect(hex).toBe(`#${pair}${pair}${pair}`);
    }
    const steps = levels
      .toSorted((x, y) => x - y)
      .map((level) => oklab(level, level, level).lightness);
    for (const [index, lightness] of steps.slice(1).entries()) {
      expect(lightness - steps[index]!).toBeGreaterThan(0.15);
    }
    expect(meanDistance(ramp, swatches)).toBeLessThan(0.07);
  });
});

describe('the quality of a palette', () => {
  const colours = field(96);

  it('is better than with any swatch moved, removed or replaced', () => {
    const swatches = quantise(pixelsOf(colours), 6);
    const distance = meanDistance(colours, swatches);
    for (const index of swatches.keys()) {
      expect(meanDistance(colours, swatches.toSpliced(index, 1))).toBeGreaterThan(distance);
      for (const channel of [0, 8, 16]) {
        for (const step of [-12, 12]) {
          const value = Number.parseInt(swatches[index]!.hex.slice(1), 16);
          const level = ((value >> channel) & 255) + step;
          if (level < 0 || level > 255) continue;
          const moved = (value & ~(255 << channel)) | (level << channel);
          const hex = `#${moved.toString(16).padStart(6, '0')}`;
          const other = swatches.toSpliced(index, 1, { hex, proportion: 0 });
          expect(meanDistance(colours, other)).toBeGreaterThan(distance);
        }
      }
    }
  });

  it('grows with the number of swatches', () => {
    const distances = [1, 2, 4, 8, 16].map((count) =>
      meanDistance(colours, quantise(pixelsOf(colours), count)),
    );
    for (const [index, distance] of distances.slice(1).entries()) {
      expect(distance).toBeLessThan(distances[index]! * 0.85);
    }
  });
});

describe('quantise of arbitrary pixels', () => {
  const channel = fc.integer({ min: 0, max: 255 });
  const alpha = fc.constantFrom(0, 127, 128, 255, 255, 255);
  const pixel = fc.tuple(channel, channel, channel, alpha);
  // Few distinct colours among many pixels as often as noise.
  const colours = fc.oneof(
    fc.array(pixel, { maxLength: 300 }),
    fc
      .tuple(
        fc.array(pixel, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 300 }),
      )
      .map(([some, picks]) => picks.map((pick) => some[pick % some.length]!)),
  );
  const count = fc.integer({ min: 1, max: 20 });

  it('returns at most count sorted hex colours whose proportions sum to one', () => {
    fc.assert(
      fc.property(colours, count, (some, most) => {
        const swatches = quantise(pixelsOf(some), most);
        const visible = some.filter(([, , , opacity]) => opacity >= 128);
        expect(swatches.length === 0).toBe(visible.length === 0);
        expect(swatches.length).toBeLessThanOrEqual(
          Math.min(most, new Set(visible.map(String)).size),
        );
        const steps = swatches.map((swatch) => Math.round(swatch.proportion * 10_000));
        expect(steps.map((step) => step / 10_000)).toEqual(swatches.map((s) => s.proportion));
        if (visible.length > 0) expect(steps.reduce((sum, step) => sum + step)).toBe(10_000);
        for (const [index, { hex }] of swatches.entries()) {
          expect(hex).toMatch(/^#[0-9a-f]{6}$/);
          expect(steps[index]).toBeGreaterThan(0);
          const before = swatches[index - 1];
          if (before === undefined) continue;
          expect([steps[index - 1]! > steps[index]!, before.hex < hex]).toContain(true);
          expect(steps[index - 1]).toBeGreaterThanOrEqual(steps[index]!);
        }
        expect(new Set(swatches.map((swatch) => swatch.hex)).size).toBe(swatches.length);
      }),
      { numRuns: runs(300) },
    );
  });

  it('keeps every swatch within the range of the input colours', () => {
    fc.assert(
      fc.property(colours, count, (some, most) => {
        const seen = some
          .filter(([, , , opacity]) => opacity >= 128)
          .map(([r, g, b]) => oklab(r, g, b));
        for (const { hex } of quantise(pixelsOf(some), most)) {
          const swatch = oklabOfHex(hex);
          for (const axis of ['lightness', 'a', 'b'] as const) {
            const values = seen.map((colour) => colour[axis]);
            // Rounding to 8 bits moves a colour by up to 0.03, near black.
            expect(swatch[axis]).toBeGreaterThan(Math.min(...values) - 0.03);
            expect(swatch[axis]).toBeLessThan(Math.max(...values) + 0.03);
          }
        }
      }),
      { numRuns: runs(200) },
    );
  });

  it('returns the same for the same pixels in any order', () => {
    const shuffled = colours.chain((some) =>
      fc.tuple(
        fc.constant(some),
        fc.shuffledSubarray(some, { minLength: some.length, maxLength: some.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, count, ([some, others], most) => {
        const swatches = quantise(pixelsOf(some), most);
        expect(quantise(pixelsOf(some), most)).toEqual(swatches);
        expect(quantise(pixelsOf(others), most)).toEqual(swatches);
      }),
      { numRuns: runs(200) },
    );
  });

  it('does not change the pixels, and reads them at any offset', () => {
    const pixels = pixelsOf(field(16));
    const before = pixels.slice();
    const swatches = quantise(pixels, 6);
    expect(pixels).toEqual(before);
    const shifted = new Uint8Array(pixels.length + 3);
    shifted.set(pixels, 3);
    expect(quantise(shifted.subarray(3), 6)).toEqual(swatches);
  });
});
