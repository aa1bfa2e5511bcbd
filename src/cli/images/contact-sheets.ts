import { existsSync, writeFileSync } from 'node:fs';
import { basename, extname, parse, resolve } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import type { Size } from '../../images/decoding/header.ts';
import { type EncodingOptions, encodingFields } from '../../images/encoding/options.ts';
import type { OutputFormat } from '../../images/formats.ts';
import type { Limits } from '../../images/limits.ts';
import type { BatchResult, FileRecord } from '../../operations/batch/batch-record.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { JobSuccess } from '../../operations/definition/job.ts';
import { fillTemplate } from '../../operations/definition/name-template.ts';
import { type BatchPool, inlinePool } from '../../operations/pool/pool.ts';
import { type SheetLayout, sheetSize } from '../../operations/tools/montage.ts';
import { parseFields } from '../../schema/fields.ts';
import type { Planned } from '../batch/image-plan.ts';
import type { Incremental } from '../batch/incremental.ts';
import type { OutputSink } from '../batch/sink.ts';
import { usageFailure } from '../command/command.ts';
import type { Input } from '../files/inputs.ts';
import { formatOfPath } from '../files/naming.ts';
import { existsFailure, Writer } from '../files/writer.ts';
import { printStderr } from '../terminal/terminal.ts';
import { cutMiddle } from '../terminal/text-width.ts';
import type { montageFlags } from './command-flags.ts';

type MontageFlags = v.InferOutput<typeof montageFlags>;

/** A sheet before it is drawn. */
interface PlannedSheet {
  readonly outputFilename: string;
  readonly format: OutputFormat;
  readonly width: number;
  readonly height: number;
  /** Images on it, those that failed included. */
  readonly images: number;
  readonly unchanged?: true;
}

interface WrittenSheet extends PlannedSheet {
  readonly size: number;
  readonly sha256: string;
}

/** Collects cells in the order of the inputs, and writes a sheet as soon as it is full. */
export class ContactSheets implements OutputSink {
  readonly written: WrittenSheet[] = [];
  readonly #layout: SheetLayout;
  readonly #flags: MontageFlags;
  readonly #limits: Limits;
  readonly #incremental: Incremental | null;
  readonly #format: OutputFormat;
  readonly #encoding: EncodingOptions;
  readonly #inputs: readonly Input[];
  readonly #places: ReadonlyMap<Input, number>;
  readonly #perSheet: number;
  readonly #paths: readonly string[];
  readonly #writer: Writer;
  /** Bytes of the cells of the sheet that is being filled, by the index of their inputs. */
  #cells = new Map<number, Uint8Array>();
  #current = 0;
  #pool: BatchPool | undefined;

