import { randomUUID } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { Failure } from '../failure.ts';
import { Batch } from '../operations/batch.ts';
import type { BatchResult, CodedMessage, FileRecord } from '../operations/batch-record.ts';
import type { Operation } from '../operations/operation.ts';
import { type BatchPool, poolFor, sizeOf } from '../operations/pool.ts';
import { withAnnotations } from './annotations.ts';
import { noteNativeCode } from './exit.ts';
import { type Choices, readChoices, STANDARD_STREAM } from './image-choices.ts';
import { type Planned, plan } from './image-plan.ts';
import { cacheFolder, type Incremental, openIncremental } from './incremental.ts';
import { findInputs } from './inputs.ts';
import { onInterrupt } from './interrupt.ts';
import { imagePaths, withImages, withVariables } from './named-images.ts';
import { OutputNames } from './naming.ts';
import { startProgress } from './progress.ts';
import {
  checksumReport,
  failuresReport,
  type Head,
  jsonReport,
  linesReport,
  type Report,
  totalsLine,
  untilReaderCloses,
} from './report.ts';
import { checkSink, fileSink, type OutputSink, standardOutputSink, zipSink } from './sink.ts';
import { SAMPLE_ROWS } from './table.ts';
import { tableReport } from './table-report.ts';
import { printStderr } from './terminal.ts';
import { usageFailure } from './usage.ts';
import { FailedInputs, FolderWatcher, foldersOf } from './watch.ts';
import { Writer } from './writer.ts';

/** Makes the report of a run. */
export type ReportChooser = (operation: Operation, choices: Choices, head: Head) => Report;

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

async function choosePool(
  { cost }: Pick<Operation, 'cost'>,
  planned: readonly Planned[],
  { run, options }: Pick<Choices, 'run' | 'options'>,
  incremental: Incremental | null,
): Promise<BatchPool> {
  const files = planned.filter(({ knownRecord, cached }) => !knownRecord && !cached);
  const megabytes = files.reduce((sum, { source }) => sum + sizeOf(source), 0) / 1e6;
  const each = typeof cost === 'number' ? cost : cost(options as never);
  const work = { milliseconds: megabytes * each, files: files.length };
  const pool = await poolFor(work, run.jobs);
  return incremental ? incremental.poolOf(pool) : pool;
}

export function chooseReport(
  {
    gives,
    columns,
    details,
    row,
    checksum,
  }: Pick<Operation, 'gives' | 'columns' | 'details' | 'row' | 'checksum'>,
  { options, run, outputs }: Pick<Choices, 'options' | 'run' | 'outputs'>,
  head: Head,
): Report {
  if (run.json) return jsonReport(head);
  if (run.jsonl) return linesReport(outputs.zip !== undefined);
  if (run.sha256sum && checksum) return checksumReport(checksum);
  const imageOnStandardOutput = outputs.out === STANDARD_STREAM || outputs.zip === STANDARD_STREAM;
  const silent = run.quiet || (gives === 'image' && imageOnStandardOutput);
  return silent
    ? failuresReport()
    : tableReport(gives, columns?.(options), details?.(options), row);
}

/**
 * Runs an operation over planned files.
 *
 * @param reportFor makes the report
 * @returns the exit code
 */
export async function runPlanned(
  operation: Pick<Operation, 'name' | 'gives' | 'cost'>,
  planned: readonly Planned[],
  sink: OutputSink,
  choices: Pick<Choices, 'options' | 'limits' | 'run'> &
    Partial<Pick<Choices, 'outputs' | 'taken' | 'images'>>,
  reportFor: (head: Head) => Report,
  incremental: Incremental | null,
): Promise<number> {
  const started = performance.now();
  // V8 would collect the memory of finished files late, because libvips does the work: ten thousand
  // files took 330 MB on Node 24, and take 125 with this flag.
  if (planned.some(({ knownRecord }) => !knownRecord)) setFlagsFromString('--optimize-for-size');
  const { options, images, limits, run, taken = false } = choices;
  const head: Head = { requestId: randomUUID(), operation: operation.name };
  const chosen = run.annotate ? withAnnotations(reportFor(head)) : reportFor(head);
  const report = sink.store || sink.append ? untilReaderCloses(chosen) : chosen;
  const pool = await choosePool(operation, planned, choices, incremental);
  // On one terminal, lines that are printed while the bar is shown would mix with it.
  const streams = !chosen.atEnd && (run.json || run.jsonl || planned.length >= SAMPLE_ROWS);
  const wanted = !run.quiet && !(process.stdout.isTTY && streams);
  // Files without work end at once, and would make the rate and the time left wrong.
  const working = planned.filter(({ knownRecord }) => !knownRecord).length;
  const progress = await startProgress(working, wanted);
  const stop = new AbortController();
  const { signal } = stop;
  const results: FileRecord[] = [];
  const batch = new Batch(
    planned,
    { operation, options, images, limits, taken, pool, signal, failFast: run.failFast },
    {
      ...sink,
      onFinish(record) {
        if (!planned[record.index]!.knownRecord) progress.advance();
        report.finished?.(record);
      },
      add(record) {
        // Only a manifest needs all records at the end. Memory must not grow with the folder.
        if (sink.finish) results.push(record);
        return report.add(record);
      },
    },
  );
  let closing: Promise<void> | undefined;
  const closeReport = (status: BatchResult['status'], reason?: CodedMessage): Promise<void> => {
    closing ??= batch
      .skipRest(reason)
      .then(() => report.finish(status, batch.summary.totals(operation.gives)));
    return closing;
  };
  const removeHandlers = onInterrupt(async () => {
    stop.abort();
    progress.stop();
    await sink.abandon?.();
    incremental?.flush();
    // Lets the records of outputs that were just written be added.
    await new Promise(setImmediate);
    // The reader may have closed the report. The process ends in any case.
    await closeReport('interrupted', INTERRUPTED).catch(() => {});
    printStderr(`oriel: interrupted after ${batch.finished} of ${planned.length} files`);
  });
  try {
    const status = await batch.run();
    const summary = batch.summary.totals(operation.gives);
    await sink.finish?.({ ...head, status, summary, results }, options);
    signal.throwIfAborted();
    progress.stop();
    await closeReport(status);
    const { total, reasons } = batch.summary;
    const isNews = !choices.outputs?.watch || reasons.get('unchanged') !== total;
    if (!run.quiet && isNews)
      printStderr(totalsLine(batch.summary, operation.gives, performance.now() - started));
  } catch (error) {
    // The handler of the signal ends the process; nothing more may be printed or written.
    if (signal.aborted) await forever();
    // A reader of the document needs its end; main reports the error itself.
    await closeReport('failed').catch(() => {});
    throw error;
  } finally {
    progress.stop();
    removeHandlers();
    incremental?.flush();
    if (pool.abandoned) noteNativeCode();
    else await pool.close();
  }
  const { failed, planned: changes } = batch.summary;
  return failed > 0 || (choices.outputs?.check && changes > 0) ? 1 : 0;
}

const INTERRUPTED: CodedMessage = {
  code: 'interrupted',
  message: 'interrupted before it was done',
};

/** Never resolves. */
function forever(): Promise<never> {
  return new Promise(() => {});
}
