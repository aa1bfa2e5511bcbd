import { readFileSync, statSync } from 'node:fs';
import { dirname, join, parse, resolve } from 'node:path';
import { sizeText } from '../../images/byte-size.ts';
import { regionsText } from '../../images/focus/regions.ts';
import type { TextVariables } from '../../images/input.ts';
import { printable } from '../../operations/batch/filename.ts';
import { digestFile } from '../../operations/cache/file-identity.ts';
import type { NamedImages } from '../../operations/definition/job.ts';
import type { Operation, Variable } from '../../operations/definition/operation.ts';
import { type Flags, flagOf, usageFailure } from '../command/command.ts';
import { findInputs, type Input } from '../files/inputs.ts';
import { OutputNames } from '../files/naming.ts';
import type { Head } from '../reports/report.ts';
import { printStderr } from '../terminal/terminal.ts';
import {
  type Choices,
  chooseReport,
  type ReportChooser,
  readChoices,
  STANDARD_STREAM,
} from './image-choices.ts';
import { plan } from './image-plan.ts';
import { cacheFolder, type Incremental, openIncremental } from './incremental.ts';
import { runPlanned } from './planned-run.ts';
import { chooseSink } from './sink.ts';
import { type FailedInputs, watchImages } from './watch.ts';

export interface ImageCommandOptions {
  /** Path of the text that the operation takes as an argument. */
  readonly origin?: string;
  /** Reads that text again where it is a file. @returns the flags with it */
  readonly reload?: () => Flags;
  readonly reportOf?: ReportChooser;
  /** Whether an input that was found is one; by default all are. */
  readonly accepts?: (input: Input) => boolean;
}

/**
 * Runs one operation over the files that the arguments name, and with `--watch` again after each change.
 *
 * @returns the exit code
 * @throws Failure with code `usage` or with a `param`, before any work was done
 */
export async function runImageCommand(
  operation: Operation,
  files: readonly string[],
  flags: Flags,
  { origin, reload, reportOf = chooseReport, accepts }: ImageCommandOptions = {},
): Promise<number> {
  const choose = async (given: Flags): Promise<Choices> => {
    const chosen = await prepared(operation, readChoices(operation, files, given), origin);
    return { ...chosen, imagePaths: imagePaths(operation, chosen, origin) };
  };
  const runWith = (choices: Choices, failed?: FailedInputs) =>
    runOnce({ operation, files, choices: withImages(choices), reportOf, failed, accepts });
  const choices = await choose(flags);
  if (!choices.outputs.watch) return runWith(choices);
  const recipe =
    reload && origin !== undefined ? { path: origin, choose: () => choose(reload()) } : undefined;
  return watchImages(files, choices, runWith, recipe);
}

/** The choices with the job options of an operation that prepares them. */
async function prepared(
  operation: Operation,
  choices: Choices,
  origin: string | undefined,
): Promise<Choices> {
  const planOnly = choices.run.dryRun;
  const options = await operation.prepare?.(choices.options as never, { origin, planOnly });
  return options === undefined ? choices : { ...choices, options: options as Choices['options'] };
}

/** One run of an operation. */
interface ImageRun {
  readonly operation: Operation;
  /** The positional arguments. */
  readonly files: readonly string[];
  readonly choices: Choices;
  readonly reportOf: ReportChooser;
  /** Inputs to leave out; undefined without `--watch`. */
  readonly failed: FailedInputs | undefined;
  readonly accepts: ImageCommandOptions['accepts'];
}

/** The way of every run: find the files, select the inputs, name their outputs, plan, and do the work. */
async function runOnce(run: ImageRun): Promise<number> {
  const { operation, choices } = run;
  const found = await findFiles(run);
  const incremental = openCache(run);
  const images = incremental?.withoutOutputs(found) ?? found;
  const sources = run.accepts ? images.filter(run.accepts) : images;
  if (sources.length === 0 && !run.accepts) printStderr('oriel: no image was found');
  const inputs = selectInputs(run, sources);
  if (inputs.length === 0) {
    const quiet = { ...choices, run: { ...choices.run, quiet: true } };
    // A script that reads the document needs one without results too.
    if (choices.run.json && !run.failed)
      await runPlanned(operation, [], {}, quiet, reporter(run), incremental);
    return 1;
  }
  const names = nameOutputs(run, inputs);
  const planned = plan(inputs, names, choices, operation, incremental);
  const sink = await chooseSink(operation, names, choices, incremental);
  return runPlanned(operation, planned, sink, choices, reporter(run), incremental);
}

/** The files that the arguments name, without the outputs of earlier runs. */
function findFiles({ operation, files, choices }: ImageRun): Promise<Input[]> {
  const { inputs, outputs, limits, options } = choices;
  return findInputs(files, {
    ...inputs,
    exclude: [outputs.out, cacheFolder(choices)],
    fileBytes: limits.fileBytes,
    answer: (argument) => operation.answer?.(argument, options),
  });
}

