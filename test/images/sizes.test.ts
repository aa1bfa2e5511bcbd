import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../src/failure.ts';
import {
  OUTPUT_SIZES,
  outputSize,
  parseTarget,
  RESOLUTIONS,
  type Resolution,
  type Size,
  type SizeFields,
  targetOf,
} from '../../src/images/sizes.ts';
import { runs } from '../runs.ts';

const show = (size: Size | 'auto') => (size === 'auto' ? size : `${size.width}x${size.height}`);
const mapped = (target: Size | 'auto') => show(target === 'auto' ? target : outputSize(target));
const swap = ({ width, height }: Size): Size => ({ width: height, height: width });
const area = ({ width, height }: Size) => width * height;
const orientation = ({ width, height }: Size) =>
  width === height ? 'square' : width > height ? 'landscape' : 'portrait';

function failureOf(attempt: () => unknown): Failure {
  try {
    attempt();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('Nothing was thrown');
}

/** Sides from one pixel to the longest that can be parsed, distributed over all magnitudes. */
const side = fc.oneof(
  fc.integer({ min: 1, max: 5000 }),
  fc.integer({ min: 1, max: 999_999_999 }),
  fc.constantFrom(1, 1024, 1152, 1448, 1449, 1536, 2048, 2160, 3840, 999_999_999),
);
const pixels: fc.Arbitrary<Size> = fc.oneof(
  fc.record({ width: side, height: side }),
  side.map((length) => ({ width: length, height: length })),
);
const landscape = pixels
  .filter(({ width, height }) => width !== height)
  .map((size) => (size.width > size.height ? size : swap(size)));
const resolution = fc.constantFrom(...RESOLUTIONS);
const part = fc
  .tuple(fc.integer({ min: 0, max: 999_999 }), fc.integer({ min: 0, max: 999_999 }))
  .filter(([whole, fraction]) => whole > 0 || fraction > 0)
  .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(6, '0')}`);

test('OUTPUT_SIZES are the seven of the interface', () => {
  expect(OUTPUT_SIZES.map(show).join(' ')).toBe(
    '1024x1024 1536x1024 1024x1536 2048x2048 2048x1152 3840x2160 2160x3840',
  );
});

describe('parseTarget', () => {
  test.each<[text: string, resolution: Resolution | undefined, target: string]>([
    ['auto', undefined, 'auto'],
    ['auto', '4K', 'auto'],
    ['1280x720', undefined, '1280x720'],
    ['1280X720', '4K', '1280x720'],
    ['1x999999999', undefined, '1x999999999'],
    ['1:1', undefined, '1024x1024'],
    ['16:9', undefined, '1024x576'],
    ['16:9', '1K', '1024x576'],
    ['16:9', '2K', '2048x1152'],
    ['9:16', '4K', '2160x3840'],
    ['3:2', '4K', '3840x2560'],
    ['21:9', '2K', '2048x878'],
    ['1.91:1', undefined, '1024x536'],
    ['1:2.35', '2K', '871x2048'],
    ['0.5:0.5', '4K', '3840x3840'],
    ['10:10.0', '2K', '2048x2048'],
    ['007:7', '2K', '2048x2048'],
  ])('parses %s at %s as %s', (text, at, target) => {
    expect(show(parseTarget(text, at))).toBe(target);
  });

  test.each<[text: string, target: string]>([
    ['1001:1000', '1024x1023'],
    ['1000:1001', '1023x1024'],
    ['999999:999998', '1024x1023'],
    ['999999.999999:999999.999998', '1024x1023'],
    ['999999:1', '1024x1'],
    ['0.000001:999999', '1x1024'],
  ])('rounds %s neither to a square nor to zero', (text, target) => {
    expect(show(parseTarget(text))).toBe(target);
  });

  test.each([
    ...['', ' ', 'AUTO', 'auto ', '1024', '1024x', 'x1024', '1024×1024', '1024*1024'],
    ...['1024 x 1024', ' 1024x1024', '1024x1024\n', '1024x1024x1024', '0x1024', '1024x0'],
    ...['01024x1024', '-1024x1024', '+1024x1024', '1024.5x1024', '1e3x1e3', '0xFFx1'],
    ...['1000000000x1', '١٠٢٤x١٠٢٤', 'NaNxNaN', 'Infinity:1', ':', '16:', ':9', '16:9:1'],
    ...['0:1', '1:0', '0.0:1', '0:0', '-16:9', '16 : 9', '16/9', '1.:1', '.5:1'],
    ...['1,91:1', '1.9.1:1', '1.0000001:1', '1000000:1', '2K'],
  ])('rejects %j with the expected and the received text', (text) => {
    const failure = failureOf(() => parseTarget(text));
    expect(failure).toMatchObject({ type: 'invalid_request', status: 400, param: 'size' });
    expect(failure.message).toBe(
      `size: expected auto, WIDTHxHEIGHT or a ratio such as 16:9, received ${JSON.stringify(text)}`,
    );
  });

  it('quotes a long text in part', () => {
    const failure = failureOf(() => parseTarget('9'.repeat(100_000)));
    expect(failure.message).toMatch(/received "9{40}…"$/);
  });

  it('throws only failures, for any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
      fc.string({ unit: fc.constantFrom('0', '1', '9', 'x', 'X', ':', '.', '-', ' ', 'auto') }),
    );
    fc.assert(
      fc.property(text, fc.option(resolution, { nil: undefined }), (anything, at) => {
        let target: Size | 'auto';
        try {
          target = parseTarget(anything, at);
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
          return;
        }
        if (target === 'auto') return;
        expect(target.width).toBeGreaterThanOrEqual(1);
        expect(target.height).toBeGreaterThanOrEqual(1);
        expect(OUTPUT_SIZES).toContain(outputSize(target));
      }),
      { numRuns: runs(2000) },
    );
  });

  it('parses every pixel size exactly, at any resolution', () => {
    fc.assert(
      fc.property(pixels, fc.constantFrom('x', 'X'), resolution, (size, by, at) => {
        expect(parseTarget(`${size.width}${by}${size.height}`, at)).toEqual(size);
      }),
    );
  });

  it('keeps the orientation of a ratio, with the long edge of the resolution and whole pixels', () => {
    fc.assert(
      fc.property(part, part, resolution, (across, down, at) => {
        const target = parseTarget(`${across}:${down}`, at) as Size;
        const ratio = { width: Number(across), height: Number(down) };
        expect(orientation(target)).toBe(orientation(ratio));
        expect(Math.max(target.width, target.height)).toBe(
          { '1K': 1024, '2K': 2048, '4K': 3840 }[at],
        );
        expect(Number.isInteger(Math.min(target.width, target.height))).toBe(true);
        expect(parseTarget(`${down}:${across}`, at)).toEqual(swap(target));
      }),
    );
  });
});

describe('targetOf', () => {
  test.each<[fields: SizeFields, target: string]>([
    [{}, 'auto'],
    [{ size: undefined, resolution: undefined }, 'auto'],
    [{ size: 'auto' }, 'auto'],
    [{ size: 'auto', resolution: '4K', aspect_ratio: '16:9' }, 'auto'],
    [{ size: '16:9' }, '1024x576'],
    [{ size: '16:9', resolution: '2K' }, '2048x1152'],
    [{ size: '640x480', resolution: '4K' }, '640x480'],
    [{ img_size: '640x480', resolution: '4K' }, '640x480'],
    [{ img_size: '3:4', resolution: '2K' }, '1536x2048'],
    [{ img_size: 'auto' }, 'auto'],
    [{ aspect_ratio: '3:4' }, '768x1024'],
    [{ aspect_ratio: '3:4', resolution: '4K' }, '2880x3840'],
    [{ aspect_ratio: 'auto', resolution: '4K' }, 'auto'],
    [{ resolution: '1K' }, '1024x1024'],
    [{ resolution: '2K' }, '2048x2048'],
    [{ resolution: '4K' }, '3840x3840'],
    [{ size: '10x20', img_size: '30x40', aspect_ratio: '1:1' }, '10x20'],
    [{ img_size: '30x40', aspect_ratio: '1:1' }, '30x40'],
    [{ size: '10x20', img_size: 'nonsense', aspect_ratio: 'nonsense' }, '10x20'],
  ])('returns the target of %j: %s', (fields, target) => {
    expect(show(targetOf(fields))).toBe(target);
  });

  test.each<[fields: SizeFields, param: string, message: string]>([
    [{ size: 'big', img_size: '1x1' }, 'size', 'auto, WIDTHxHEIGHT or a ratio such as 16:9'],
    [{ img_size: 'big' }, 'img_size', 'auto, WIDTHxHEIGHT or a ratio such as 16:9'],
    [{ img_size: '' }, 'img_size', 'auto, WIDTHxHEIGHT or a ratio such as 16:9'],
    [{ aspect_ratio: 'big' }, 'aspect_ratio', 'auto or a ratio such as 16:9'],
    [{ aspect_ratio: '640x480' }, 'aspect_ratio', 'auto or a ratio such as 16:9'],
    [{ resolution: '8K' }, 'resolution', 'one of 1K, 2K, 4K'],
    [{ resolution: '2k' }, 'resolution', 'one of 1K, 2K, 4K'],
    [{ resolution: '' }, 'resolution', 'one of 1K, 2K, 4K'],
    [{ resolution: 'toString' }, 'resolution', 'one of 1K, 2K, 4K'],
    [{ size: '640x480', resolution: '8K' }, 'resolution', 'one of 1K, 2K, 4K'],
  ])('rejects %j with param %s', (fields, param, expected) => {
    const failure = failureOf(() => targetOf(fields));
    expect(failure).toMatchObject({ type: 'invalid_request', status: 400, param });
    expect(failure.message).toContain(`${param}: expected ${expected}, received "`);
  });
});

