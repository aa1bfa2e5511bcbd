import type {
  BatchResult,
  BatchSummary,
  BatchTotals,
  FileRecord,
} from '../../operations/batch/batch-record.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { counted } from '../../words.ts';
import {
  humanBytes,
  humanChange,
  isClosedPipe,
  jsonText,
  print,
  printStderr,
} from '../terminal/terminal.ts';

/** Prints the records of a batch. */
export interface Report {
  /** Prints nothing before `finish`. */
  readonly atEnd?: boolean;
  /** Called with each record as soon as its file has finished, in any order. */
  finished?(record: FileRecord): void;
  /** Called with each record in the order of the inputs. */
  add(record: FileRecord): Promise<void>;
  finish(status: BatchResult['status'], totals: BatchTotals): Promise<void>;
}

export type Head = Pick<BatchResult, 'requestId' | 'operation'>;

/**
 * One JSON document, shaped as the `manifest.json` of a batch and printed while the records are added.
 *
 * @param further gives properties that come after the results
 */
export function jsonReport(head: Head, further: () => object = () => ({})): Report {
  let first = true;
  return {
    async add(record) {
      const lead = first ? `${jsonText(head).slice(0, -1)},"results":[\n` : ',\n';
      first = false;
      await print(lead + jsonText(record));
    },
    async finish(status, totals) {
      const lead = first ? `${jsonText(head).slice(0, -1)},"results":[` : '\n';
      // The status comes after the results, because it is known only now.
      const end = jsonText({ ...further(), status, summary: totals });
      await print(`${lead}],${end.slice(1)}\n`);
    },
  };
}

/**
 * A line of JSON for each file, as soon as it has finished.
 *
 * @param ordered prints lines in the order of the inputs, where a record is complete only then
 */
export function linesReport(ordered: boolean): Report {
  let printed = Promise.resolve();
  /** Indexes of records that were printed when their file finished, and were not added yet. */
  const early = new Set<number>();
  const print = (record: FileRecord) => {
    printed = printed.then(() => printLine(record));
    // An error is handled by the next `add`, or by `finish`.
    printed.catch(() => {});
    return printed;
  };
  return {
    ...(!ordered && {
      finished(record) {
        early.add(record.index);
        void print(record);
      },
    }),
    // The promise slows the batch down to the speed of the reader.
    add: (record) => (early.delete(record.index) ? printed : print(record)),
    finish: () => printed,
  };
}

function printLine(record: FileRecord): Promise<void> {
  return print(`${jsonText(record)}\n`);
}

/** The same report, which stops printing once the reader of standard output has closed it. */
export function untilReaderCloses(report: Report): Report {
  let closed = false;
  const printUnlessClosed = async (print: () => Promise<void>) => {
    if (closed) return;
    try {
      await print();
    } catch (error) {
      if (!isClosedPipe(error)) throw error;
      closed = true;
    }
  };
  return {
    ...report,
    add: (record) => printUnlessClosed(() => report.add(record)),
    finish: (status, totals) => printUnlessClosed(() => report.finish(status, totals)),
  };
}

/** Failures only, on standard error. */
export function failuresReport(): Report {
  return {
    async add({ inputFilename, error }) {
      if (error) printStderr(`oriel: ${inputFilename}: ${error.message} (${error.code})`);
    },
    async finish() {},
  };
}

/**
 * A line for each file as GNU `sha256sum` prints it, which begins with a backslash where the name has escapes. Failures
 * go to standard error.
 */
export function checksumReport(checksum: (data: object) => string): Report {
  const failures = failuresReport();
  const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r' };
  return {
    ...failures,
    add(record) {
      const { inputFilename, data } = record;
      if (!data) return failures.add(record);
      const name = inputFilename.replace(/[\\\n\r]/g, (character) => escapes[character]!);
      const line = `${name === inputFilename ? '' : '\\'}${checksum(data)}  ${name}\n`;
      // Control characters in names are for programs, not for a terminal.
      return print(process.stdout.isTTY ? `${printable(line.trimEnd())}\n` : line);
    },
  };
}

/** The totals in one line. */
export function totalsLine(
  summary: BatchSummary,
  gives: Operation['gives'],
  milliseconds: number,
  check = false,
): string {
  const { succeeded, failed, planned, total, reasons, convertedBytes, outputBytes } = summary;
  const files = counted(total, 'file');
  const failures = failed > 0 ? `, ${failed} failed` : '';
  const changes = (reasons.get('output_missing') ?? 0) + (reasons.get('output_differs') ?? 0);
  if (changes > 0) return `${changes} of ${files} would change${failures}; nothing was written`;
  const unchanged = reasons.get('unchanged') ?? 0;
  if (check && unchanged > 0) return `${unchanged} of ${files} up to date${failures}`;
  if (planned > 0) return `${planned} of ${files} would be done; nothing was`;
  const fromCache = summary.cached > 0 ? ` (${summary.cached} from the cache)` : '';
  const parts = [`${succeeded} of ${files} done${fromCache}`];
  if (failed > 0) parts.push(`${failed} failed`);
  const skipped = (code: string, text: (count: number) => string) => {
    const count = reasons.get(code) ?? 0;
    if (count > 0) parts.push(text(count));
  };
  const outdated = summary.outdated > 0 ? ` (${summary.outdated} older than the input)` : '';
  skipped('output_exists', (count) => `${count} skipped${outdated}`);
  skipped('unchanged', (count) => `${count} unchanged`);
  skipped('unsupported_format', (count) => `${count} skipped (format not read)`);
  skipped('same_file', (count) => `${count} skipped (links)`);
  skipped('not_started', (count) => `${count} not started`);
  const bytes =
    gives === 'image' && outputBytes > 0
      ? `: ${humanBytes(convertedBytes)} to ${humanBytes(outputBytes)} (${humanChange(convertedBytes, outputBytes)})`
      : '';
  return `${parts.join(', ')}${bytes} in ${(milliseconds / 1000).toFixed(1)} s`;
}
