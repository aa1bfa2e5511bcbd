/** Red, green and blue, each 0 to 255. */
export type Colour = readonly [number, number, number];

export function mix(one: Colour, other: Colour, share: number): Colour {
  const channel = (index: 0 | 1 | 2) => one[index] + (other[index] - one[index]) * share;
  return [channel(0), channel(1), channel(2)];
}

/** A colour by its hue in degrees, its saturation and its lightness from 0 to 1 (CSS Color 4, HSL). */
export function fromHue(hue: number, saturation: number, lightness: number): Colour {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (place: number) => {
    const at = (((place + hue / 30) % 12) + 12) % 12;
    return 255 * (lightness - spread * Math.max(-1, Math.min(at - 3, 9 - at, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}

/** The colour of `#rrggbb`. */
export function fromHex(hex: string): Colour {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** An opaque RGBA pixel as one number in the byte order of the machine. */
export function pixelOf([red, green, blue]: Colour): number {
  const [r, g, b] = [Math.round(red), Math.round(green), Math.round(blue)];
  return (
    (LITTLE_ENDIAN
      ? (255 << 24) | (b << 16) | (g << 8) | r
      : (r << 24) | (g << 16) | (b << 8) | 255) >>> 0
  );
}
