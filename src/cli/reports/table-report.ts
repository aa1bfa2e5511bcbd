import type { Column } from '../../administration/admin-command.ts';
import type { Search } from '../../images/output.ts';
import type {
  CodedMessage,
  FileRecord,
  OutputRecord,
} from '../../operations/batch/batch-record.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { type Cell, nameCell, Table } from '../terminal/table.ts';
import { colourDepth, humanBytes, humanChange, swatch } from '../terminal/terminal.ts';
import { cutEnd, textWidth } from '../terminal/text-width.ts';
import type { Report } from './report.ts';

const text = (value: string): Cell => ({ text: value });

export const pathCell = (value: string): Cell => nameCell(printable(value));

/** A message, which is never cut. */
const messageCell = (value: string): Cell => ({ text: printable(value), wraps: true });

/** A list that is shortened to its first items. */
function listCell(items: readonly string[]): Cell {
  const cut = (columns: number) => {
    for (let count = items.length - 1; count > 0; count -= 1) {
      const shown = `${items.slice(0, count).join('  ')}  +${items.length - count}`;
      if (textWidth(shown) <= columns) return shown;
    }
    return cutEnd(`${items.length}`, columns);
  };
  return { text: items.join('  '), cut };
}

/** A value as text on one line. */
function plain(value: unknown): string {
  return printable(
    typeof value === 'object' && value !== null ? Object.values(value).join(' ') : String(value),
  );
}

/** A colour list (palette) as swatches, anything else as text. */
function dataCell(value: unknown, depth: number): Cell {
  if (Array.isArray(value) && value.every((item) => typeof item?.hex === 'string')) {
    const colours = value as { hex: string; proportion?: number }[];
    const shown = colours.map(({ hex, proportion }) => {
      const share = proportion === undefined ? '' : ` ${Math.round(proportion * 100)}%`;
      return `${swatch(hex, depth)}${hex}${share}`;
    });
    return listCell(shown);
  }
  if (value === undefined || value === null) return text('-');
  return text(plain(value));
}

/** The values in an object, each on a line below its file: `  photo.FNumber: 2.8`. */
function detailRows(name: string, value: unknown): Cell[][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    return value.flatMap((item, index) => [[text(`  ${name} ${index + 1}: ${plain(item)}`)]]);
  }
  if (typeof value === 'object' && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]) => detailRows(`${name}.${key}`, inner));
  }
  return [[text(`  ${printable(name)}: ${plain(value)}`)]];
}

function titleCell(column: string): Cell {
  return text(column.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toUpperCase());
}

const inParentheses = ({ message }: CodedMessage) => `(${message})`;

/** Notes, and warnings, which are never cut. */
const withWarnings = (notes: readonly string[], warnings: readonly CodedMessage[]): Cell => ({
  text: printable([...notes, ...warnings.map(inParentheses)].join(' ')),
  wraps: warnings.length > 0,
});

/** The chosen one of the encodings that were tried: `[quality 71, SSIM 0.9812, of 6]`. */
function searchNotes(data: object | undefined): string[] {
  const { chosen, tried } = (data ?? {}) as Partial<Search>;
  if (!chosen || !tried) return [];
  const { quality, colors, lossless, original, ssim } = chosen;
  const parts = [
    quality !== undefined && `quality ${quality}`,
    colors !== undefined && `${colors} colours`,
    lossless && 'lossless',
    original && 'original kept',
    ssim !== undefined && `SSIM ${ssim.toFixed(4)}`,
    tried.length > 1 && `best of ${tried.length}`,
  ];
  const notes = parts.filter(Boolean).join(', ');
  return notes === '' ? [] : [`[${notes}]`];
}

/** Reason codes of files without a row: those that were not finished when the batch ended, or need no work. */
const UNLISTED = new Set(['not_started', 'interrupted', 'unchanged']);

/** A column of paths. */
const PATH = { minWidth: 12 };

/** The columns of a table of images. */
const IMAGES: readonly (Column & { readonly title: string })[] = [
  { title: 'OUTPUT', ...PATH, dropOrder: 1 },
  { title: 'PIXELS', dropOrder: 2 },
  { title: 'BEFORE', dropOrder: 3 },
  { title: 'AFTER', dropOrder: 4 },
  { title: 'CHANGE', minWidth: 6 },
];