  /** @throws Failure with code `usage` */
  constructor(
    inputs: readonly Input[],
    cell: Size,
    flags: MontageFlags,
    limits: Limits,
    incremental: Incremental | null,
  ) {
    this.#incremental = incremental;
    this.#flags = flags;
    this.#limits = limits;
    this.#inputs = inputs;
    this.#places = new Map(inputs.map((input, index) => [input, index]));
    const labelSize = flags.label === undefined ? 0 : flags.labelSize;
    const { columns, gap } = flags;
    this.#layout = { columns, cell, gap, labelSize };
    this.#perSheet = columns * this.#rows();
    this.#format = this.#formatOf();
    this.#paths = this.#pathsOf();
    const { quality, lossless, effort, progressive, background } = flags;
    this.#encoding = parseFields(v.strictObject(encodingFields) as never, {
      ...{ quality, lossless, effort, progressive, background },
    });
    this.#writer = new Writer({ overwrite: flags.overwrite });
  }

  /** Rows of a sheet: as many as wanted, or as the largest side allows. */
  #rows(): number {
    const { rows, columns } = this.#flags;
    const { side, pixels } = this.#limits;
    const fits = (count: number) => {
      const { width, height } = sheetSize(this.#layout, count * columns);
      return Math.max(width, height) <= side && width * height <= pixels * 4;
    };
    const most = rows ?? Math.ceil(this.#inputs.length / columns);
    if (!fits(1) || (rows !== undefined && !fits(Math.min(rows, most)))) {
      const { width, height } = sheetSize(this.#layout, columns * (rows ?? 1));
      throw usageFailure(
        `--cell: a sheet of ${width}x${height} has more than ${side} pixels along a side or ${(pixels * 4) / 1e6} megapixels; choose fewer columns and rows or smaller cells, or raise --max-side and --max-pixels`,
      );
    }
    let count = 1;
    while (count < most && fits(count + 1)) count += 1;
    return count;
  }

  #formatOf(): OutputFormat {
    const { out, format } = this.#flags;
    const named = formatOfPath(out);
    if (named === null) {
      throw usageFailure(
        `--out: expected a file ending in .jpg, .png, .webp, .avif, .gif or .tiff, received ${out}`,
      );
    }
    if (format !== undefined && format !== named) {
      throw usageFailure(`--format: expected ${named} as the name ${out} says, received ${format}`);
    }
    return named;
  }

  #pathsOf(): string[] {
    const { out, overwrite } = this.#flags;
    const count = Math.ceil(this.#inputs.length / this.#perSheet);
    const ending = extname(out);
    const template = /\{index\}/.test(basename(out))
      ? out
      : `${out.slice(0, -ending.length)}-{index}${ending}`;
    const paths = Array.from({ length: count }, (_, index) =>
      count === 1 && template !== out ? out : template.replaceAll('{index}', String(index + 1)),
    );
    const sources = new Set(this.#inputs.map(({ filename }) => resolve(filename)));
    for (const path of paths) {
      if (sources.has(resolve(path))) throw usageFailure(`--out ${path}: it is one of the inputs`);
      if (!overwrite && existsSync(path) && !this.#incremental?.mayReplace(path))
        throw usageFailure(`--out: ${existsFailure(path).message}`);
    }
    return paths;
  }

  append = async ({ bytes }: { readonly bytes: Uint8Array }, { input }: Planned) => {
    const index = this.#places.get(input)!;
    const sheet = Math.floor(index / this.#perSheet);
    while (this.#current < sheet) await this.#write();
    // Copied, because the thread's memory is reused.
    this.#cells.set(index, new Uint8Array(bytes));
    return {};
  };

  finish = async ({ status }: BatchResult) => {
    if (status !== 'completed') return;
    while (this.#current < this.#paths.length) await this.#write();
  };

  abandon = () => this.#writer.settled();

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** All sheets, as they are where no image fails. */
  planned(): readonly PlannedSheet[] {
    return this.#paths.map((outputFilename, sheet) => {
      const images = Math.min(this.#perSheet, this.#inputs.length - sheet * this.#perSheet);
      return { outputFilename, format: this.#format, ...sheetSize(this.#layout, images), images };
    });
  }

  /** The record of an image, with its place in place of the cell's properties. */
  recordOf(record: FileRecord): FileRecord {
    const { index, inputFilename, status, originalSize, error, reason, warnings, cached } = record;
    const place = index % this.#perSheet;
    const { columns } = this.#layout;
    const data = {
      sheet: this.#paths[Math.floor(index / this.#perSheet)]!,
      row: Math.floor(place / columns) + 1,
      column: (place % columns) + 1,
    };
    return {
      ...{ index, inputFilename, status, originalSize },
      ...((status === 'succeeded' || status === 'planned') && { data }),
      ...(error && { error }),
      ...(reason && { reason }),
      ...(warnings && { warnings }),
      ...(cached && { cached }),
    };
  }

  async #write(): Promise<void> {
    const path = this.#paths[this.#current]!;
    const first = this.#current * this.#perSheet;
    this.#current += 1;
    const cells = this.#cells;
    this.#cells = new Map();
    // All of its images failed.
    if (cells.size === 0) return;
    const inputs = this.#inputs.slice(first, first + this.#perSheet);
    const { font, labelColor, overwrite } = this.#flags;
    this.#pool ??= await inlinePool(1);
    const result = await this.#pool.run({
      operation: 'montage-sheet',
      options: {
        ...{ layout: this.#layout, format: this.#format, encoding: this.#encoding },
        ...{ font, color: labelColor },
        cells: inputs.map((input, index) => ({
          bytes: cells.get(first + index) ?? null,
          label: this.#labelOf(input, first + index),
        })),
      },
      source: { bytes: new Uint8Array() },
      limits: this.#limits,
    });
    if (!result.ok) {
      const { code, message } = result.error;
      throw new Failure('invalid_request', `${path}: ${message}`, { code });
    }
    const { image, warnings } = result as JobSuccess;
    const { bytes, format, width, height, sha256 } = image!;
    const size = bytes.byteLength;
    const unchanged = this.#incremental?.holds(path, { sha256, size }) ?? false;
    if (!unchanged) {
      const mayReplace = overwrite || this.#incremental?.mayReplace(path);
      const write = (descriptor: number) => void writeFileSync(descriptor, bytes);
      await this.#writer.write(path, write, mayReplace);
    }
    this.#incremental?.note(path, inputs[0]!, sha256);
    for (const { message } of warnings) printStderr(`oriel: ${printable(path)}: ${message}`);
    const sheet = { outputFilename: path, format, width, height, size, sha256 };
    this.written.push({ ...sheet, images: inputs.length, ...(unchanged && { unchanged }) });
  }

  #labelOf({ relativePath }: Input, index: number): string {
    const { label } = this.#flags;
    if (label === undefined) return '';
    const { name } = parse(relativePath);
    const visible = name.replace(/\p{Cc}/gu, '\ufffd');
    const text = fillTemplate(label, { name: visible, index: index + 1 } as never)!;
    // Letters are about half as wide as high.
    const { cell, labelSize } = this.#layout;
    const short = cutMiddle(text, Math.max(4, Math.floor(cell.width / (labelSize * 0.6))));
    return /[^\s\p{M}\p{Cc}\p{Cf}\p{Cs}]/u.test(short) ? short : '';
  }
}
