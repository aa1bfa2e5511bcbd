import * as v from 'valibot';
import { type Colour, colourField, parseColour } from '../../images/colour.ts';
import { factsOf, readHeader, type Size } from '../../images/decoding/header.ts';
import { readSamples, start } from '../../images/decoding/pixels.ts';
import { openInEightBits } from '../../images/decoding/true-colours.ts';
import { checkOutputSize } from '../../images/encoding/encoding.ts';
import {
  type EncodingOptions,
  encodingFields,
  formatField,
} from '../../images/encoding/options.ts';
import type { OutputFormat } from '../../images/formats.ts';
import { forPixels } from '../../images/input.ts';
import { fontField } from '../../images/layers/fonts.ts';
import { drawLayer, type LayerPixels } from '../../images/layers/layer.ts';
import { openTextLayer } from '../../images/layers/text-layer.ts';
import { distinctWarnings } from '../../images/output.ts';
import { integer, optional, parseFields, withDefault } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { defineSet } from '../batch/set.ts';
import { fillTemplate, placeholderFault } from '../definition/name-template.ts';
import type { ThreadOperation } from '../definition/operation.ts';
import { beginProgress } from '../definition/progress.ts';
import { encodeResult } from '../definition/run-steps.ts';

/** Sizes of a contact sheet, in pixels. */
export interface SheetLayout {
  readonly columns: number;
  readonly cell: Size;
  /** Between cells and around them. */
  readonly gap: number;
  /** Height of a label's letters; 0 without labels. */
  readonly labelSize: number;
}

interface SheetCell {
  /** A PNG no larger than the cell; null for an image that failed. */
  readonly bytes: Uint8Array | null;
  readonly label: string;
}

interface SheetOptions {
  readonly layout: SheetLayout;
  readonly cells: readonly SheetCell[];
  readonly format: OutputFormat;
  readonly encoding: EncodingOptions;
  readonly font: string | undefined;
  readonly color: string;
}

/** Height of a line of text divided by the size of its letters. */
const LINE = 1.6;

/** Size of a sheet. */
export function sheetSize({ columns, cell, gap, labelSize }: SheetLayout, cells: number): Size {
  const rows = Math.ceil(cells / columns);
  const height = cell.height + Math.round(labelSize * LINE);
  return {
    width: gap + Math.min(columns, cells) * (cell.width + gap),
    height: gap + rows * (height + gap),
  };
}

/** Draws the cells of one contact sheet with their labels and encodes it. The input has no bytes. */
export const montageSheet: ThreadOperation<SheetOptions> = {
  name: 'montage-sheet',
  async run(input, { layout, cells, format, encoding, font, color }) {
    const size = sheetSize(layout, cells.length);
    checkOutputSize(input, format, { ...size, frames: 1 });
    input.admit(forPixels(size.width * size.height, 16, 0.3));
    const background = parseColour(encoding.background);
    const { cell, gap, labelSize, columns } = layout;
    const canvas = new Canvas(size, background);
    const warnings = [];
    for (const [index, { bytes, label }] of cells.entries()) {
      const left = gap + (index % columns) * (cell.width + gap);
      const line = Math.round(labelSize * LINE);
      const top = gap + Math.floor(index / columns) * (cell.height + line + gap);
      if (bytes) {
        const picture = input.sharp(bytes, { limitInputPixels: false }).ensureAlpha();
        canvas.drawCentred(await readSamples(picture), { left, top, ...cell });
      } else canvas.cross({ left, top, ...cell });
      if (label === '' || labelSize === 0) continue;
      const text = await openTextLayer(input, label, { font, color });
      const height = labelSize * text.emsHigh;
      const shrink = Math.min(1, cell.width / (height * text.ratio), line / height);
      const drawn = await drawLayer(
        input,
        text,
        { width: height * text.ratio * shrink, height: height * shrink },
        { angle: 0, opacity: 1 },
      );
      canvas.drawCentred(drawn, { left, top: top + cell.height, width: cell.width, height: line });
      warnings.push(...text.warnings);
    }
    // The encoder needs the header of an input.
    const file = await input
      .sharp({
        create: { width: 1, height: 1, channels: background.alpha < 1 ? 4 : 3, background },
      })
      .png()
      .toBuffer();
    const source = { ...input, sharp: input.sharp, file, bytes: file };
    const header = { ...(await readHeader(source)), ...size };
    const facts = factsOf(header, 1);
    const image = start(input, { data: canvas.data, ...size, channels: 4 });
    const opaque = background.alpha < 1 ? image : image.removeAlpha();
    const progress = { ...beginProgress(opaque, facts), decoded: false, unchanged: false };
    const encoded = await encodeResult(
      { input: source, header, profiled: false, warnings },
      progress,
      format,
      encoding,
    );
    const all = [...distinctWarnings(warnings), ...encoded.warnings];
    return { image: encoded.image, warnings: all };
  },
};

