/** A colour by its chromaticity (CIE 1931). */
export interface Chromaticity {
  readonly x: number;
  readonly y: number;
}

export interface Primaries {
  readonly white: Chromaticity;
  readonly red: Chromaticity;
  readonly green: Chromaticity;
  readonly blue: Chromaticity;
}

/** A colour space: light is the sample to the power of `gamma`, or follows sRGB's curve. */
export interface ColourSpace {
  readonly gamma: number | 'srgb';
  /** Primaries; null for greyscale. */
  readonly primaries: Primaries | null;
}

/** A colour space by code points of ITU-T H.273. */
export interface CodedColours {
  readonly primaries: number;
  readonly transfer: number;
}

const D65 = { x: 0.3127, y: 0.329 };

export const SRGB_PRIMARIES: Primaries = {
  white: D65,
  red: { x: 0.64, y: 0.33 },
  green: { x: 0.3, y: 0.6 },
  blue: { x: 0.15, y: 0.06 },
};

const P3 = {
  red: { x: 0.68, y: 0.32 },
  green: { x: 0.265, y: 0.69 },
  blue: { x: 0.15, y: 0.06 },
};

/** Primaries of H.273, table 2, that differ from those of sRGB: BT.2020, DCI-P3, Display P3. */
const CODED_PRIMARIES: Readonly<Record<number, Primaries>> = {
  9: {
    white: D65,
    red: { x: 0.708, y: 0.292 },
    green: { x: 0.17, y: 0.797 },
    blue: { x: 0.131, y: 0.046 },
  },
  11: { white: { x: 0.314, y: 0.351 }, ...P3 },
  12: { white: D65, ...P3 },
};

/** Spaces that outputs can get by name. Adobe RGB by Adobe RGB (1998) Color Image Encoding, 4.3.1. */
export const NAMED_SPACES = {
  srgb: { description: 'sRGB', gamma: 'srgb', primaries: SRGB_PRIMARIES },
  p3: { description: 'Display P3', gamma: 'srgb', primaries: { white: D65, ...P3 } },
  'adobe-rgb': {
    description: 'Compatible with Adobe RGB (1998)',
    gamma: 563 / 256,
    primaries: { ...SRGB_PRIMARIES, green: { x: 0.21, y: 0.71 } },
  },
} as const satisfies Record<string, ColourSpace & { readonly description: string }>;

/** Transfer characteristics of H.273, table 3, that displays do not show with sRGB's curve. */
const CODED_GAMMA: Readonly<Record<number, number>> = { 4: 2.2, 5: 2.8, 8: 1 };
/** Transfer characteristics of a high dynamic range, whose maximum is not white. */
const HIGH_RANGE: Readonly<Record<number, string>> = { 16: 'PQ', 18: 'HLG' };

/** The name of a transfer with a high dynamic range; undefined for all others. */
export const highRange = ({ transfer }: CodedColours): string | undefined => HIGH_RANGE[transfer];

/** A profile for coded colours; null for sRGB and for a high dynamic range. */
export function profileOfCode(coded: CodedColours, grey = false): Buffer | null {
  if (highRange(coded)) return null;
  const gamma = CODED_GAMMA[coded.transfer] ?? 'srgb';
  const primaries = (grey ? undefined : CODED_PRIMARIES[coded.primaries]) ?? SRGB_PRIMARIES;
  if (gamma === 'srgb' && primaries === SRGB_PRIMARIES) return null;
  return iccProfile({ gamma, primaries: grey ? null : primaries });
}

type Vector = readonly [number, number, number];
type Matrix = readonly [Vector, Vector, Vector];

const D50: Vector = [0.9642, 1, 0.8249];
const BRADFORD: Matrix = [
  [0.8951, 0.2664, -0.1614],
  [-0.7502, 1.7135, 0.0367],
  [0.0389, -0.0685, 1.0296],
];

function times(matrix: Matrix, [a, b, c]: Vector): Vector {
  const row = ([x, y, z]: Vector) => x * a + y * b + z * c;
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])];
}

function transposed([[a, b, c], [d, e, f], [g, h, i]]: Matrix): Matrix {
  return [
    [a, d, g],
    [b, e, h],
    [c, f, i],
  ];
}

function product(one: Matrix, other: Matrix): Matrix {
  const [a, b, c] = transposed(other);
  return transposed([times(one, a), times(one, b), times(one, c)]);
}

function inverse([[a, b, c], [d, e, f], [g, h, i]]: Matrix): Matrix {
  const determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  const over = (value: number) => value / determinant;
  return [
    [over(e * i - f * h), over(c * h - b * i), over(b * f - c * e)],
    [over(f * g - d * i), over(a * i - c * g), over(c * d - a * f)],
    [over(d * h - e * g), over(b * g - a * h), over(a * e - b * d)],
  ];
}

