import { existsSync, writeFileSync } from 'node:fs';
import { basename, extname, parse, resolve } from 'node:path';
import type * as v from 'valibot';
import { Failure } from '../../failure.ts';
import type { OutputFormat } from '../../images/formats.ts';
import type { Limits } from '../../images/limits.ts';
import type { FileRecord, OutputRecord } from '../../operations/batch/batch-record.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { JobSuccess } from '../../operations/definition/job.ts';
import { fillTemplate } from '../../operations/definition/name-template.ts';
import { type BatchPool, inlinePool } from '../../operations/pool/pool.ts';
import { type SheetLayout, sheetOf, sheetSize } from '../../operations/tools/montage.ts';
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

/** A sheet, which has no size and no hash before it is drawn. */
interface Sheet extends Omit<OutputRecord, 'outputFilename' | 'size' | 'sha256'> {
  readonly outputFilename: string;
  readonly size?: number;
  readonly sha256?: string;
  /** Images on it, those that failed included. */
  readonly images: number;
  readonly unchanged?: true;
}

interface ContactSheets extends OutputSink {
  /** All sheets, as they are if no image fails. */
  readonly planned: readonly Sheet[];
  readonly written: readonly Sheet[];
  /** The record of an image, with its place instead of the cell's properties. */
  recordOf(record: FileRecord): FileRecord;
  close(): Promise<void>;
}

/**
 * Collects cells in the order of the inputs, and writes a sheet as soon as it is full.
 *
 * @throws Failure with code `usage`
 */
export function contactSheets(
  inputs: readonly Input[],
  flags: MontageFlags,
  limits: Limits,
  incremental: Incremental | null,
): ContactSheets {
  const { columns, label, overwrite, font } = flags;
  const { layout, encoding } = sheetOf(flags);
  const perSheet = columns * rowsOf(layout, flags.rows, inputs.length, limits);
  const format = formatOf(flags);
  const paths = pathsOf(flags, Math.ceil(inputs.length / perSheet));
  checkPaths(paths, inputs, overwrite, incremental);
  const places = new Map(inputs.map((input, index) => [input, index]));
  const writer = new Writer({ overwrite });
  const written: Sheet[] = [];
  /** Bytes of the cells of the sheet that is being filled, by the index of their inputs. */
  let cells = new Map<number, Uint8Array>();
  let current = 0;
  let pool: BatchPool | undefined;

  const draw = async (path: string, first: number, filled: typeof cells) => {
    const images = inputs.slice(first, first + perSheet);
    pool ??= await inlinePool(1);
    const result = await pool.run({
      operation: 'montage-sheet',
      options: {
        ...{ layout, format, encoding, font, color: flags.labelColor },
        cells: images.map((input, index) => ({
          bytes: filled.get(first + index) ?? null,
          label: label === undefined ? '' : labelOf(label, input, first + index, layout),
        })),
      },
      source: { bytes: new Uint8Array() },
      limits,
    });
    if (!result.ok) {
      const { code, message } = result.error;
      throw new Failure('invalid_request', `${path}: ${message}`, { code });
    }
    for (const { message } of result.warnings) printStderr(`oriel: ${printable(path)}: ${message}`);
    return { images, ...(result as JobSuccess).image! };
  };

  const writeNext = async () => {
    const path = paths[current]!;
    const first = current * perSheet;
    const filled = cells;
    current += 1;
    cells = new Map();
    // All of its images failed.
    if (filled.size === 0) return;
    const { images, bytes, sha256, width, height, format } = await draw(path, first, filled);
    const size = bytes.byteLength;
    const unchanged = incremental?.holds(path, { sha256, size }) ?? false;
    if (!unchanged) {
      const mayReplace = overwrite || incremental?.mayReplace(path);
      const write = (descriptor: number) => void writeFileSync(descriptor, bytes);
      await writer.write(path, write, mayReplace);
    }
    incremental?.note(path, images[0]!, sha256);
    written.push({
      ...{ outputFilename: path, format, width, height, size, sha256, images: images.length },
      ...(unchanged && { unchanged }),
    });
  };

  return {
    written,
    planned: paths.map((outputFilename, sheet) => {
      const images = Math.min(perSheet, inputs.length - sheet * perSheet);
      return { outputFilename, format, ...sheetSize(layout, images), images };
    }),
    async append({ bytes }, { input }) {
      const index = places.get(input)!;
      while (current < Math.floor(index / perSheet)) await writeNext();
      // Copied, because the thread's memory is reused.
      cells.set(index, new Uint8Array(bytes));
      return {};
    },
    async finish({ status }) {
      if (status !== 'completed') return;
      while (current < paths.length) await writeNext();
    },
    abandon: () => writer.settled(),
    close: async () => pool?.close(),
    recordOf(record) {
      const {
        outputFilename,
        format,
        width,
        height,
        pages,
        size,
        sha256,
        data: _,
        ...rest
      } = record;
      if (record.status !== 'succeeded' && record.status !== 'planned') return rest;
      const place = record.index % perSheet;
      const data = {
        sheet: paths[Math.floor(record.index / perSheet)]!,
        row: Math.floor(place / columns) + 1,
        column: (place % columns) + 1,
      };
      return { ...rest, data };
    },
  };
}

