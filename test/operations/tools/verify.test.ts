import sharp from 'sharp';
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { INTERNAL_OPERATIONS } from '../../../src/operations/internal.ts';
import { inlinePool } from '../../../src/operations/pool/pool.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';
import { animatedGif, photo, pngOf, quadrants, stacked, storedAs } from '../../fixtures/images.ts';
import { oriel } from '../../oriel.ts';

const SMALL = { width: 40, height: 30 };

async function verify(bytes: Uint8Array, limits: Partial<typeof DEFAULT_LIMITS> = {}) {
  const pool = await inlinePool(1);
  return pool.run({
    operation: 'verify',
    options: {},
    source: { bytes },
    limits: { ...DEFAULT_LIMITS, ...limits },
  });
}

it.each(['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'] as const)(
  'reports the properties of %s',
  async (format) => {
    const bytes = await photo(SMALL).toFormat(format).toBuffer();
    expect(await verify(bytes)).toMatchObject({
      ok: true,
      data: { format, mediaType: `image/${format}`, ...SMALL, frames: 1 },
    });
  },
);

it('reports frames, alpha and the oriented size', async () => {
  const frames = [quadrants(SMALL), photo(SMALL), photo(SMALL, 2)];
  const gif = await animatedGif(frames, { delay: [50, 50, 50], loop: 0 });
  expect(await verify(gif)).toMatchObject({ data: { ...SMALL, frames: 3 } });
  const clear = await pngOf(photo(SMALL).ensureAlpha(0.5));
  expect(await verify(clear)).toMatchObject({ data: { hasAlpha: true } });
  const turned = await (await storedAs(photo(SMALL), 6)).jpeg().toBuffer();
  expect(await verify(turned)).toMatchObject({ data: SMALL });
});

it.each(['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'] as const)(
  'refuses half a %s',
  async (format) => {
    const bytes = await photo({ width: 200, height: 150 }).toFormat(format).toBuffer();
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    expect(await verify(half)).toMatchObject({ ok: false, error: { code: 'corrupt_image' } });
  },
);

it('decodes the last frame, too', async () => {
  const webp = await (await stacked([photo(SMALL), photo(SMALL, 2), photo(SMALL, 3)]))
    .webp({ lossless: true })
    .toBuffer();
  expect(await verify(Buffer.from(webp))).toMatchObject({ ok: true, data: { frames: 3 } });
  // The data of the last frame, behind its headers.
  webp.fill(0xff, webp.length - 1500, webp.length - 200);
  expect(await verify(webp)).toMatchObject({ ok: false, error: { code: 'corrupt_image' } });
});

it('decodes no more pixels than the limit', async () => {
  const bomb = await pngOf(
    sharp({
      create: { width: 9000, height: 9000, channels: 3, background: 'red' },
    }),
  );
  expect(await verify(bomb)).toMatchObject({ ok: false, error: { code: 'image_too_large' } });
  const gif = await animatedGif([quadrants(SMALL), photo(SMALL)], { delay: [9, 9], loop: 0 });
  const limits = { pixels: 1.5 * SMALL.width * SMALL.height };
  expect(await verify(gif, limits)).toMatchObject({ error: { code: 'image_too_large' } });
});

/** A TIFF of grey pages, each of a size of its own (TIFF 6.0, part 1). */
function tiffOf(sides: readonly number[]): Buffer {
  const parts: Buffer[] = [Buffer.from('II*\0\x08\0\0\0', 'latin1')];
  let at = 8;
  for (const [index, side] of sides.entries()) {
    const tags = [
      [256, side],
      [257, side],
      [258, 8],
      [259, 1],
      [262, 1],
      [273, at + 2 + 9 * 12 + 4],
      [277, 1],
      [278, side],
      [279, side * side],
    ] as const;
    const directory = Buffer.alloc(2 + tags.length * 12 + 4);
    directory.writeUInt16LE(tags.length);
    for (const [place, [tag, value]] of tags.entries()) {
      directory.writeUInt16LE(tag, 2 + place * 12);
      directory.writeUInt16LE(4, 4 + place * 12);
      directory.writeUInt32LE(1, 6 + place * 12);
      directory.writeUInt32LE(value, 10 + place * 12);
    }
    at += directory.length + side * side;
    const next = index === sides.length - 1 ? 0 : at;
    directory.writeUInt32LE(next, directory.length - 4);
    parts.push(directory, Buffer.alloc(side * side, 128));
  }
  return Buffer.concat(parts);
}

it('decodes each page of a document of any size', async () => {
  const document = tiffOf([4, 60, 9]);
  expect(await verify(Buffer.from(document))).toMatchObject({
    data: { format: 'tiff', width: 4, height: 4, frames: 3 },
  });
  expect(await verify(Buffer.from(document), { pixels: 3000 })).toMatchObject({
    error: { code: 'image_too_large' },
  });
  const cut = Buffer.from(document.subarray(0, document.length - 30));
  expect(await verify(cut)).toMatchObject({ error: { code: 'corrupt_image' } });
});

it.each([
  ['nothing', '', 'empty_file'],
  ['HTML', '<!doctype html><p>Not here', 'unsupported_format'],
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>', 'unsupported_format'],
])('refuses %s', async (_, text, code) => {
  expect(await verify(Buffer.from(text), { svg: true })).toMatchObject({ error: { code } });
});

it('has no command and no endpoint', async () => {
  const names = INTERNAL_OPERATIONS.map(({ name }) => name);
  expect(OPERATIONS.filter(({ name }) => names.includes(name))).toEqual([]);
  const { code, stderr } = await oriel(['verify', 'a.png']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('unknown command')]);
});
