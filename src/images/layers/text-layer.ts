import { escapeXml } from '../../schema/xml.ts';
import { isGrey, parseColour, TRANSPARENT } from '../colour.ts';
import type { Size } from '../decoding/header.ts';
import { readRaw, start } from '../decoding/pixels.ts';
import { fileFailure } from '../file-error.ts';
import type { ImageInput } from '../input.ts';
import type { Warning } from '../output.ts';
import { checkFont, describeFont, missingCharacters, parseFont } from './fonts.ts';
import type { Layer } from './layer.ts';

/** Where lines of different widths begin. */
export type Alignment = 'left' | 'centre' | 'right';

/** A text as a layer. */
export interface TextLayer extends Layer {
  /** Height of the picture divided by the size of the font; of wrapped lines the most that it may be. */
  readonly emsHigh: number;
  readonly warnings: readonly Warning[];
  /** The text in lines of a width, which is in sizes of the font. */
  wrapped(ems: number, align: Alignment): TextLayer;
}

export interface TextOptions {
  readonly font?: string | undefined;
  /** Colour of the letters. */
  readonly color: string;
  /** Colour of a box behind the letters. */
  readonly box?: string | undefined;
}

/** Characters of a text, with the values of placeholders. */
const MAX_LENGTH = 500;
/** Lines of a text. */
export const MAX_LINES = 10;

/** Sizes of the font in which texts are measured: the longer the smaller, so that the picture has few pixels. */
const MEASURED = { min: 16, max: 64, perCharacter: 3200 } as const;
/** Space between the letters and the edge of their box, in sizes of the font. */
const PADDING = 0.3;
/** Height of a line in sizes of the font, of which fonts have 1.15 to 1.4. */
const LINE = 1.4;
/** Share of a wrapped line that words fill, about. */
const FILLED = 0.85;

/**
 * Prepares a text to be drawn.
 *
 * @throws Failure font_not_found or text_too_long
 */
export async function openTextLayer(
  input: ImageInput,
  text: string,
  { font: name, color, box }: TextOptions,
): Promise<TextLayer> {
  const { sharp } = input;
  if (text.length > MAX_LENGTH) {
    const message = `the text has ${text.length} characters, more than the limit of ${MAX_LENGTH}`;
    throw fileFailure('text_too_long', message);
  }
  if (!isVisible(text)) {
    throw fileFailure('processing_failed', 'the text has no visible characters for this image');
  }
  const font = parseFont(name);
  await checkFont(sharp, font);
  const missing = await missingCharacters(sharp, font, text);
  const letters = parseColour(color);
  const hex = (value: number) => value.toString(16).padStart(2, '0');
  const ink = `#${hex(letters.r)}${hex(letters.g)}${hex(letters.b)}`;
  const textOf = (pixels: number, wrapping: object = {}) => ({
    text: `<span foreground="${ink}">${escapeXml(text)}</span>`,
    font: describeFont(font, pixels),
    ...wrapping,
  });
  const share = Math.round(MEASURED.perCharacter / text.length);
  const em = Math.min(MEASURED.max, Math.max(MEASURED.min, share));
  // Without colours, which take four times the memory.
  const { width, height } = await sharp({ text: textOf(em) }).metadata();
  const padding = box === undefined ? 0 : 2 * PADDING * em;
  const measured = { width: width + padding, height: height + padding };
  const message = `no installed font has ${missing.join(' ')}`;
  /** Draws at a size of the font; the picture is made smaller where it is larger than `room`. */
  const draw = async (pixels: number, room: Size, wrapping?: object) => {
    const rgba = { ...textOf(pixels, wrapping), rgba: true };
    const drawn = await readRaw(sharp({ limitInputPixels: false, text: rgba }).raw());
    const { data } = drawn;
    for (let at = 3; at < data.length && letters.alpha < 1; at += 4) {
      data[at] = Math.round(data[at]! * letters.alpha);
    }
    const edge = box === undefined ? 0 : Math.round(PADDING * pixels);
    const boxed = { width: drawn.width + 2 * edge, height: drawn.height + 2 * edge };
    // Hinting makes letters of another size up to a few pixels wider than measured.
    const fitted = Math.min(1, room.width / boxed.width, room.height / boxed.height);
    const background = box === undefined ? TRANSPARENT : parseColour(box);
    const { width, height } = drawn;
    const composed = sharp({ create: { ...boxed, channels: 4, background } }).composite([
      {
        input: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
        raw: { width, height, channels: 4 },
        left: edge,
        top: edge,
      },
    ]);
    const whole = start(input, await readRaw(composed.raw()));
    return fitted === 1
      ? whole
      : whole.resize({
          width: Math.max(1, Math.floor(boxed.width * fitted)),
          height: Math.max(1, Math.floor(boxed.height * fitted)),
          fit: 'fill',
        });
  };
  const lines = text.split('\n').map((line) => line.length);
  const perCharacter = width / em / Math.max(...lines);
  const layer: TextLayer = {
    ratio: measured.width / measured.height,
    emsHigh: measured.height / em,
    grey: isGrey(letters) && (box === undefined || isGrey(parseColour(box))) && isPlain(text),
    warnings: missing.length > 0 ? [{ code: 'characters_missing', message }] : [],
    draw(room) {
      const scale = Math.min(room.width / measured.width, room.height / measured.height);
      return draw(Math.max(1, em * scale), room);
    },
    wrapped(ems, align) {
      const width = Math.max(1, ems - padding / em);
      const count = (length: number) =>
        Math.max(1, Math.ceil((length * perCharacter) / (width * FILLED)));
      const emsHigh = lines.reduce((sum, length) => sum + count(length), 0) * LINE + padding / em;
      return {
        ...layer,
        ...{ ratio: ems / emsHigh, emsHigh },
        draw(room) {
          const pixels = Math.max(1, room.width / ems);
          const wrapping = { width: Math.max(1, Math.floor(width * pixels)), wrap: 'word-char' };
          return draw(pixels, room, { ...wrapping, align });
        },
      };
    },
  };
  return layer;
}

/** Whether a text has characters that draw something by themselves: no blanks, marks and format characters. */
export const isVisible = (text: string): boolean => /[^\s\p{M}\p{Cc}\p{Cf}\p{Cs}]/u.test(text);

/** Whether a text has no emoji, which have colours of their own. */
function isPlain(text: string): boolean {
  return !/\p{Extended_Pictographic}/u.test(text.replaceAll('©', '').replaceAll('®', ''));
}
