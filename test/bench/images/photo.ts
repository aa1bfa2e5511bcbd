import sharp, { type Sharp } from 'sharp';

/**
 * Pictures that cost an encoder what photographs cost it, made from a seed alone.
 *
 * Photographs have occluding edges at every scale and a power spectrum that falls as 1/f². Both come
 * from the "dead leaves" model (Lee, Mumford and Huang 2001): opaque shapes laid over each other, their
 * radii drawn from r^-2. Noise octaves of equal energy give surfaces their texture, more in some places
 * than in others as in a scene with sky and foliage, and a little grain stands for the sensor's.
 */

/** Integers below 2^32 from a seed: mulberry32, whose whole state is one integer. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function leaves(width: number, height: number, random: () => number): string {
  const largest = Math.hypot(width, height) / 5;
  const smallest = largest / 90;
  const hues = [random() * 360, random() * 360, random() * 360];
  const colour = (): string => {
    const hue = hues[Math.floor(random() * hues.length)]! + (random() - 0.5) * 40;
    const saturation = 10 + random() ** 2 * 65;
    return `hsl(${hue.toFixed(1)},${saturation.toFixed(1)}%,${(12 + random() * 76).toFixed(1)}%)`;
  };
  const gradients: string[] = [];
  const shapes: string[] = [];
  const gradient = (): string => {
    const turn = Math.floor(random() * 360);
    gradients.push(
      `<linearGradient id="g${gradients.length}" gradientTransform="rotate(${turn},.5,.5)">` +
        `<stop stop-color="${colour()}"/><stop offset="1" stop-color="${colour()}"/></linearGradient>`,
    );
    return `url(#g${gradients.length - 1})`;
  };
  shapes.push(`<rect width="${width}" height="${height}" fill="${gradient()}"/>`);
  for (let index = 0; index < 900; index++) {
    // The inverse of the cumulative distribution of r^-2 between the two radii.
    const share = random();
    const radius = 1 / (share / smallest + (1 - share) / largest);
    const x = (random() * width).toFixed(1);
    const y = (random() * height).toFixed(1);
    const tall = (radius * (0.4 + random() * 0.6)).toFixed(1);
    const turn = `rotate(${Math.floor(random() * 180)},${x},${y})`;
    const box = `x="${x}" y="${y}" width="${(radius * 1.6).toFixed(1)}" height="${tall}"`;
    const round = `cx="${x}" cy="${y}" rx="${radius.toFixed(1)}" ry="${tall}"`;
    const shape = random() < 0.35 ? `rect ${box}` : `ellipse ${round}`;
    shapes.push(`<${shape} transform="${turn}" fill="${gradient()}"/>`);
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<defs>${gradients.join('')}</defs>${shapes.join('')}</svg>`
  );
}

/** One octave: random cells of `cell` pixels, interpolated. Bytes, with 128 for none. */
async function octave(
  width: number,
  height: number,
  cell: number,
  random: () => number,
): Promise<Uint8Array> {
  const columns = Math.ceil(width / cell) + 1;
  const rows = Math.ceil(height / cell) + 1;
  const cells = Uint8Array.from({ length: columns * rows }, () => random() * 256);
  if (cell === 1) return cells;
  return sharp(cells, { raw: { width: columns, height: rows, channels: 1 } })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .toColourspace('b-w')
    .raw()
    .toBuffer();
}

/** A photo-like picture; the same seed and size give the same pixels with the same sharp. */
export async function photo(seed: number, width: number, height: number): Promise<Sharp> {
  const random = randomNumbers(seed);
  const pixels = await sharp(Buffer.from(leaves(width, height, random)))
    .removeAlpha()
    .blur(Math.max(0.5, width / 5000))
    .raw()
    .toBuffer();
  const texture = new Float32Array(width * height);
  for (let cell = 2; cell <= Math.min(width, height) / 8; cell *= 2) {
    const layer = await octave(width, height, cell, random);
    // A lens and a demosaic soften the finest octaves of a real photograph.
    const strength = 0.12 * Math.min(1, cell / 4);
    for (let index = 0; index < texture.length; index++) {
      texture[index]! += (layer[index]! - 128) * strength;
    }
  }
  const rough = await octave(width, height, Math.ceil(width / 6), random);
  const grain = await octave(width + 1, height + 1, 1, random);
  for (let index = 0; index < texture.length; index++) {
    const amount = (rough[index]! / 255) ** 2 * 2.4;
    const change = texture[index]! * amount + (grain[index]! - 128) / 32;
    for (let channel = index * 3; channel < index * 3 + 3; channel++) {
      pixels[channel] = Math.min(255, Math.max(0, pixels[channel]! + change));
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}
