import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { verifyImage } from '../../../src/media/files/images.ts';
import { type ImagePool, startPool } from '../../../src/operations/pool/pool.ts';
import { photo } from '../../fixtures/images.ts';
import { temporaryFolder } from '../../oriel.ts';

let pool: ImagePool;
beforeAll(async () => {
  pool = await startPool({ threads: 1 });
});
afterAll(() => pool.close());

const SIZE = { width: 300, height: 200 };

it('verifies bytes, which the caller keeps, and files', async () => {
  const bytes = await photo(SIZE).jpeg().toBuffer();
  const proof = {
    format: 'jpeg',
    mediaType: 'image/jpeg',
    extension: 'jpg',
    ...SIZE,
    hasAlpha: false,
    frames: 1,
  };
  expect(await verifyImage(pool, bytes, DEFAULT_LIMITS)).toEqual(proof);
  expect(bytes.length).toBeGreaterThan(0);
  const path = join(temporaryFolder(), 'a.bin');
  await writeFile(path, bytes);
  expect(await verifyImage(pool, path, DEFAULT_LIMITS)).toEqual(proof);
});

it.each([
  ['HTML', () => Buffer.from('<html>'), {}, 'unsupported_image', 400],
  ['nothing', () => Buffer.alloc(0), {}, 'corrupt_image', 400],
  ['half an image', (whole: Buffer) => whole.subarray(0, 2000), {}, 'corrupt_image', 400],
  ['too many pixels', (whole: Buffer) => whole, { pixels: 59_999 }, 'image_too_large', 413],
  ['too many bytes', (whole: Buffer) => whole, { fileBytes: 100 }, 'image_too_large', 413],
])('rejects %s naming the param', async (_, make, limits, code, status) => {
  const bytes = make(await photo(SIZE).png().toBuffer());
  const proof = verifyImage(pool, bytes, { ...DEFAULT_LIMITS, ...limits }, 'image[1]');
  await expect(proof).rejects.toMatchObject({
    type: 'invalid_request',
    code,
    status,
    param: 'image[1]',
    message: expect.stringMatching(/^image\[1\]: /),
  });
});

it('rejects an unreadable file as service_error', async () => {
  await expect(verifyImage(pool, '/nowhere/a.png', DEFAULT_LIMITS)).rejects.toMatchObject({
    type: 'service_error',
    status: 503,
  });
});