/** Columns of data, of which the last are left out first. */
function dataColumns(keys: readonly string[]): Column[] {
  return keys.map((_, index) => (index === 0 ? { minWidth: 12 } : { dropOrder: -index }));
}

/** The row of a file with several outputs, whose rows follow. */
function outputsCells(name: Cell, record: FileRecord, outputs: readonly OutputRecord[]): Cell[] {
  const { originalSize, warnings = [] } = record;
  const size = outputs.reduce((sum, output) => sum + output.size, 0);
  return [
    name,
    text(outputs.length === 1 ? '1 output' : `${outputs.length} outputs`),
    text(''),
    text(humanBytes(originalSize)),
    text(humanBytes(size)),
    withWarnings([humanChange(originalSize, size)], warnings),
  ];
}

function outputCells({ outputFilename, width, height, pages, size, reason }: OutputRecord): Cell[] {
  return [
    text(''),
    pathCell(outputFilename ?? '-'),
    text(`${width}x${height}${pages ? ` x${pages}` : ''}`),
    text(''),
    text(humanBytes(size)),
    text(reason ? `skipped: ${reason.message}` : ''),
  ];
}

/**
 * A table on standard output.
 *
 * @param columns keys of the records' `data`, for an operation that gives data
 * @param details keys of `data` that are listed below a file's row
 * @param row values of columns that `data` does not have
 */
export function tableReport(
  gives: Operation['gives'],
  columns: readonly string[] = [],
  details: readonly string[] = [],
  row?: Operation['row'],
): Report {
  const table = new Table(
    gives === 'image' ? [PATH, ...IMAGES] : [{ minWidth: 18 }, ...dataColumns(columns)],
  );
  const depth = colourDepth();
  let titled = false;

  const cells = (record: FileRecord): Cell[] => {
    const { status, error, reason, warnings = [], data, size = 0, originalSize } = record;
    const name = pathCell(record.inputFilename);
    const output = pathCell(record.outputFilename ?? '-');
    if (error) return [name, messageCell(`${status}: ${error.message} (${error.code})`)];
    if (reason) {
      const what = status === 'planned' ? 'would change' : status;
      const skipped = [`${what}: ${reason.message}`, ...warnings.map(inParentheses)].join(' ');
      return [name, ...(gives === 'image' ? [output] : []), messageCell(skipped)];
    }
    if (record.outputs) return outputsCells(name, record, record.outputs);
    if (status === 'planned') return gives === 'image' ? [name, output] : [name];
    if (gives === 'data') {
      const fileSize = humanBytes(originalSize);
      const values: Record<string, unknown> = { fileSize, ...data, ...(data && row?.(data)) };
      return [name, ...columns.map((key) => dataCell(values[key], depth))];
    }
    return [
      name,
      output,
      text(`${record.width}x${record.height}${record.pages ? ` x${record.pages}` : ''}`),
      text(humanBytes(originalSize)),
      text(humanBytes(size)),
      withWarnings([humanChange(originalSize, size), ...searchNotes(data)], warnings),
    ];
  };

  return {
    async add(record) {
      // The totals count them; a row for each would hide the finished files.
      if (UNLISTED.has(record.reason?.code ?? '')) return;
      if (!titled) {
        titled = true;
        const titles =
          gives === 'image' ? IMAGES.map(({ title }) => text(title)) : columns.map(titleCell);
        await table.add([text('FILE'), ...titles]);
      }
      await table.add(cells(record));
      for (const output of record.outputs ?? []) await table.add(outputCells(output));
      for (const key of record.data ? details : []) {
        const rows = detailRows(key, (record.data as Record<string, unknown>)[key]);
        for (const row of rows) await table.add(row);
      }
      // A table of images has them in its last column.
      for (const warning of (gives === 'data' && record.warnings) || []) {
        await table.add([messageCell(`  ${inParentheses(warning)}`)]);
      }
    },
    async finish() {
      await table.flush();
    },
  };
}
