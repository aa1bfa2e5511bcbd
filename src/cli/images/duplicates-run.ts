import { type BigIntStats, statSync } from 'node:fs';
import type * as v from 'valibot';
import { valueOr } from '../../flow.ts';
import type { FileRecord } from '../../operations/batch/batch-record.ts';
import { sizeOf } from '../../operations/pool/pool.ts';
import {
  type Candidate,
  type DuplicateGroup,
  findDuplicates,
} from '../../operations/tools/duplicates.ts';
import type { Fingerprint } from '../../operations/tools/fingerprint.ts';
import { counted } from '../../words.ts';
import { inputFlags, readLimits, runFlags } from '../batch/image-flags.ts';
import { type Planned, plannedInput } from '../batch/image-plan.ts';
import { cacheFolder, type Incremental, openIncremental } from '../batch/incremental.ts';
import { runPlanned } from '../batch/planned-run.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { findInputs, type Input } from '../files/inputs.ts';
import { annotate } from '../reports/annotations.ts';
import {
  failuresReport,
  type Head,
  jsonReport,
  linesReport,
  type Report,
} from '../reports/report.ts';
import { pathCell } from '../reports/table-report.ts';
import { type Columns, printTable } from '../terminal/table.ts';
import { humanBytes, printJson, printStderr } from '../terminal/terminal.ts';
import { duplicatesFlags } from './command-flags.ts';

/** CPU milliseconds for a megabyte of input, with and without decoding. */
const COST = { pixels: 25, bytes: 0.7 };

/** Looks for duplicates among the files that the arguments name. */
export async function runDuplicates({ positionals, flags }: CommandInput): Promise<number> {
  const { perceptual, threshold, exitCode } = readFlags(duplicatesFlags, flags);
  const run = readFlags(runFlags, flags);
  const limits = readLimits(flags);
  const inputs = await findInputs(positionals[0] as readonly string[], {
    ...readFlags(inputFlags, flags),
    fileBytes: limits.fileBytes,
    exclude: [cacheFolder({ run })],
  });
  if (inputs.length === 0) {
    printStderr('oriel: no image was found');
    return 1;
  }
  const stats = inputs.map(statOf);
  const candidates: Candidate[] = [];
  const collect = ({ index, inputFilename, originalSize, data }: FileRecord) => {
    if (!data) return;
    const modified = new Date(Number(stats[index]?.mtimeMs ?? 0)).toISOString();
    candidates.push({ inputFilename, originalSize, modified, ...(data as Fingerprint) });
  };
  let groups: readonly DuplicateGroup[] = [];
  const reportFor = (head: Head): Report => {
    const inner = groupsReport({ ...head, operation: 'duplicates' }, run, () => groups);
    return {
      ...inner,
      add(record) {
        collect(record);
        return inner.add(record);
      },
      async finish(status, totals) {
        groups = findDuplicates(candidates, threshold);
        if (run.annotate) annotateGroups(groups, exitCode ? 'error' : 'warning');
        await inner.finish(status, { ...totals, ...totalsOf(groups) });
      },
    };
  };
  const operation = {
    name: 'fingerprint',
    gives: 'data',
    cost: perceptual === 'none' ? COST.bytes : COST.pixels,
  } as const;
  const choices = { options: { perceptual }, limits, run };
  const incremental = openIncremental({ operation: operation.name, ...choices }, choices);
  const planned = planOf(inputs, stats, incremental);
  const code = await runPlanned(operation, planned, {}, choices, reportFor, incremental);
  return exitCode && groups.length > 0 ? 1 : code;
}

/** Null for standard input, and where `stat` fails: reading the file reports the reason. */
function statOf({ source }: Input): BigIntStats | null {
  if (!('path' in source)) return null;
  return valueOr(() => statSync(source.path, { bigint: true }), null);
}

/**
 * Leaves out further paths of one file, links to it: where a link was kept and the file deleted as its
 * duplicate, the picture would be lost.
 */