function openCache({ operation, choices }: ImageRun): Incremental | null {
  const { options, images, limits, taken } = choices;
  const job = { operation: operation.name, options, limits, taken, ...(images && { images }) };
  return openIncremental(job, choices);
}

/** The inputs with the properties that the options refer to, without inputs that failed and did not change. */
function selectInputs(
  { operation, choices, failed }: ImageRun,
  sources: readonly Input[],
): readonly Input[] {
  const inputs = withVariables(sources, operation.variables?.(choices.options) ?? []);
  return failed ? failed.without(inputs) : inputs;
}

/** Null where no files are written. @throws Failure with code `usage` */
function nameOutputs(
  { operation, choices: { outputs } }: ImageRun,
  inputs: readonly Input[],
): OutputNames | null {
  const isStandardOutput = outputs.out === STANDARD_STREAM;
  if (isStandardOutput && inputs.length > 1) {
    throw usageFailure(`--out -: expected one image, received ${inputs.length}`);
  }
  const writesFiles = operation.gives === 'image' && outputs.zip === undefined && !isStandardOutput;
  return writesFiles ? new OutputNames(outputs, inputs) : null;
}

function reporter({ operation, choices, reportOf, failed }: ImageRun) {
  return (head: Head) => {
    const report = reportOf(operation, choices, head);
    return failed ? failed.watch(report) : report;
  };
}

/** Paths of the images that options refer to, by their names. A recipe names them from its own folder. */
function imagePaths(
  operation: Operation,
  { options }: Pick<Choices, 'options'>,
  origin: string | undefined,
): Map<string, string> {
  const folder = origin === undefined ? '.' : dirname(origin);
  const names = operation.images?.(options) ?? [];
  return new Map(names.map((name) => [name, resolve(folder, name)]));
}

/** Finds the images that options refer to. @throws Failure with code `usage` */
function namedImages(
  paths: ReadonlyMap<string, string>,
  { options, limits }: Pick<Choices, 'options' | 'limits'>,
): NamedImages {
  const flags = new Map(Object.entries(options).map(([key, value]) => [value, flagOf(key)]));
  return Object.fromEntries(
    [...paths].map(([name, path]) => {
      // An image of a recipe has no flag.
      const option = flags.get(name) ?? 'image';
      checkExists(path, option);
      const digest = digestFile(path, limits.fileBytes);
      if (digest) return [name, { path, sha256: digest.sha256 }];
      const most = sizeText(limits.fileBytes);
      throw usageFailure(`${option}: ${printable(path)} is no file of at most ${most}`);
    }),
  );
}

/** @throws Failure with code `usage` */
function checkExists(path: string, option: string): void {
  try {
    statSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' || code === 'ENOTDIR' ? 'no such file' : message;
    throw usageFailure(`${option}: ${printable(path)}: ${reason}`);
  }
}

/** The choices with the images that options refer to, as they are now. @throws Failure with code `usage` */
function withImages(choices: Choices): Choices {
  const { imagePaths: paths } = choices;
  return paths && paths.size > 0 ? { ...choices, images: namedImages(paths, choices) } : choices;
}

/** The properties of an input that the options refer to. */
function withVariables(inputs: readonly Input[], used: readonly Variable[]): readonly Input[] {
  if (used.length === 0) return inputs;
  return inputs.map((input, index) => {
    const { name } = parse(input.relativePath);
    const variables = {
      ...(used.includes('name') && { name }),
      ...(used.includes('index') && { index: index + 1 }),
      ...(used.includes('sidecar') && 'path' in input.source && sidecarOf(input.source.path)),
    };
    return { ...input, variables };
  });
}

/** Bytes of a file with a focal point that are read, and characters that are kept. */
const MAX_SIDECAR_BYTES = 4 * 1024 * 1024;
const MAX_SIDECAR_LENGTH = 50_000;

/** What a file beside a picture says of its focus: JSON, or XMP as digiKam, darktable and Lightroom name it. */
function sidecarOf(path: string): Partial<TextVariables> {
  const { dir, name } = parse(path);
  for (const file of [`${path}.focus.json`, `${path}.xmp`, join(dir, `${name}.xmp`)]) {
    try {
      const stat = statSync(file);
      if (!stat.isFile() || stat.size > MAX_SIDECAR_BYTES) continue;
      const text = readFileSync(file, 'utf8');
      const sidecar = file.endsWith('.xmp') ? regionsText(text) : text;
      if (sidecar !== '') return { sidecar: sidecar.slice(0, MAX_SIDECAR_LENGTH) };
    } catch {}
  }
  return {};
}
