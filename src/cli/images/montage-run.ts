import { printable } from '../../operations/batch/filename.ts';
import { sizeOf } from '../../operations/pool/pool.ts';
import { chooseReport } from '../batch/image-choices.ts';
import { inputFlags, readLimits, runFlags } from '../batch/image-flags.ts';
import { plannedInput } from '../batch/image-plan.ts';
import { cacheFolder, openIncremental } from '../batch/incremental.ts';
import { runPlanned } from '../batch/planned-run.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { findInputs, type Input } from '../files/inputs.ts';
import { type Head, jsonReport, type Report } from '../reports/report.ts';
import { printStderr } from '../terminal/terminal.ts';
import { montageFlags } from './command-flags.ts';
import { contactSheets } from './contact-sheets.ts';

const CELL = {
  name: 'montage-cell',
  gives: 'data',
  /** CPU milliseconds for a megabyte of input. */
  cost: 15,
  columns: () => ['sheet', 'row', 'column'],
} as const;

/** Draws images onto contact sheets. */
export async function runMontage({ positionals, flags }: CommandInput): Promise<number> {
  const own = readFlags(montageFlags, flags);
  const run = readFlags(runFlags, flags);
  const limits = readLimits(flags);
  const [width, height] = own.cell.split('x').map(Number) as [number, number];
  const choices = { options: { width, height, fit: own.fit }, limits, run };
  const incremental = openIncremental({ operation: CELL.name, ...choices }, choices);
  const found = await findInputs(positionals[0] as readonly string[], {
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
  const sheets = contactSheets(inputs, own, limits, incremental);
  const listed = () => (run.dryRun ? sheets.planned : sheets.written);
  const reportFor = (head: Head): Report => {
    const named = { ...head, operation: 'montage' };
    const outputs = { out: undefined, zip: undefined } as never;
    const inner = run.json
      ? jsonReport(named, () => ({ sheets: listed() }))
      : chooseReport(CELL, { ...choices, outputs }, named);
    return { ...inner, add: (record) => inner.add(sheets.recordOf(record)) };
  };
  const planned = inputs.map((input) => {
    const record = { status: 'planned', originalSize: sizeOf(input.source) } as const;
    return plannedInput(input, run.dryRun && !input.problem ? record : undefined);
  });
  const sink = run.dryRun ? {} : sheets;
  try {
    const code = await runPlanned(CELL, planned, sink, choices, reportFor, incremental);
    if (run.quiet || run.json || run.jsonl) return code;
    for (const { outputFilename, unchanged, ...size } of listed()) {
      const verb = run.dryRun ? 'would write' : unchanged ? 'kept unchanged' : 'wrote';
      printStderr(`oriel: ${verb} ${printable(outputFilename)}, ${size.width}x${size.height}`);
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