describe('outputSize', () => {
  test.each<[fields: SizeFields, output: string]>([
    // The examples of the interface.
    [{ size: '1280x720' }, '1536x1024'],
    [{ size: '1920x1080' }, '2048x1152'],
    [{ size: '1440x2560' }, '2160x3840'],
    // The examples of the design.
    [{ size: '16:9' }, '1536x1024'],
    [{ size: '16:9', resolution: '2K' }, '2048x1152'],
    [{ size: '9:16', resolution: '4K' }, '2160x3840'],
    [{ size: '1:1', resolution: '4K' }, '2048x2048'],
    [{ size: '2560x1440' }, '2048x1152'],
    [{ size: '1449x1449' }, '2048x2048'],
    // Borders and extremes.
    [{ size: '1448x1448' }, '1024x1024'],
    [{ size: '1x1' }, '1024x1024'],
    [{ size: '999999999x999999999' }, '2048x2048'],
    [{ size: '1025x1024' }, '1536x1024'],
    [{ size: '1024x1025' }, '1024x1536'],
    [{ size: '2049x2048' }, '2048x1152'],
    [{ size: '9:16' }, '1024x1536'],
    [{ size: '9:16', resolution: '2K' }, '1024x1536'],
    [{ size: '16:9', resolution: '4K' }, '3840x2160'],
    [{ size: '999999999x1' }, '3840x2160'],
    [{ size: '1x999999999' }, '2160x3840'],
    [{ size: '999999:1' }, '1536x1024'],
    [{ size: '1:999999' }, '1024x1536'],
    [{ resolution: '4K' }, '2048x2048'],
    [{}, 'auto'],
  ])('maps %j to %s', (fields, output) => {
    expect(mapped(targetOf(fields))).toBe(output);
  });

  it('maps a tie to the smaller size', () => {
    const neighbours: [smaller: string, larger: string][] = [
      ['1024x1024', '2048x2048'],
      ['1536x1024', '2048x1152'],
      ['2048x1152', '3840x2160'],
      ['1024x1536', '2160x3840'],
    ];
    for (const [smaller, larger] of neighbours) {
      const [one, other] = [parseTarget(smaller) as Size, parseTarget(larger) as Size];
      const width = Math.sqrt(one.width * other.width);
      const height = Math.sqrt(one.height * other.height);
      expect(show(outputSize({ width, height }))).toBe(smaller);
      // Slightly larger targets are no tie.
      expect(show(outputSize({ width: width * (1 + 1e-9), height: height * (1 + 1e-9) }))).toBe(
        larger,
      );
    }
  });

  it('maps each of the seven to itself', () => {
    for (const size of OUTPUT_SIZES) expect(outputSize({ ...size })).toEqual(size);
  });

  it('returns the nearest of the seven of the same orientation', () => {
    const distance = (target: Size, size: Size) =>
      Math.sqrt(
        Math.log(target.width / size.width) ** 2 + Math.log(target.height / size.height) ** 2,
      );
    fc.assert(
      fc.property(pixels, (target) => {
        const output = outputSize(target);
        expect(OUTPUT_SIZES).toContain(output);
        expect(orientation(output)).toBe(orientation(target));
        for (const size of OUTPUT_SIZES.filter((one) => orientation(one) === orientation(target))) {
          expect(distance(target, output)).toBeLessThanOrEqual(distance(target, size) + 1e-9);
        }
      }),
      { numRuns: runs(2000) },
    );
  });

  it('never returns a smaller size for a larger target', () => {
    fc.assert(
      fc.property(pixels, fc.integer({ min: 1, max: 10_000 }), (target, factor) => {
        const scaled = { width: target.width * factor, height: target.height * factor };
        expect(area(outputSize(scaled))).toBeGreaterThanOrEqual(area(outputSize(target)));
      }),
      { numRuns: runs(2000) },
    );
  });

  it('returns one of the seven for the smallest and largest numbers', () => {
    const ends = [1, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE];
    for (const width of ends) {
      for (const height of ends) expect(OUTPUT_SIZES).toContain(outputSize({ width, height }));
    }
  });

  // Of the seven only 2048x1152 has no portrait counterpart. So rotating a landscape target rotates its
  // output, unless that is 2048x1152. Rotating a portrait target, which has one candidate less, rotates
  // its output or returns 2048x1152.
  it('rotates with the target, except 2048x1152, which has no portrait counterpart', () => {
    let [turned, lone] = [0, 0];
    fc.assert(
      fc.property(landscape, (target) => {
        const output = outputSize(target);
        const portrait = outputSize(swap(target));
        if (show(output) === '2048x1152') {
          lone += 1;
          expect(['1024x1536', '2160x3840']).toContain(show(portrait));
        } else {
          turned += 1;
          expect(portrait).toEqual(swap(output));
        }
      }),
      {
        numRuns: runs(2000),
        examples: [[{ width: 1920, height: 1080 }], [{ width: 1280, height: 720 }]],
      },
    );
    expect(Math.min(turned, lone)).toBeGreaterThan(0);
  });
});