interface Box extends Size {
  readonly left: number;
  readonly top: number;
}

const CROSS = [200, 60, 60, 255];

class Canvas {
  readonly data: Uint8Array;
  readonly #width: number;

  constructor({ width, height }: Size, { r, g, b, alpha }: Colour) {
    this.#width = width;
    this.data = new Uint8Array(width * height * 4);
    new Uint32Array(this.data.buffer).fill(
      new Uint32Array(new Uint8Array([r, g, b, Math.round(alpha * 255)]).buffer)[0]!,
    );
  }

  /** Draws a picture in the middle of a box, which it does not exceed. */
  drawCentred({ data, width, height }: LayerPixels, box: Box): void {
    const left = box.left + Math.floor((box.width - width) / 2);
    const top = box.top + Math.floor((box.height - height) / 2);
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const from = (y * width + x) * 4;
        this.#blend(((top + y) * this.#width + left + x) * 4, data, from);
      }
    }
  }

  /** The mark of an image that failed: a frame with its diagonals. */
  cross({ left, top, width, height }: Box): void {
    const put = (x: number, y: number) =>
      this.data.set(CROSS, ((top + y) * this.#width + left + x) * 4);
    const steps = Math.max(width, height);
    for (let step = 0; step < steps; step += 1) {
      const x = Math.floor((step * width) / steps);
      const y = Math.floor((step * height) / steps);
      for (const [across, down] of [
        [x, y],
        [width - 1 - x, y],
        [x, 0],
        [x, height - 1],
        [0, y],
        [width - 1, y],
      ] as const) {
        put(across, down);
      }
    }
  }

  /** Lays one pixel over another (Porter and Duff's over). */
  #blend(at: number, above: Uint8Array, from: number): void {
    const alpha = above[from + 3]! / 255;
    const below = (this.data[at + 3]! / 255) * (1 - alpha);
    const sum = alpha + below;
    if (sum === 0) return;
    for (let channel = 0; channel < 3; channel += 1) {
      const mixed = above[from + channel]! * alpha + this.data[at + channel]! * below;
      this.data[at + channel] = Math.round(mixed / sum);
    }
    this.data[at + 3] = Math.round(sum * 255);
  }
}

export interface CellOptions {
  readonly width: number;
  readonly height: number;
  /** `cover` fills the cell and cuts the rest off. */
  readonly fit: 'contain' | 'cover';
}

/** The first frame of an image as a PNG for one cell of a contact sheet, not enlarged unless to cover it. */
export const montageCell: ThreadOperation<CellOptions> = {
  name: 'montage-cell',
  async run(input, { width, height, fit }) {
    const header = await readHeader(input);
    const image = (await openInEightBits(input, header)).autoOrient();
    const resized =
      fit === 'cover'
        ? image.resize({ width, height, fit })
        : image.resize({ width, height, fit: 'inside', withoutEnlargement: true });
    const { data, info } = await resized
      .toColourspace('srgb')
      .png({ compressionLevel: 1 })
      .toBuffer({ resolveWithObject: true });
    const size = { width: info.width, height: info.height };
    return { image: { bytes: data, format: 'png', ...size }, warnings: header.warnings };
  },
};

