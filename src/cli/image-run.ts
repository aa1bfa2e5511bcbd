import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import {
  type BatchResult,
  BatchSummary,
  type CodedMessage,
  type FileRecord,
  runBatch,
} from '../operations/batch.ts';
import type { Operation } from '../operations/operation.ts';
import { type BatchPool, poolFor, sizeOf } from '../operations/pool.ts';
import { fieldsOf } from '../schema/fields.ts';
import { noteNativeCode } from './exit.ts';
import { type Choices, readChoices, STANDARD_STREAM } from './image-choices.ts';
import { type Planned, plan } from './image-plan.ts';
import { findInputs } from './inputs.ts';
import { onInterrupt } from './interrupt.ts';
import { OutputNames } from './naming.ts';
import { startProgress } from './progress.ts';
import {
  dispensable,
  failuresReport,
  jsonReport,
  linesReport,
  type Report,
  tableReport,
  totalsLine,
} from './report.ts';
import { fileSink, type Sink, standardOutputSink, zipSink } from './sink.ts';
import { HELD_BACK } from './table.ts';
import { say } from './terminal.ts';
import { usageFailure } from './usage.ts';
import { Writer } from './writer.ts';

type Head = Pick<BatchResult, 'requestId' | 'operation'>;

/**
 * Runs one operation over the files that the arguments stand for.
 *
 * @returns the exit code
 * @throws Failure with code `usage` or with a `param`, before any work was done
 */
export async function runImageCommand(
  operation: Operation,
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const choices = readChoices(operation, files, flags);
  const { outputs } = choices;
  const inputs = await findInputs(files, {
    ...choices.inputs,
    exclude: outputs.out,
    fileBytes: choices.limits.fileBytes,
    answer: (argument) => operation.answer?.(argument, choices.options),
  });
  if (inputs.length === 0) {
    say('oriel: no image was found');
    return 1;
  }
  if (outputs.out === STANDARD_STREAM && inputs.length > 1) {
    throw usageFailure(`--out -: expected one image, received ${inputs.length}`);
  }
  const writesFiles =
    operation.gives === 'image' && outputs.zip === undefined && outputs.out !== STANDARD_STREAM;
  const names = writesFiles ? new OutputNames(outputs, inputs) : null;
  const formats = fieldsOf(operation.options).find(({ name }) => name === 'format')?.choices;
  const planned = plan(inputs, names, choices, formats ?? []);
  return runPlanned(operation, planned, await chooseSink(operation, names, choices), choices);
}

async function chooseSink(
  operation: Operation,
  names: OutputNames | null,
  { outputs, run }: Choices,
): Promise<Sink> {
  if (operation.gives === 'data' || run.dryRun) return {};
  const writer = new Writer({ overwrite: outputs.overwrite });
  if (outputs.zip !== undefined) return zipSink(outputs.zip, writer, outputs.overwrite);
  return names ? fileSink(names, writer, outputs) : standardOutputSink();
}

async function choosePool(
  { cost }: Operation,
  planned: readonly Planned[],
  { run }: Choices,
): Promise<BatchPool> {
  const files = planned.filter(({ knownRecord }) => knownRecord === undefined);
  const megabytes = files.reduce((sum, { source }) => sum + sizeOf(source), 0) / 1e6;
  return poolFor({ milliseconds: megabytes * cost, files: files.length }, run.jobs);
}

function chooseReport(
  { gives, columns, details }: Operation,
  { options, run, outputs }: Choices,
  head: Head,
): Report {
  if (run.json) return jsonReport(head);
  if (run.jsonl) return linesReport(outputs.zip !== undefined);
  const imageOnStandardOutput = outputs.out === STANDARD_STREAM || outputs.zip === STANDARD_STREAM;
  const silent = run.quiet || (gives === 'image' && imageOnStandardOutput);
  return silent ? failuresReport() : tableReport(gives, columns?.(options), details?.(options));
}

