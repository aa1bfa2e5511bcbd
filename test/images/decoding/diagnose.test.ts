import sharp from 'sharp';
import { expect, test } from 'vitest';
import { diagnose } from '../../../src/images/decoding/diagnose.ts';
import type { ImageInput } from '../../../src/images/input.ts';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { photo, pngOf } from '../../fixtures/images.ts';

const FILE = await pngOf(photo({ width: 8, height: 8 }));
const INPUT = { file: FILE, bytes: FILE, limits: DEFAULT_LIMITS, sharp } as unknown as ImageInput;

const failing = (part: 'bytes' | 'sharp', message: string): ImageInput => ({
  ...INPUT,
  get [part](): never {
    throw new RangeError(message);
  },
});

test('an error of a file that can be decoded is no damage', async () => {
  const failure = await diagnose(new Error('defect'), INPUT);
  expect(failure).toMatchObject({ code: 'processing_failed', message: 'defect' });
});

test('a file whose bytes cannot be prepared for the decoder is damaged', async () => {
  const input = failing('bytes', 'Array buffer allocation failed');
  const failure = await diagnose(new RangeError('Array buffer allocation failed'), input);
  expect(failure).toMatchObject({ code: 'corrupt_image' });
});

test('a damaged file has no message of another file that failed at the same time', async () => {
  const whole = await photo({ width: 80, height: 60 }).jpeg().toBuffer();
  const file = whole.subarray(0, whole.length / 2);
  const own = 'VipsJpeg: premature end of JPEG image';
  const other = 'VipsJpeg: Corrupt JPEG data: 1 extraneous bytes before marker 0xdb';
  const damaged = 'this JPEG image is damaged';
  for (const [text, message] of [
    [`${other}\n${own}`, `${damaged}: premature end of JPEG image`],
    [other, damaged],
  ]) {
    expect(await diagnose(new Error(text), { ...INPUT, file, bytes: file })).toMatchObject({
      ...{ code: 'corrupt_image', message },
    });
  }
});

test('a decoder that cannot be loaded is no damage of the file', async () => {
  const input = failing('sharp', 'no such library');
  await expect(diagnose(new Error('no such library'), input)).rejects.toThrow('no such library');
});
