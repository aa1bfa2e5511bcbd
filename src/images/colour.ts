import * as v from 'valibot';
import { field } from '../schema/fields.ts';

/** The sixteen colour names of HTML 4 and `transparent`; other colours are written as hex. */
const NAMED: Readonly<Record<string, string>> = {
  transparent: '#00000000',
  black: '#000000',
  silver: '#c0c0c0',
  gray: '#808080',
  grey: '#808080',
  white: '#ffffff',
  maroon: '#800000',
  red: '#ff0000',
  purple: '#800080',
  fuchsia: '#ff00ff',
  green: '#008000',
  lime: '#00ff00',
  olive: '#808000',
  yellow: '#ffff00',
  navy: '#000080',
  blue: '#0000ff',
  teal: '#008080',
  aqua: '#00ffff',
};

/** Channels 0 to 255, alpha 0 to 1, in the shape that sharp accepts. */
export interface Colour {
  readonly r: number;
  readonly g: number;
  readonly b: number;
  readonly alpha: number;
}

const COLOUR = new RegExp(
  `^(#([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})|${Object.keys(NAMED).join('|')})$`,
  'i',
);

/** A field for a hex colour or a name. */
export const colourField = (description: string) =>
  field(v.pipe(v.string(), v.regex(COLOUR)), description, {
    expects: 'a colour such as #ff8800, #ff880080, white or transparent',
  });

/** Parses a colour. @param text a value that a `colourField` has validated */
export function parseColour(text: string): Colour {
  const hex = (NAMED[text.toLowerCase()] ?? text).slice(1);
  const full = hex.length < 6 ? [...hex].map((digit) => digit + digit).join('') : hex;
  const channel = (index: number) => Number.parseInt(full.slice(index * 2, index * 2 + 2), 16);
  return {
    r: channel(0),
    g: channel(1),
    b: channel(2),
    alpha: full.length === 8 ? channel(3) / 255 : 1,
  };
}

export const TRANSPARENT: Colour = { r: 0, g: 0, b: 0, alpha: 0 };

/** The opaque colour that results on a white background, for formats without transparency. */
export function onWhite({ r, g, b, alpha }: Colour): Colour {
  const blend = (channel: number) => Math.round(channel * alpha + 255 * (1 - alpha));
  return { r: blend(r), g: blend(g), b: blend(b), alpha: 1 };
}

/** A colour with its channels multiplied by its alpha, as resampling needs it. */
export function premultiplied({ r, g, b, alpha }: Colour): Colour {
  return { r: r * alpha, g: g * alpha, b: b * alpha, alpha };
}

export const isGrey = ({ r, g, b }: Colour): boolean => r === g && g === b;
