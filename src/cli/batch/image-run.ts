import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../failure.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { usageFailure } from '../command/command.ts';
import { findInputs } from '../files/inputs.ts';
import { OutputNames } from '../files/naming.ts';
import { Writer } from '../files/writer.ts';
import type { Head } from '../reports/report.ts';
import { onInterrupt } from '../terminal/exit.ts';
import { printStderr } from '../terminal/terminal.ts';
import { type Choices, readChoices, STANDARD_STREAM } from './image-choices.ts';
import { plan } from './image-plan.ts';
import { cacheFolder, type Incremental, openIncremental } from './incremental.ts';
import { imagePaths, withImages, withVariables } from './named-images.ts';
import { runPlanned } from './planned-run.ts';
import { chooseReport, type ReportChooser } from './report-choice.ts';
import { checkSink, fileSink, type OutputSink, standardOutputSink, zipSink } from './sink.ts';
import { FailedInputs, FolderWatcher, foldersOf } from './watch.ts';

export interface ImageCommandOptions {
  /** Path of the text that the operation takes as an argument. */
  readonly origin?: string;
  /** Reads that text again where it is a file. @returns the flags with it */
  readonly reload?: () => Readonly<Record<string, unknown>>;
  readonly reportOf?: ReportChooser;
}

/**
 * Runs one operation over the files that the arguments name.
 *
 * @returns the exit code
 * @throws Failure with code `usage` or with a `param`, before any work was done
 */
export async function runImageCommand(
  operation: Operation,
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
  { origin, reload, reportOf = chooseReport }: ImageCommandOptions = {},
): Promise<number> {
  const choose = async (given: typeof flags): Promise<Choices> => {
    const chosen = await prepared(operation, readChoices(operation, files, given), origin);
    return { ...chosen, imagePaths: imagePaths(operation, chosen, origin) };
  };
  const choices = await choose(flags);
  if (!choices.outputs.watch) return runOnce(operation, files, choices, reportOf);
  const recipe =
    reload && origin !== undefined ? { path: origin, choose: () => choose(reload()) } : undefined;
  return watchImages(operation, files, choices, reportOf, recipe);
}

/**
 * Runs an operation, and again after each change of its inputs.
 *
 * @param recipe a file whose changes apply to the next run
 * @throws Failure with code `usage` before any work was done; ends otherwise only by a signal
 */
async function watchImages(
  operation: Operation,
  files: readonly string[],
  first: Choices,
  reportOf: ReportChooser,
  recipe: { readonly path: string; readonly choose: () => Promise<Choices> } | undefined,
): Promise<never> {
  let choices = first;
  const exclude = [choices.outputs.out, cacheFolder(choices)];
  const watcher = new FolderWatcher();
  let failed = new FailedInputs();
  onInterrupt(async () => watcher.close());
  for (let isFirst = true; ; isFirst = false) {
    // Before the inputs are read, so that no later change is missed.
    const folders = await watcher.set(async () => {
      const found = await foldersOf(files, choices.inputs, exclude);
      return new Set([
        ...found,
        ...[...(choices.imagePaths?.values() ?? [])].map((path) => dirname(path)),
        ...(recipe ? [dirname(resolve(recipe.path))] : []),
      ]);
    });
    try {
      if (!isFirst && recipe) {
        const next = await recipe.choose();
        // By another recipe, a file that failed may succeed.
        if (!isDeepStrictEqual(next.options, choices.options)) failed = new FailedInputs();
        choices = next;
      }
      await runOnce(operation, files, choices, reportOf, failed);
    } catch (error) {
      if (isFirst || !(error instanceof Failure)) throw error;
      printStderr(`oriel: ${error.message}`);
    }
    if (isFirst && !choices.run.quiet) {
      const count = `${folders} ${folders === 1 ? 'folder' : 'folders'}`;
      printStderr(`oriel: watching ${count}; Ctrl-C ends`);
    }
    await watcher.changed();
  }
}

async function runOnce(
  operation: Operation,
  files: readonly string[],
  given: Choices,
  reportOf: ReportChooser,
  failed?: FailedInputs,
): Promise<number> {
  const { outputs } = given;
  const choices = withImages(given);
  const found = await findInputs(files, {
    ...choices.inputs,
    exclude: [outputs.out, cacheFolder(choices)],
    fileBytes: choices.limits.fileBytes,
    answer: (argument) => operation.answer?.(argument, choices.options),
  });
  const { options, images, limits, taken } = choices;
  const job = { operation: operation.name, options, limits, taken, ...(images && { images }) };
  const incremental = openIncremental(job, choices);
  const sources = incremental ? incremental.withoutOutputs(found) : found;
  const numbered = withVariables(sources, operation.variables?.(options) ?? []);
  const inputs = failed ? failed.without(numbered) : numbered;
  if (inputs.length === 0) {
    if (sources.length > 0) return 1;
    printStderr('oriel: no image was found');
    return 1;
  }
  if (outputs.out === STANDARD_STREAM && inputs.length > 1) {
    throw usageFailure(`--out -: expected one image, received ${inputs.length}`);
  }
  const writesFiles =
    operation.gives === 'image' && outputs.zip === undefined && outputs.out !== STANDARD_STREAM;
  const names = writesFiles ? new OutputNames(outputs, inputs) : null;
  const planned = plan(inputs, names, choices, operation, incremental);
  const sink = await chooseSink(operation, names, choices, incremental);
  const reportFor = (head: Head) => {
    const report = reportOf(operation, choices, head);
    return failed ? failed.watch(report) : report;
  };
  return runPlanned(operation, planned, sink, choices, reportFor, incremental);
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

async function chooseSink(
  operation: Operation,
  names: OutputNames | null,
  { outputs, run }: Choices,
  incremental: Incremental | null,
): Promise<OutputSink> {
  if (operation.gives === 'data' || run.dryRun) return {};
  if (names && outputs.check) return checkSink(names);
  const writer = new Writer({ overwrite: outputs.overwrite });
  if (outputs.zip !== undefined) return zipSink(outputs.zip, writer, outputs.overwrite);
  return names ? fileSink(names, writer, outputs, incremental) : standardOutputSink();
}
