import { printable } from '../../operations/batch/filename.ts';
import { sizeOf } from '../../operations/pool/pool.ts';
import { inputFlags, limitFlags, limitsOf, runFlags } from '../batch/image-flags.ts';
import type { Planned } from '../batch/image-plan.ts';
import { cacheFolder, openIncremental } from '../batch/incremental.ts';
import { runPlanned } from '../batch/planned-run.ts';
import { chooseReport } from '../batch/report-choice.ts';
import { readFlags } from '../command/flags.ts';
import { findInputs, type Input } from '../files/inputs.ts';
import { type Head, jsonReport, type Report } from '../reports/report.ts';
import { printStderr } from '../terminal/terminal.ts';
import { montageFlags } from './command-flags.ts';
import { ContactSheets } from './contact-sheets.ts';

const CELL = {
  name: 'montage-cell',
  gives: 'data',
  /** CPU milliseconds for a megabyte of input. */
  cost: 15,
  columns: () => ['sheet', 'row', 'column'],
} as const;

/**
 * Draws images onto contact sheets.
 *
 * @returns the exit code
 * @throws Failure with code `usage` or with a `param`, before any work was done
 */
export async function runMontage(
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const own = readFlags(montageFlags, flags);
  const run = readFlags(runFlags, flags);
  const limits = limitsOf(readFlags(limitFlags, flags));
  const [width, height] = own.cell.split('x').map(Number) as [number, number];
  const choices = { options: { width, height, fit: own.fit }, limits, run };
  const incremental = openIncremental({ operation: CELL.name, ...choices }, choices);
  const found = await findInputs(files, {
    ...readFlags(inputFlags, flags),
    fileBytes: limits.fileBytes,
    exclude: [cacheFolder(choices)],
  });
  const given = incremental?.withoutOutputs(found) ?? found;
  const inputs = own.sort === 'name' ? given.toSorted(byName) : given;
  if (inputs.length === 0) {
    printStderr('oriel: no image was found');
    return 1;
  }
  const sheets = new ContactSheets(inputs, { width, height }, own, limits, incremental);
  const reportFor = (head: Head): Report => {
    const named = { ...head, operation: 'montage' };
    const outputs = { out: undefined, zip: undefined } as never;
    const inner = run.json
      ? jsonReport(named, () => ({ sheets: run.dryRun ? sheets.planned() : sheets.written }))
      : chooseReport(CELL, { ...choices, outputs }, named);
    return { ...inner, add: (record) => inner.add(sheets.recordOf(record)) };
  };
  const planned = inputs.map((input): Planned => {
    const { filename, source, problem, optional = false } = input;
    const known = { input, filename, source, optional };
    if (problem) {
      return { ...known, knownRecord: { status: 'failed', originalSize: 0, error: problem } };
    }
    if (!run.dryRun) return known;
    return { ...known, knownRecord: { status: 'planned', originalSize: sizeOf(source) } };
  });
  try {
    const code = await runPlanned(
      CELL,
      planned,
      run.dryRun ? {} : sheets,
      choices,
      reportFor,
      incremental,
    );
    if (!run.quiet && !run.json && !run.jsonl) {
      for (const sheet of run.dryRun ? sheets.planned() : sheets.written) {
        const verb = run.dryRun ? 'would write' : sheet.unchanged ? 'kept unchanged' : 'wrote';
        printStderr(
          `oriel: ${verb} ${printable(sheet.outputFilename)}, ${sheet.width}x${sheet.height}`,
        );
      }
    }
    return code;
  } finally {
    await sheets.close();
  }
}

const collator = new Intl.Collator('en', { numeric: true });

/** The order of names in which 2 comes before 10. */
function byName({ filename: one }: Input, { filename: other }: Input): number {
  return collator.compare(one, other);
}