async function runPlanned(
  operation: Operation,
  planned: readonly Planned[],
  sink: Sink,
  choices: Choices,
): Promise<number> {
  const started = performance.now();
  // The work is libvips's, and V8 left to itself would let the memory of thousands of finished files
  // pile up before it looks: ten thousand took 330 MB on Node 24, and take 125 so.
  setFlagsFromString('--optimize-for-size');
  const { options, limits, run } = choices;
  const head: Head = { requestId: randomUUID(), operation: operation.name };
  const chosen = chooseReport(operation, choices, head);
  const report = sink.deliver || sink.append ? dispensable(chosen) : chosen;
  const pool = await choosePool(operation, planned, choices);
  // On one terminal, lines that are printed as they come would run into the bar.
  const streams = run.json || run.jsonl || planned.length >= HELD_BACK;
  const wanted = !run.quiet && !(process.stdout.isTTY && streams);
  const progress = await startProgress(planned.length, wanted);
  const summary = new BatchSummary();
  const stop = new AbortController();
  const kept: FileRecord[] = [];
  /** Finished files whose turn in the order of the inputs has not come. */
  const waiting = new Map<number, FileRecord>();
  let finished = 0;
  let added = 0;
  let adding: Promise<void> | undefined;
  const add = (record: FileRecord): Promise<void> => {
    added = record.index + 1;
    waiting.delete(record.index);
    summary.add(record);
    // Only a manifest needs them all at the end; a folder of any size must not.
    if (sink.finish) kept.push(record);
    adding = report.add(record);
    return adding;
  };
  /** Adds every file that has not been added, so that a report that ends early leaves none out. */
  const addRest = async (reason: CodedMessage): Promise<void> => {
    await adding;
    while (added < planned.length) {
      let record = waiting.get(added);
      // An archive that was not finished holds none of its images.
      if (!record || (sink.append && record.status === 'succeeded')) {
        const { filename, source } = planned[added]!;
        const originalSize = sizeOf(source);
        const base = { index: added, inputFilename: filename, originalSize };
        record = { ...base, status: 'skipped', reason };
        report.finished?.(record);
      }
      await add(record);
    }
  };
  let closing: Promise<void> | undefined;
  const closeReport = (status: BatchResult['status'], reason: CodedMessage): Promise<void> => {
    closing ??= addRest(reason).then(() => report.finish(status, summary.totals(operation.gives)));
    return closing;
  };
  const interrupt = onInterrupt({
    async cleanUp() {
      stop.abort();
      progress.stop();
      await sink.abandon?.();
      // The outputs that were just written become records before the next event.
      await new Promise(setImmediate);
      // The reader of the report may have closed it; the process ends all the same.
      await closeReport('interrupted', INTERRUPTED).catch(() => {});
      say(`oriel: interrupted after ${finished} of ${planned.length} files`);
    },
  });
  try {
    const entries = runBatch(planned, {
      operation,
      options,
      limits,
      pool,
      signal: stop.signal,
      async deliver(image, { input }, index) {
        if (interrupt.happened) await forever();
        return sink.deliver?.(input, index, image);
      },
      onFinish(record) {
        // A signal or a failure has reported it as skipped meanwhile.
        if (closing) return;
        finished += 1;
        waiting.set(record.index, record);
        progress.advance();
        report.finished?.(record);
        if (record.status === 'failed' && run.failFast) stop.abort();
      },
    });
    for await (const { record, image } of entries) {
      if (interrupt.happened) await forever();
      const appended = image && (await sink.append?.(planned[record.index]!.input, image));
      if (interrupt.happened) await forever();
      await add(appended ? { ...record, ...appended } : record);
    }
    if (interrupt.happened) await forever();
    const status = added < planned.length ? 'stopped' : 'completed';
    await addRest(NOT_STARTED);
    const totals = summary.totals(operation.gives);
    await sink.finish?.({ ...head, status, summary: totals, results: kept }, options);
    if (interrupt.happened) await forever();
    progress.stop();
    await closeReport(status, NOT_STARTED);
    if (!run.quiet) say(totalsLine(summary, performance.now() - started));
  } catch (error) {
    if (interrupt.happened) await forever();
    // A reader of the document needs its end; the error itself is reported below.
    await closeReport('failed', NOT_STARTED).catch(() => {});
    throw error;
  } finally {
    progress.stop();
    interrupt.forget();
    if (pool.abandoned) noteNativeCode();
    else await pool.close();
  }
  return summary.failed > 0 ? 1 : 0;
}

const NOT_STARTED: CodedMessage = { code: 'not_started', message: 'not started' };
const INTERRUPTED: CodedMessage = {
  code: 'interrupted',
  message: 'interrupted before it was done',
};

/** Once interrupted the process is about to end: nothing that would need finishing may begin. */
function forever(): Promise<never> {
  return new Promise(() => {});
}
