import { SeededRandom } from './seeded-random.ts';

/** A landscape: sky, sun and ranges of hills. Positions are shares of width and height. */
export type Scene = Readonly<ReturnType<typeof sceneOf>>;

const NIGHT = /\b(night|midnight|moon|moonlit|stars?|dark|space)\b/i;
/** Moods by words of the prompt: hues and light of the sky at top and bottom, the least and most height of the sun, and stars. */
const MOODS = [
  {
    words: /\b(day|noon|sunny|summer|bright|blue)\b/i,
    ...{ high: 212, low: 190, dim: 0.55, bright: 0.88, least: 0.14, most: 0.3, stars: 0 },
  },
  {
    words: /\b(dusk|sunset|evening|twilight|autumn|warm)\b/i,
    ...{ high: 262, low: 22, dim: 0.34, bright: 0.7, least: 0.32, most: 0.46, stars: 12 },
  },
  {
    words: /\b(dawn|sunrise|morning|spring|mist|fog)\b/i,
    ...{ high: 228, low: 345, dim: 0.6, bright: 0.86, least: 0.3, most: 0.46, stars: 0 },
  },
  {
    words: NIGHT,
    high: 232,
    low: 210,
    dim: 0.1,
    bright: 0.32,
    least: 0.14,
    most: 0.34,
    stars: 120,
  },
] as const;

/**
 * Generates a landscape from a prompt: the same for the same prompt, seed and number.
 *
 * @param colours colours of reference pictures
 */
export function sceneOf(
  prompt: string,
  seed: number | null,
  number: number,
  colours: readonly Colour[] = [],
) {
  const random = new SeededRandom(prompt, String(seed), String(number));
  const mood = MOODS.find(({ words }) => words.test(prompt)) ?? random.of(MOODS);
  const turn = random.between(-22, 22);
  const like = (colour: Colour, index: number) =>
    colours.length === 0 ? colour : mix(colour, colours[index % colours.length]!, 0.6);
  const { high, low, dim, bright } = mood;
  const top = like(fromHue(high + turn, 0.55, dim), 0);
  const foot = like(fromHue(low + turn, 0.7, bright), 1);
  const middle = mix(top, foot, 0.45);
  const night = mood.words === NIGHT;
  const ground = like(fromHue(random.between(0, 360), 0.45, night ? 0.1 : 0.24), 2);
  const count = Math.floor(random.between(4, 7));
  const white: Colour = night ? [238, 240, 250] : [255, 246, 222];
  return {
    /** Colours of the sky from top to bottom. */
    sky: { top, middle, foot },
    sun: {
      x: random.between(0.15, 0.85),
      y: random.between(mood.least, mood.most),
      /** Radius as a share of the shorter side. */
      radius: random.between(0.05, 0.1),
      colour: white,
      glow: night ? ([150, 170, 210] as const) : like(fromHue(low + turn + 20, 0.9, 0.75), 1),
    },
    /** Ranges of hills, the farthest first. */
    hills: Array.from({ length: count }, (_, index) => {
      const near = (index + 1) / count;
      const crest = mix(foot, ground, 0.2 + 0.8 * near);
      return {
        /** Distance of the base from the top, as a share of the picture's height. */
        base: 0.5 + 0.42 * (index / count) + random.between(0, 0.05),
        /** Waves that form the outline, across a picture of width 1. */
        waves: [1, 2, 3].map((rank) => ({
          height: (0.1 / rank ** 1.3) * random.between(0.5, 1),
          frequency: rank * random.between(2.5, 6) * (0.6 + near),
          phase: random.between(0, 2 * Math.PI),
        })),
        crest,
        foot: mix(crest, index === count - 1 ? [0, 0, 0] : foot, 0.25),
        /** Movement from the first frame of a film to its last, in widths of the picture. */
        drift: 0.15 * near,
      };
    }),
    stars: Array.from({ length: mood.stars }, () => ({
      x: random.between(0, 1),
      y: random.between(0, 0.6),
      light: random.between(0.2, 0.9),
    })),
  };
}

/** Red, green and blue, each 0 to 255. */
export type Colour = readonly [number, number, number];

export function mix(one: Colour, other: Colour, share: number): Colour {
  const channel = (index: 0 | 1 | 2) => one[index] + (other[index] - one[index]) * share;
  return [channel(0), channel(1), channel(2)];
}

/** A colour by its hue in degrees, its saturation and its lightness from 0 to 1 (CSS Color 4, HSL). */
function fromHue(hue: number, saturation: number, lightness: number): Colour {
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
