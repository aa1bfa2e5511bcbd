import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import sharp from 'sharp';

/** Bytes that look random, that no encoder shrinks, and that are the same in every run. */
function noise(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed + 1;
  for (let index = 0; index < length; index += 1) {
    // The generator of Numerical Recipes; its high bits are the good ones.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

export interface PhotographOptions {
  readonly width?: number;
  readonly height?: number;
  readonly seed?: number;
}

/** An image of noise as big as a small photograph, encoded as JPEG or PNG. */
export async function photograph(
  format: 'jpeg' | 'png',
  { width = 48, height = 32, seed = 0 }: PhotographOptions = {},
): Promise<Buffer> {
  const raw = { width, height, channels: 3 } as const;
  return sharp(noise(width * height * 3, seed), { raw })
    .toFormat(format)
    .toBuffer();
}

let whole: { readonly jpeg: Buffer; readonly png: Buffer } | undefined;

/**
 * Writes images into a folder, each 48x32, JPEG or PNG as its name says and JPEG where it does not.
 *
 * @param names paths below the folder; their folders are made
 */
export async function writePhotographs(folder: string, names: readonly string[]): Promise<void> {
  whole ??= { jpeg: await photograph('jpeg'), png: await photograph('png') };
  for (const name of names) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, /\.png$/i.test(name) ? whole.png : whole.jpeg);
  }
}
