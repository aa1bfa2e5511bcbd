import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { Batch } from '../../operations/batch/batch.ts';
import type { BatchResult, CodedMessage, FileRecord } from '../../operations/batch/batch-record.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { type BatchPool, poolFor, sizeOf } from '../../operations/pool/pool.ts';
import { withAnnotations } from '../reports/annotations.ts';
import { type Head, type Report, totalsLine, untilReaderCloses } from '../reports/report.ts';
import { noteNativeCode, onInterrupt } from '../terminal/exit.ts';
import { startProgress } from '../terminal/progress.ts';
import { printStderr } from '../terminal/terminal.ts';
import type { Choices } from './image-choices.ts';
import { failingWarnings, type Planned } from './image-plan.ts';
import type { Incremental } from './incremental.ts';
import type { OutputSink } from './sink.ts';

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
  // Files without work end at once, and would make the rate and the time left wrong.
  const working = planned.filter(({ knownRecord }) => !knownRecord).length;
  // V8 would collect the memory of finished files late, because libvips does the work: ten thousand files took
  // 330 MB on Node 24, and take 125 with this flag. It costs a palette 6 % of its CPU.
  if (working > 500) setFlagsFromString('--optimize-for-size');
  const { options, images, limits, run, taken = false } = choices;
  const head: Head = { requestId: randomUUID(), operation: operation.name };
  const chosen = run.annotate ? withAnnotations(reportFor(head)) : reportFor(head);
  const report = sink.store || sink.append ? untilReaderCloses(chosen) : chosen;
  const pool = await choosePool(operation, planned, choices, incremental);
  // On a terminal, a document or its lines are all that is shown.
  const streams = !chosen.atEnd && (run.json || run.jsonl);
  const wanted = !run.quiet && !(process.stdout.isTTY && streams);
  const progress = startProgress(working, wanted);
  const stop = new AbortController();
  const { signal } = stop;
  const results: FileRecord[] = [];
  const batch = new Batch(
    planned,
    {
      ...{ operation, options, images, limits, taken, pool, signal, failFast: run.failFast },
      failOn: failingWarnings(choices.outputs),
    },
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
      printStderr(
        totalsLine(
          batch.summary,
          operation.gives,
          performance.now() - started,
          choices.outputs?.check,
        ),
      );
  } catch (error) {
    // The handler of the signal ends the process; nothing more may be printed or written.
    if (signal.aborted) await new Promise(() => {});
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