function planOf(
  inputs: readonly Input[],
  stats: readonly (BigIntStats | null)[],
  incremental: Incremental | null,
): Planned[] {
  const names = new Map<string, string>();
  return inputs.map((input, index): Planned => {
    const { filename, source } = input;
    const stat = stats[index];
    if (!stat) return plannedInput(input);
    const identity = `${stat.dev}:${stat.ino}`;
    const first = names.get(identity);
    names.set(identity, first ?? filename);
    if (first !== undefined) {
      const reason = { code: 'same_file', message: `the same file as ${first}` };
      const originalSize = sizeOf(source);
      return plannedInput(input, { status: 'skipped', originalSize, reason });
    }
    const found = incremental?.find(input);
    if (!found) return plannedInput(input);
    const { originalSize, data } = found;
    const record = { status: 'succeeded', originalSize, cached: true } as const;
    return plannedInput(input, { ...record, ...(data && { data }) });
  });
}

function annotateGroups(groups: readonly DuplicateGroup[], level: 'error' | 'warning'): void {
  for (const { keep, duplicates } of groups) {
    for (const { inputFilename: file, match } of duplicates) {
      annotate({ level, file, title: 'duplicate', message: `${match} to ${keep.inputFilename}` });
    }
  }
}

/** Numbers of a search; `duplicateBytes` would be free without the duplicates. */
function totalsOf(groups: readonly DuplicateGroup[]) {
  const duplicates = groups.flatMap((group) => group.duplicates);
  const duplicateBytes = duplicates.reduce((sum, { originalSize }) => sum + originalSize, 0);
  return { groups: groups.length, duplicates: duplicates.length, duplicateBytes };
}

/** Prints the records of files and then the groups. */
function groupsReport(
  head: Head,
  run: v.InferOutput<typeof runFlags>,
  groups: () => readonly DuplicateGroup[],
): Report {
  if (run.json) return jsonReport(head, () => ({ groups: groups() }));
  if (run.jsonl) {
    const lines = linesReport(false);
    return {
      ...lines,
      async finish(status, totals) {
        await lines.finish(status, totals);
        for (const group of groups()) await printJson(group);
      },
    };
  }
  return run.quiet ? failuresReport() : groupsTable(groups);
}

function groupsTable(groups: () => readonly DuplicateGroup[]): Report {
  const failures = failuresReport();
  const failed: FileRecord[] = [];
  return {
    atEnd: true,
    async add(record) {
      if (record.error) failed.push(record);
    },
    async finish() {
      for (const record of failed) await failures.add(record);
      if (groups().length === 0) return printStderr('no duplicates were found');
      const listed = groups().flatMap(({ keep, duplicates }, at): (ListedFile | null)[] => [
        ...(at > 0 ? [null] : []),
        { ...keep, match: 'keep' },
        ...duplicates,
      ]);
      await printTable(COLUMNS, listed);
      const { duplicates, duplicateBytes } = totalsOf(groups());
      const numbers = [counted(duplicates, 'duplicate'), counted(groups().length, 'group')];
      printStderr(`${numbers.join(' in ')}, ${humanBytes(duplicateBytes)}`);
    },
  };
}

/** A file of a group: the one to keep, or a duplicate of it. */
interface ListedFile extends Candidate {
  readonly match: string;
  readonly distance?: number;
}

const COLUMNS: Columns<ListedFile> = {
  FILE: [({ inputFilename }) => pathCell(inputFilename), { minWidth: 12 }],
  MATCH: [({ match, distance }) => (match === 'similar' ? `${match} (${distance})` : match)],
  PIXELS: [
    ({ width, height }) => (width === undefined ? '-' : `${width}x${height}`),
    { dropOrder: 1 },
  ],
  SIZE: [({ originalSize }) => humanBytes(originalSize), { dropOrder: 2 }],
};