/** How contact sheets look. */
export const montageFields = {
  columns: withDefault(integer(1, 1000), 4, 'cells in a row'),
  cell: withDefault(
    v.pipe(v.string(), v.regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/)),
    '300x300',
    'size of a cell in pixels',
    {
      expects: 'WIDTHxHEIGHT such as 300x200',
    },
  ),
  fit: withDefault(v.picklist(['contain', 'cover']), 'contain', 'cover fills cells and crops'),
  gap: withDefault(integer(0, 1000), 10, 'pixels between and around cells'),
  label: optional(
    v.pipe(
      v.string(),
      v.nonEmpty(),
      v.maxLength(100),
      v.check((text) => placeholderFault(text, ['name', 'index']) === null),
      v.check((text) => !/\p{Cc}/u.test(text)),
    ),
    'text below each image',
    { expects: 'a text of at most 100 characters with {name} and {index}' },
  ),
  labelSize: withDefault(integer(4, 200), 14, 'height of the letters of labels in pixels'),
  labelColor: v.optional(colourField('colour of labels'), 'black'),
  font: v.optional(fontField('installed font of labels; default sans-serif')),
  background: v.optional(colourField('colour of the sheet'), 'white'),
  quality: encodingFields.quality,
  lossless: encodingFields.lossless,
  effort: encodingFields.effort,
  progressive: encodingFields.progressive,
};

type MontageOptions = v.InferOutput<v.StrictObjectSchema<typeof montageFields, undefined>>;

/** The size of cells, the layout and the encoding of a sheet. */
export function sheetOf({ cell: text, columns, gap, label, labelSize, ...rest }: MontageOptions) {
  const [width, height] = text.split('x').map(Number) as [number, number];
  const { quality, lossless, effort, progressive, background } = rest;
  const encoding: EncodingOptions = parseFields(v.strictObject(encodingFields) as never, {
    ...{ quality, lossless, effort, progressive, background },
  });
  const cell = { width, height };
  return {
    encoding,
    layout: { columns, cell, gap, labelSize: label === undefined ? 0 : labelSize },
  };
}

/** Pixels of a sheet over HTTP: its cells are in memory at once. */
const MAX_SHEET_PIXELS = 2 ** 24;

export const montage = defineSet({
  name: 'montage',
  summary: 'Draw images onto a contact sheet',
  endpoint: 'batch-montage-images',
  gives: 'image',
  cost: 15,
  options: v.strictObject({
    ...montageFields,
    format: v.optional(formatField('output format'), 'png'),
  }),
  async prepare(options) {
    return { ...sheetOf(options).layout.cell, fit: options.fit };
  },
  set: {
    each: montageCell.name,
    gathers: true,
    adds: {},
    check(options, files) {
      const { width, height } = sheetSize(sheetOf(options).layout, files);
      if (width * height <= MAX_SHEET_PIXELS) return;
      const message = `expected a sheet of at most ${MAX_SHEET_PIXELS} pixels, received ${width}x${height}`;
      throw invalid('cell', message);
    },
    async finish({ results: records, images, run, addImage }, options) {
      const { layout, encoding } = sheetOf(options);
      const { format, font, labelColor: color, label } = options;
      const results = records.map(({ format: _, width, height, size, sha256, ...record }) => {
        const { index, error } = record;
        const row = Math.floor(index / layout.columns) + 1;
        return {
          ...record,
          ...(!error && { data: { row, column: (index % layout.columns) + 1 } }),
        };
      });
      if (images.size === 0) return { results };
      const cells = records.map(({ index, inputFilename }) => ({
        bytes: images.get(index)?.bytes ?? null,
        label: label ? fillTemplate(label, { name: inputFilename, index: index + 1 } as never) : '',
      }));
      const drawn = { layout, format, encoding, font, color, cells };
      const sheet = await run({ operation: montageSheet.name, options: drawn });
      if (!sheet.ok) return { results, error: sheet.error };
      const outputFilename = await addImage('sheet', sheet.image!);
      const { width, height } = sheet.image!;
      return { results, sheet: { outputFilename, width, height, warnings: sheet.warnings } };
    },
  },
});
