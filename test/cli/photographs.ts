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

const made = new Map<string, Promise<Buffer>>();

/**
 * Writes images into a folder, JPEG or PNG as their names say and JPEG where they do not.
 *
 * @param names paths below the folder; their folders are made
 * @param options of every image; 48x32 where not given
 */
export async function writePhotographs(
  folder: string,
  names: readonly string[],
  options: PhotographOptions = {},
): Promise<void> {
  for (const name of names) {
    const path = join(folder, name);
    const format = /\.png$/i.test(name) ? 'png' : 'jpeg';
    const key = JSON.stringify([format, options]);
    const bytes = made.get(key) ?? photograph(format, options);
    made.set(key, bytes);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, await bytes);
  }
}

/** Writes images that differ, `in/0.png` and on; an output of each as PNG has 57 KB. */
export async function writeDifferent(folder: string, count: number, ending: string): Promise<void> {
  for (let seed = 0; seed < count; seed += 1) {
    const name = `in/${String(seed).padStart(3, '0')}.${ending}`;
    await writePhotographs(folder, [name], { width: 160, height: 120, seed });
  }
}
