import { describe, expect, test } from 'vitest';
import { crop } from '../../../src/operations/steps/crop.ts';
import { STEPS } from '../../../src/operations/steps/steps.ts';
import { editMetadata } from '../../../src/operations/tools/edit-metadata.ts';
import { parseFields } from '../../../src/schema/fields.ts';
import { runOne } from '../../batch.ts';
import { painted, pngOf } from '../../fixtures/images.ts';
import { differences } from '../../pixels.ts';

const SIZE = { width: 48, height: 32 };
/** Every pixel encodes its position. */
const place = (x: number, y: number) => [x * 5, y * 7, 9];
const map = () => pngOf(painted(SIZE, place));

describe('overlay', () => {
  test.each(['sharpen', 'blur', 'greyscale'])(
    'reads the pixels that %s has made, which one pipeline would compute twice',
    (name) => {
      const facts = { ...SIZE, frames: 1, hasAlpha: false, deep: false, moved: false, grey: false };
      const layer = { ratio: 1, grey: true };
      const own = { width: 9, height: 9 };
      const options = { layer, own, gravity: 'south', x: 0, y: 0, angle: 0 };
      const planned = (step: string, given: object) =>
        STEPS.get(step)!.plan(facts, given as never, { alpha: false });
      expect(planned('overlay', options).from).toBeLessThanOrEqual(planned(name, {}).to);
    },
  );
});

describe('changes of samples', () => {
  const gamma = (sample: number) => Math.round(255 * (sample / 255) ** (1 / 1.3));
  const sepia = (sample: number, strength: number) =>
    Math.round(Math.min(255, Math.max(0, sample + strength * (1 - 4 * (sample / 255 - 0.5) ** 2))));
  // An odd number of samples, so many that two are replaced at a time.
  test.each([
    ['gamma --value 1.3', (samples: readonly number[]) => samples.map(gamma)],
    ['negate', (samples: readonly number[]) => samples.map((sample) => 255 - sample)],
    ['flatten --background red', (samples: readonly number[]) => samples],
    [
      'tint --color #ff0000',
      ([red, green, blue]: readonly number[]) => [
        sepia(red!, 255 - 0.2126 * 255),
        sepia(green!, -0.2126 * 255),
        sepia(blue!, -0.2126 * 255),
      ],
    ],
  ])('%s changes each pixel of a large picture', async (command, expected) => {
    const samples = (x: number, y: number) => [x % 256, y % 256, (x + y) % 256];
    const image = await pngOf(painted({ width: 701, height: 503 }, samples));
    const pixels = await runOne([...command.split(' '), '--format', 'png'], image);
    expect(differences(pixels, (x, y) => expected(samples(x, y)))).toEqual([]);
  });
});

describe('crop', () => {
  test.each([
    [['--ratio', '1:1'], 32, 32, 8, 0],
    [['--ratio', '1:1', '--gravity', 'west'], 32, 32, 0, 0],
    [['--ratio', '3:1', '--gravity', 'southeast'], 48, 16, 0, 16],
    [['--percent', '50'], 24, 16, 12, 8],
    [['--percent', '50', '--gravity', 'northeast'], 24, 16, 24, 0],
    [['--width', '10', '--height', '6', '--gravity', 'south'], 10, 6, 19, 26],
  ])('%j gives %i x %i from %i,%i', async (flags, width, height, left, top) => {
    const pixels = await runOne(['crop', ...flags], await map());
    expect([pixels.width, pixels.height]).toEqual([width, height]);
    expect(differences(pixels, (x, y) => place(left + x, top + y))).toEqual([]);
  });

  test('by ratio and attention keeps what stands out', async () => {
    const scene = painted({ width: 300, height: 100 }, (x, y) =>
      Math.hypot(x - 250, y - 50) < 30 ? [230, 120 + (x % 7), 90 + (y % 5)] : [90, 92, 95],
    );
    const pixels = await runOne(
      ['crop', '--ratio', '1:1', '--gravity', 'attention'],
      await pngOf(scene),
    );
    expect([pixels.width, pixels.height]).toEqual([100, 100]);
    expect(pixels.rgb(50, 50)[0]).toBeGreaterThan(200);
  });

  test('and edit-metadata name all options that are missing or wrong', () => {
    const edit = () => parseFields(editMetadata.options, { set: ['Foo=1'], strip: ['nope'] });
    expect(edit).toThrow(/^set: expected .* received "Foo"; strip: expected .* received "nope"$/);
    const parse = () => parseFields(crop.options, { left: 1, format: 'png' });
    expect(parse).toThrow(
      /^top is required: .*; width is required: .*; height is required: an integer of at least 1$/,
    );
  });
});
