import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBatch } from '../batch.ts';
import { photo, pngOf } from '../fixtures/images.ts';

const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let picture: Buffer;
beforeAll(async () => {
  picture = await pngOf(photo({ width: 60, height: 40 }));
  const own = await runBatch(['negate', '--profile', 'adobe-rgb'], { 'a.png': picture });
  const rgb = (await sharp(own.bytes('a.png')).metadata()).icc!;
  const inks = await sharp(picture).withIccProfile('cmyk').tiff().toBuffer();
  const changed = (at: number, text: string) => {
    const copy = Buffer.from(rgb);
    copy.write(text, at, 'latin1');
    return copy;
  };
  const files = {
    rgb,
    inks: (await sharp(inks).metadata()).icc!,
    short: rgb.subarray(0, 300),
    empty: '',
    text: 'no profile',
    lab: changed(16, 'Lab '),
    tags: changed(128, '\xff\xff\xff\xff'.repeat(9)),
    zeros: changed(132, '\0'.repeat(rgb.length - 132)),
    false: changed(16, 'CMYK'),
    large: Buffer.concat([rgb, Buffer.alloc(2 ** 23)]),
    huge: '',
  };
  for (const [name, bytes] of Object.entries(files))
    writeFileSync(join(folder, `${name}.icc`), bytes);
  truncateSync(join(folder, 'huge.icc'), 100 * 2 ** 20);
  mkdirSync(join(folder, 'folder.icc'));
});

const convert = (name: string, format: string) =>
  runBatch(['convert', '--format', format, '--profile', join(folder, `${name}.icc`)], {
    'a.png': picture,
  });

test.each([
  ['rgb', 'png', 'srgb'],
  ['rgb', 'webp', 'srgb'],
  ['inks', 'jpeg', 'cmyk'],
  ['inks', 'tiff', 'cmyk'],
])('the file of a profile, %s, is that of a %s', async (name, format, space) => {
  const batch = await convert(name, format);
  expect(await sharp(batch.bytes('a.png')).metadata()).toMatchObject({ space, hasProfile: true });
});

test.each([
  ['inks', 'png', 'profile_unsupported', 'PNG holds no CMYK'],
  ['inks', 'webp', 'profile_unsupported', 'WEBP holds no CMYK'],
  ['short', 'png', 'profile_invalid', 'breaks off'],
  ['empty', 'png', 'profile_invalid', 'another kind'],
  ['text', 'png', 'profile_invalid', 'another kind'],
  ['lab', 'png', 'profile_invalid', '"Lab "'],
  ['tags', 'png', 'profile_invalid', 'table of tags'],
  ['zeros', 'png', 'profile_invalid', 'cannot be used'],
  ['false', 'jpeg', 'profile_invalid', 'cannot be used'],
  ['large', 'png', 'profile_invalid', 'more than 8388608'],
])('the file %s for %s fails as %s, by name', async (name, format, code, reason) => {
  const { error } = (await convert(name, format)).record('a.png');
  expect(error).toMatchObject({ code, message: expect.stringContaining(reason) });
  expect(error!.message).toContain(`${name}.icc`);
});

test.each([
  ['huge', 'is no file of at most'],
  ['folder', 'is no file of at most'],
  ['missing', 'no such file'],
])('the file %s is refused before the first image', async (name, reason) => {
  await expect(convert(name, 'png')).rejects.toThrow(
    new RegExp(`profile: \\S*${name}\\.icc:? ${reason}`),
  );
});

test('the mask of a median is no larger than the image', async () => {
  const small = await pngOf(photo({ width: 4, height: 1 }));
  const batch = await runBatch(['median', '--size', '3'], { 'a.png': small });
  expect(batch.record('a.png')).toMatchObject({ width: 4, height: 1 });
});