/** Rows of a sheet: as many as wanted, or as the largest side allows. @throws Failure with code `usage` */
function rowsOf(
  layout: SheetLayout,
  rows: number | undefined,
  images: number,
  { side, pixels }: Limits,
): number {
  const { columns } = layout;
  const fits = (count: number) => {
    const { width, height } = sheetSize(layout, count * columns);
    return Math.max(width, height) <= side && width * height <= pixels * 4;
  };
  const most = rows ?? Math.ceil(images / columns);
  if (!fits(1) || (rows !== undefined && !fits(Math.min(rows, most)))) {
    const { width, height } = sheetSize(layout, columns * (rows ?? 1));
    throw usageFailure(
      `--cell: a sheet of ${width}x${height} has more than ${side} pixels along a side or ${(pixels * 4) / 1e6} megapixels; choose fewer columns and rows or smaller cells, or raise --max-side and --max-pixels`,
    );
  }
  let count = 1;
  while (count < most && fits(count + 1)) count += 1;
  return count;
}

function formatOf({ out, format }: MontageFlags): OutputFormat {
  const named = formatOfPath(out);
  if (named === null || named === 'svg') {
    throw usageFailure(
      `--out: expected a file ending in .jpg, .png, .webp, .avif, .gif or .tiff, received ${out}`,
    );
  }
  if (format !== undefined && format !== named) {
    throw usageFailure(`--format: expected ${named} as the name ${out} says, received ${format}`);
  }
  return named;
}

function pathsOf({ out }: MontageFlags, count: number): string[] {
  const ending = extname(out);
  const template = /\{index\}/.test(basename(out))
    ? out
    : `${out.slice(0, -ending.length)}-{index}${ending}`;
  if (count === 1 && template !== out) return [out];
  return Array.from({ length: count }, (_, index) =>
    template.replaceAll('{index}', `${index + 1}`),
  );
}

function checkPaths(
  paths: readonly string[],
  inputs: readonly Input[],
  overwrite: boolean,
  incremental: Incremental | null,
): void {
  const sources = new Set(inputs.map(({ filename }) => resolve(filename)));
  for (const path of paths) {
    if (sources.has(resolve(path))) throw usageFailure(`--out ${path}: it is one of the inputs`);
    if (!overwrite && existsSync(path) && !incremental?.mayReplace(path))
      throw usageFailure(`--out: ${existsFailure(path).message}`);
  }
}

function labelOf(
  label: string,
  { relativePath }: Input,
  index: number,
  { cell, labelSize }: SheetLayout,
): string {
  const { name } = parse(relativePath);
  const visible = name.replace(/\p{Cc}/gu, '\ufffd');
  const text = fillTemplate(label, { name: visible, index: index + 1 } as never)!;
  // Letters are about half as wide as high.
  const short = cutMiddle(text, Math.max(4, Math.floor(cell.width / (labelSize * 0.6))));
  return /[^\s\p{M}\p{Cc}\p{Cf}\p{Cs}]/u.test(short) ? short : '';
}
