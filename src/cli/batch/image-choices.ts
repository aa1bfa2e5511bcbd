import type * as v from 'valibot';
import { checkSides, type Limits } from '../../images/limits.ts';
import type { NamedImages } from '../../operations/definition/job.ts';
import { needsDate } from '../../operations/definition/name-template.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { fieldsOf } from '../../schema/fields.ts';
import { type Flags, flagOf, readFlags, usageFailure } from '../command/command.ts';
import { formatOfPath } from '../files/naming.ts';
import {
  checksumReport,
  failuresReport,
  type Head,
  jsonReport,
  linesReport,
  type Report,
} from '../reports/report.ts';
import { tableReport } from '../reports/table-report.ts';
import { inputFlags, outputFlags, readLimits, runFlags } from './image-flags.ts';

/** Stands for standard input or output in place of a path. */
export const STANDARD_STREAM = '-';

/** The checked arguments of an image command. */
export interface Choices {
  /** Output of the operation's schema. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Paths of the images that options refer to, by their names. */
  readonly imagePaths?: ReadonlyMap<string, string>;
  /** Files of these images. */
  readonly images?: NamedImages;
  readonly inputs: v.InferOutput<typeof inputFlags>;
  readonly outputs: v.InferOutput<typeof outputFlags>;
  readonly run: v.InferOutput<typeof runFlags>;
  readonly limits: Limits;
  /** Whether names of outputs contain the date of the picture. */
  readonly taken: boolean;
}

/**
 * Checks what commander parsed, each group against its schema.
 *
 * @param files the positional arguments
 * @throws Failure that names the flag
 */
export function readChoices(operation: Operation, files: readonly string[], flags: Flags): Choices {
  const outputs = readFlags(outputFlags, flags);
  // The output of an image from standard input goes to standard output.
  if (operation.gives === 'image' && files[0] === STANDARD_STREAM && outputs.zip === undefined) {
    outputs.out ??= STANDARD_STREAM;
  }
  const takesFormat = fieldsOf(operation.options).some(({ name }) => name === 'format');
  const place = [outputs.out, outputs.name].find((one) => formatOfPath(one) !== null);
  const named = formatOfPath(place);
  // An operation that writes SVG writes it from SVG alone.
  const isSvg = named === 'svg' && operation.keeps?.includes(named);
  const formatOfOut = takesFormat && !isSvg ? named : null;
  const withFormat = formatOfOut === null ? flags : { format: formatOfOut, ...flags };
  const choices: Choices = {
    options: readFlags(operation.options, withFormat) as Choices['options'],
    inputs: readFlags(inputFlags, flags),
    outputs,
    run: readFlags(runFlags, flags),
    limits: readLimits(flags),
    taken: needsDate(outputs.name ?? ''),
  };
  checkSides(choices.options, choices.limits, flagOf, '; --max-side moves the bound');
  refuseContradictions(choices);
  if (operation.several) refuseOneName(choices.outputs);
  if (formatOfOut !== null && choices.options['format'] !== formatOfOut) {
    throw usageFailure(
      `--format: expected ${formatOfOut} as the name ${place} says, received ${choices.options['format']}`,
    );
  }
  return choices;
}

/** Refuses names of one output, for an operation that gives several. */
function refuseOneName({ name, out }: Choices['outputs']): void {
  if (name !== undefined) throw usageFailure('--name: the outputs of a recipe have names there');
  if (out === STANDARD_STREAM || formatOfPath(out) !== null) {
    throw usageFailure(`--out ${out}: expected a folder, because a recipe gives several outputs`);
  }
}

function refuseContradictions({ inputs, outputs, run }: Choices): void {
  const { out, zip } = outputs;
  const incremental = run.incremental || run.cache !== undefined || outputs.watch;
  const report = run.json || run.jsonl;
  const zips = zip !== undefined;
  const isPiped = out === STANDARD_STREAM;
  const { watch, check, skipExisting } = outputs;
  const pairs: readonly [boolean, string][] = [
    [run.json && run.jsonl, '--json and --jsonl'],
    [run.sha256sum && report, '--sha256sum and --json'],
    [outputs.overwrite && skipExisting, '--overwrite and --skip-existing'],
    [zips && out !== undefined, '--zip and --out'],
    [zips && outputs.name !== undefined, '--zip and --name'],
    [outputs.name !== undefined && formatOfPath(out) !== null, '--name and a file as --out'],
    [zips && outputs.keepMtime, '--zip and --keep-mtime'],
    [zips && skipExisting, '--zip and --skip-existing'],
    [incremental && skipExisting, `--${watch ? 'watch' : 'incremental'} and --skip-existing`],
    [watch && zips, '--watch and --zip'],
    [watch && isPiped, '--watch and standard input or output'],
    [watch && inputs.filesFrom === STANDARD_STREAM, '--watch and --files-from -'],
    [watch && run.json, '--watch and --json'],
    [watch && run.dryRun, '--watch and --dry-run'],
    [watch && check, '--watch and --check'],
    [check && run.dryRun, '--check and --dry-run'],
    [check && skipExisting, '--check and --skip-existing'],
    [check && zips, '--check and --zip'],
    [check && isPiped, '--check and an image on -'],
    [(isPiped || zip === STANDARD_STREAM) && report, 'an image on - and --json'],
  ];
  const refused = pairs.find(([contradiction]) => contradiction);
  if (refused) throw usageFailure(`${refused[1]} cannot be combined`);
}

/** Makes the report of a run. */
export type ReportChooser = (operation: Operation, choices: Choices, head: Head) => Report;

/** The report that the flags of a command ask for. */
export function chooseReport(
  operation: Pick<Operation, 'gives' | 'columns' | 'details' | 'row' | 'checksum'>,
  { options, run, outputs }: Pick<Choices, 'options' | 'run' | 'outputs'>,
  head: Head,
): Report {
  const { gives, columns, details, row, checksum } = operation;
  if (run.json) return jsonReport(head);
  if (run.jsonl) return linesReport(outputs.zip !== undefined);
  if (run.sha256sum && checksum) return checksumReport(checksum);
  const imageOnStandardOutput = outputs.out === STANDARD_STREAM || outputs.zip === STANDARD_STREAM;
  const silent = run.quiet || (gives === 'image' && imageOnStandardOutput);
  return silent
    ? failuresReport()
    : tableReport(gives, columns?.(options), details?.(options), row);
}
