import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { GREEN, painted, photo, quadrants, RED } from '../../fixtures/images.ts';
import { quartersOfEveryKind } from '../../fixtures/kinds.ts';
import { decode } from '../../pixels.ts';
import { images, inputFile } from './provider-context.ts';

const SIZE = { width: 64, height: 48 };

async function sizeOf(bytes: Uint8Array): Promise<string> {
  const { format, width, height } = await sharp(bytes).metadata();
  return `${format} ${width}x${height}`;
}

describe('a sandbox image', () => {
  it.each([
    [null, 'png 1024x1024'],
    ['auto', 'png 1024x1024'],
    ['16:9', 'png 1024x576'],
    ['1536x1024', 'png 1536x1024'],
    ['1x1', 'png 1x1'],
    ['1x300', 'png 1x300'],
    ['300x2', 'png 300x2'],
  ])('of size %s is a %s', async (size, expected) => {
    const [bytes] = await images({ size });
    expect(await sizeOf(bytes!)).toBe(expected);
  });

  it.each(['large', '8193x1', '8192x8192', '0x5'])('refuses the size %s', async (size) => {
    await expect(images({ size })).rejects.toMatchObject({
      type: 'invalid_request',
      param: 'size',
    });
  });

  it('depends on prompt, seed and number only', async () => {
    const pair = await images({ n: 2 });
    expect(await images({ n: 2 })).toEqual(pair);
    const others = [
      await images({ prompt: 'a lighthouse at dawn' }),
      await images({ seed: 1 }),
      await images({ seed: 2 }),
    ].flat();
    const all = [...pair, ...others].map((bytes) => Buffer.from(bytes).toString('base64'));
    expect(new Set(all).size).toBe(5);
  });

  it('has many colours and no transparency', async () => {
    const [bytes] = await images({ size: '400x300' });
    const { channels, isOpaque } = await sharp(bytes).stats();
    expect([channels.length, isOpaque]).toEqual([3, true]);
    for (const { stdev } of channels) expect(stdev).toBeGreaterThan(10);
  });

  it('has colours of its inputs', async () => {
    const meanOf = async (colour: readonly number[]) => {
      const bytes = await painted(SIZE, () => colour)
        .png()
        .toBuffer();
      const inputs = [inputFile(bytes)];
      const [made] = await images({ prompt: 'a field at noon' }, { inputs });
      return (await sharp(made).stats()).channels.map(({ mean }) => mean);
    };
    const [red, green] = [await meanOf(RED), await meanOf(GREEN)];
    expect(red[0]! - green[0]!).toBeGreaterThan(50);
    expect(green[1]! - red[1]!).toBeGreaterThan(50);
  });
});

describe('a sandbox edit', () => {
  const edit = (more: object, source: Uint8Array, mask?: Uint8Array) =>
    images(
      { edit: true, size: null, ...more },
      { inputs: [inputFile(source)], ...(mask && { mask: inputFile(mask, 'mask') }) },
    );

  it('changes only pixels that the mask allows', async () => {
    const source = await photo(SIZE).png().toBuffer();
    const mask = await painted({ ...SIZE, channels: 4 }, (x) => [0, 0, 0, x < 32 ? 0 : 255])
      .png()
      .toBuffer();
    const [bytes] = await edit({}, source, mask);
    const [before, after] = [await decode(source), await decode(bytes!)];
    expect([after.width, after.height]).toEqual([64, 48]);
    let changed = 0;
    for (let y = 0; y < 48; y += 1) {
      for (let x = 32; x < 64; x += 1) expect(after.rgb(x, y)).toEqual(before.rgb(x, y));
      for (let x = 0; x < 32; x += 1) {
        if (String(after.rgb(x, y)) !== String(before.rgb(x, y))) changed += 1;
      }
    }
    expect(changed).toBeGreaterThan(0.95 * 32 * 48);
  });

  it.each([
    [{ size: null }, 'png 64x48'],
    [{ size: 'auto', native: true }, 'png 1536x1024'],
    [{ size: '80x20' }, 'png 80x20'],
  ])('with %j is a %s', async (more, expected) => {
    const [bytes] = await edit(more, await photo(SIZE).jpeg().toBuffer());
    expect(await sizeOf(bytes!)).toBe(expected);
  });

  it('shows its source, and is repeatable', async () => {
    for (const [name, bytes] of Object.entries(await quartersOfEveryKind(SIZE))) {
      const [first] = await edit({}, bytes);
      const { width, height, rgb } = await decode(first!);
      expect([name, width, height]).toEqual([name, 64, 48]);
      // More than half of a quarter's own colour is left of it.
      expect(rgb(8, 8)[0], name).toBeGreaterThan(120);
      expect(rgb(56, 8)[1], name).toBeGreaterThan(100);
      expect(rgb(8, 30)[2], name).toBeGreaterThan(120);
    }
    const source = await quadrants(SIZE).png().toBuffer();
    expect(await edit({ n: 2 }, source)).toEqual(await edit({ n: 2 }, source));
  });

  it('is scaled down where its source exceeds the limits', async () => {
    const wide = await sharp({ create: { width: 9000, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const [bytes] = await edit({}, wide);
    expect(await sizeOf(bytes!)).toBe('png 8192x8');
  });
});