function diagonal([a, b, c]: Vector): Matrix {
  return [
    [a, 0, 0],
    [0, b, 0],
    [0, 0, c],
  ];
}

/** XYZ of a chromaticity with a luminance of 1. */
const xyz = ({ x, y }: Chromaticity): Vector => [x / y, 1, (1 - x - y) / y];

/** Red, green and blue in XYZ under D50, as profiles store them. */
function colorants({ white, red, green, blue }: Primaries): Matrix {
  const colours = transposed([xyz(red), xyz(green), xyz(blue)]);
  const light = product(colours, diagonal(times(inverse(colours), xyz(white))));
  const [from, to] = [times(BRADFORD, xyz(white)), times(BRADFORD, D50)];
  const scale = diagonal([to[0] / from[0], to[1] / from[1], to[2] / from[2]]);
  const adaptation = product(inverse(BRADFORD), product(scale, BRADFORD));
  return transposed(product(adaptation, light));
}

function fixed(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) {
    bytes.writeInt32BE(Math.round(value * 65_536), index * 4);
  }
  return bytes;
}

function element(type: string, ...parts: Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from(`${type}\0\0\0\0`, 'latin1'), ...parts]);
}

/** A text in one language (ICC.1:2022, 10.15). */
function text(words: string): Buffer {
  const head = Buffer.alloc(20);
  head.writeUInt32BE(1, 0);
  head.writeUInt32BE(12, 4);
  head.write('enUS', 8, 'latin1');
  head.writeUInt32BE(words.length * 2, 12);
  head.writeUInt32BE(28, 16);
  return element('mluc', head, Buffer.from(words, 'utf16le').swap16());
}

/** A parametric curve: a power, or sRGB's power with a linear start (10.18). */
function curve(gamma: ColourSpace['gamma']): Buffer {
  if (gamma !== 'srgb') return element('para', Buffer.from([0, 0, 0, 0]), fixed([gamma]));
  const values = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045];
  return element('para', Buffer.from([0, 3, 0, 0]), fixed(values));
}

const HEADER_BYTES = 128;
/** Offset of the profile's creator in the header, and the creator of Oriel's profiles. */
const CREATOR = 80;
const OWN_CREATOR = 'oril';

/** Whether a profile stands for other tags of an image. */
export function isMadeProfile(profile: Uint8Array): boolean {
  return Buffer.from(profile.subarray(CREATOR, CREATOR + 4)).toString('latin1') === OWN_CREATOR;
}

/**
 * Makes an ICC profile (ICC.1:2022, version 4) of a colour space. Null if the primaries are collinear.
 *
 * @param description that of a profile that users ask for; one that stands for other tags of an image has none
 */
export function iccProfile({ gamma, primaries }: ColourSpace, description?: string): Buffer | null {
  const colours = primaries && colorants(primaries);
  if (colours?.flat().some((value) => !(Math.abs(value) < 4))) return null;
  const tone = curve(gamma);
  const tags: [name: string, data: Buffer][] = [
    ['desc', text(description ?? 'Made by Oriel from the tags of the image')],
    ['cprt', text('CC0')],
    ['wtpt', element('XYZ ', fixed(D50))],
    ...(colours
      ? (['r', 'g', 'b'] as const).flatMap((name, index): [string, Buffer][] => [
          [`${name}XYZ`, element('XYZ ', fixed(colours[index]!))],
          [`${name}TRC`, tone],
        ])
      : [['kTRC', tone] satisfies [string, Buffer]]),
  ];

  const table = Buffer.alloc(4 + tags.length * 12);
  table.writeUInt32BE(tags.length, 0);
  let position = HEADER_BYTES + table.length;
  const parts = tags.map(([name, data], index) => {
    const entry = 4 + index * 12;
    table.write(name, entry, 'latin1');
    table.writeUInt32BE(position, entry + 4);
    table.writeUInt32BE(data.length, entry + 8);
    const padded = Buffer.concat([data, Buffer.alloc(-data.length & 3)]);
    position += padded.length;
    return padded;
  });

  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(position, 0);
  header.writeUInt32BE(0x04_30_00_00, 8);
  header.write(`mntr${colours ? 'RGB ' : 'GRAY'}XYZ `, 12, 'latin1');
  // The date is required: 2026-01-01.
  header.writeUInt16BE(2026, 24);
  header.set([0, 1, 0, 1], 26);
  header.write('acsp', 36, 'latin1');
  fixed(D50).copy(header, 68);
  if (description === undefined) header.write(OWN_CREATOR, CREATOR, 'latin1');
  return Buffer.concat([header, table, ...parts]);
}
