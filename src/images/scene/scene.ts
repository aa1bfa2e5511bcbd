import { Chance } from './chance.ts';
import { type Colour, fromHue, mix } from './colour.ts';

/** One of the waves that the line of some hills is made of, across a picture of width 1. */
interface Wave {
  readonly height: number;
  readonly frequency: number;
  readonly phase: number;
}

interface Hills {
  /** How far down they stand, and how high they rise: shares of the picture's height. */
  readonly base: number;
  readonly waves: readonly Wave[];
  readonly crest: Colour;
  readonly foot: Colour;
  /** Widths of the picture by which they move from the beginning of a film to its end. */
  readonly drift: number;
}

/** A landscape: sky, sun and hills one behind the other. Places are shares of width and height. */
export interface Scene {
  /** Of the sky from its top to its foot. */
  readonly sky: readonly [Colour, Colour, Colour];
  readonly sun: {
    readonly x: number;
    readonly y: number;
    /** A share of the shorter side. */
    readonly radius: number;
    readonly colour: Colour;
    readonly glow: Colour;
  };
  /** The farthest first. */
  readonly hills: readonly Hills[];
  readonly stars: readonly { readonly x: number; readonly y: number; readonly light: number }[];
}

interface Mood {
  readonly words: RegExp;
  /** Hues of the sky, top and foot, and how bright they are. */
  readonly hues: readonly [number, number];
  readonly light: readonly [number, number];
  readonly sunHeight: readonly [number, number];
  readonly stars: number;
}

const DAY: Mood = {
  words: /\b(day|noon|sunny|summer|bright|blue)\b/i,
  hues: [212, 190],
  light: [0.55, 0.88],
  sunHeight: [0.14, 0.3],
  stars: 0,
};
const DUSK: Mood = {
  words: /\b(dusk|sunset|evening|twilight|autumn|warm)\b/i,
  hues: [262, 22],
  light: [0.34, 0.7],
  sunHeight: [0.32, 0.46],
  stars: 12,
};
const DAWN: Mood = {
  words: /\b(dawn|sunrise|morning|spring|mist|fog)\b/i,
  hues: [228, 345],
  light: [0.6, 0.86],
  sunHeight: [0.3, 0.46],
  stars: 0,
};
const NIGHT: Mood = {
  words: /\b(night|midnight|moon|moonlit|stars?|dark|space)\b/i,
  hues: [232, 210],
  light: [0.1, 0.32],
  sunHeight: [0.14, 0.34],
  stars: 120,
};
const MOODS = [DAY, DUSK, DAWN, NIGHT] as const;

/**
 * The landscape that follows from a prompt: the same for the same prompt, seed and number.
 *
 * @param colours of pictures that it is to look like
 */
export function sceneOf(
  prompt: string,
  seed: number | null,
  number: number,
  colours: readonly Colour[] = [],
): Scene {
  const chance = new Chance(prompt, String(seed), String(number));
  const mood = MOODS.find(({ words }) => words.test(prompt)) ?? chance.of(MOODS);
  const turn = chance.between(-22, 22);
  const like = (colour: Colour, index: number) =>
    colours.length === 0 ? colour : mix(colour, colours[index % colours.length]!, 0.6);
  const [high, low] = mood.hues;
  const [dim, bright] = mood.light;
  const top = like(fromHue(high + turn, 0.55, dim), 0);
  const foot = like(fromHue(low + turn, 0.7, bright), 1);
  const middle = mix(top, foot, 0.45);
  const night = mood === NIGHT;
  const ground = like(fromHue(chance.between(0, 360), 0.45, night ? 0.1 : 0.24), 2);
  const count = Math.floor(chance.between(4, 7));
  return {
    sky: [top, middle, foot],
    sun: {
      x: chance.between(0.15, 0.85),
      y: chance.between(...mood.sunHeight),
      radius: chance.between(0.05, 0.1),
      colour: night ? [238, 240, 250] : [255, 246, 222],
      glow: night ? [150, 170, 210] : like(fromHue(low + turn + 20, 0.9, 0.75), 1),
    },
    hills: Array.from({ length: count }, (_, index) => {
      const near = (index + 1) / count;
      const crest = mix(foot, ground, 0.2 + 0.8 * near);
      return {
        base: 0.5 + 0.42 * (index / count) + chance.between(0, 0.05),
        waves: [1, 2, 3].map((rank) => ({
          height: (0.1 / rank ** 1.3) * chance.between(0.5, 1),
          frequency: rank * chance.between(2.5, 6) * (0.6 + near),
          phase: chance.between(0, 2 * Math.PI),
        })),
        crest,
        foot: mix(crest, index === count - 1 ? [0, 0, 0] : foot, 0.25),
        drift: 0.15 * near,
      };
    }),
    stars: Array.from({ length: mood.stars }, () => ({
      x: chance.between(0, 1),
      y: chance.between(0, 0.6),
      light: chance.between(0.2, 0.9),
    })),
  };
}
