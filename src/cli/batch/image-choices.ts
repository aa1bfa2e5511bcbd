import type * as v from 'valibot';
import { checkSides, type Limits } from '../../images/limits.ts';
import type { NamedImages } from '../../operations/definition/job.ts';
import { needsDate } from '../../operations/definition/name-template.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { fieldsOf } from '../../schema/fields.ts';
import { usageFailure } from '../command/command.ts';
import { flagOf, readFlags } from '../command/flags.ts';
import { formatOfPath } from '../files/naming.ts';
import { inputFlags, limitFlags, limitsOf, outputFlags, runFlags } from './image-flags.ts';

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
export function readChoices(
  operation: Operation,
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Choices {
  const outputs = readFlags(outputFlags, flags);
  // The output of an image from standard input goes to standard output.
  if (operation.gives === 'image' && files[0] === STANDARD_STREAM && outputs.zip === undefined) {
    outputs.out ??= STANDARD_STREAM;
  }
  const takesFormat = fieldsOf(operation.options).some(({ name }) => name === 'format');
  const formatOfOut = takesFormat ? formatOfPath(outputs.out) : null;
  const withFormat = formatOfOut === null ? flags : { format: formatOfOut, ...flags };
  const choices: Choices = {
    options: readFlags(operation.options, withFormat) as Choices['options'],
    inputs: readFlags(inputFlags, flags),
    outputs,
    run: readFlags(runFlags, flags),
    limits: limitsOf(readFlags(limitFlags, flags)),
    taken: needsDate(outputs.name ?? ''),
  };
  checkSides(choices.options, choices.limits, flagOf, '; --max-side moves the bound');
  refuseContradictions(choices);
  if (operation.several) refuseOneName(choices.outputs);
  if (formatOfOut !== null && choices.options['format'] !== formatOfOut) {
    throw usageFailure(
      `--format: expected ${formatOfOut} as the name ${outputs.out} says, received ${choices.options['format']}`,
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
  const pairs: readonly [boolean, string][] = [
    [run.json && run.jsonl, '--json and --jsonl'],
    [run.sha256sum && report, '--sha256sum and --json'],
    [outputs.overwrite && outputs.skipExisting, '--overwrite and --skip-existing'],
    [zip !== undefined && out !== undefined, '--zip and --out'],
    [zip !== undefined && outputs.name !== undefined, '--zip and --name'],
    [zip !== undefined && outputs.keepMtime, '--zip and --keep-mtime'],
    [zip !== undefined && outputs.skipExisting, '--zip and --skip-existing'],
    [
      incremental && outputs.skipExisting,
      `${outputs.watch ? '--watch' : '--incremental'} and --skip-existing`,
    ],
    [outputs.watch && zip !== undefined, '--watch and --zip'],
    [outputs.watch && out === STANDARD_STREAM, '--watch and standard input or output'],
    [outputs.watch && inputs.filesFrom === STANDARD_STREAM, '--watch and --files-from -'],
    [outputs.watch && run.json, '--watch and --json'],
    [outputs.watch && run.dryRun, '--watch and --dry-run'],
    [outputs.watch && outputs.check, '--watch and --check'],
    [outputs.check && run.dryRun, '--check and --dry-run'],
    [outputs.check && outputs.skipExisting, '--check and --skip-existing'],
    [outputs.check && zip !== undefined, '--check and --zip'],
    [outputs.check && out === STANDARD_STREAM, '--check and an output on -'],
    [(out === STANDARD_STREAM || zip === STANDARD_STREAM) && report, 'an output on - and --json'],
  ];
  const refused = pairs.find(([contradiction]) => contradiction);
  if (refused) throw usageFailure(`${refused[1]} exclude each other`);
}
