import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { type BatchResult, type FileRecord, runBatch, Tally } from '../operations/batch.ts';
import type { Operation } from '../operations/operation.ts';
import { type BatchPool, poolFor } from '../operations/pool.ts';
import { fieldsOf } from '../schema.ts';
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
  totals,
} from './report.ts';
import { fileSink, type Sink, standardOutputSink, zipSink } from './sink.ts';
import { HELD_BACK } from './table.ts';
import { say } from './terminal.ts';
import { usageFailure } from './usage.ts';
import { Writer } from './writer.ts';

type Head = Pick<BatchResult, 'requestId' | 'operation' | 'status'>;

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
    recursive: choices.inputs.recursive,
    filesFrom: choices.inputs.filesFrom,
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
  const files = planned.filter(({ verdict }) => verdict === undefined);
  const megabytes = files.reduce((sum, { source }) => sum + sizeOf(source), 0) / 1e6;
  return poolFor({ milliseconds: megabytes * cost, files: files.length }, run.jobs);
}

/** Bytes; 0 where they cannot be told, which the thread that reads them will report. */
function sizeOf(source: Planned['source']): number {
  if (!('path' in source)) return source.bytes.byteLength;
  try {
    return statSync(source.path).size;
  } catch {
    return 0;
  }
}

function chooseReport(
  { gives, columns }: Operation,
  { options, run, outputs }: Choices,
  head: Head,
): Report {
  if (run.json) return jsonReport(head);
  if (run.jsonl) return linesReport(outputs.zip !== undefined);
  const imageOnStandardOutput = outputs.out === STANDARD_STREAM || outputs.zip === STANDARD_STREAM;
  const silent = run.quiet || (gives === 'image' && imageOnStandardOutput);
  return silent ? failuresReport() : tableReport(gives, columns?.(options) ?? []);
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
  const head: Head = { requestId: randomUUID(), operation: operation.name, status: 'completed' };
  const chosen = chooseReport(operation, choices, head);
  const report = sink.deliver || sink.append ? dispensable(chosen) : chosen;
  const pool = await choosePool(operation, planned, choices);
  // On one terminal, lines that are printed as they come would run into the bar.
  const streams = run.json || run.jsonl || planned.length >= HELD_BACK;
  const wanted = !run.quiet && !(process.stdout.isTTY && streams);
  const progress = await startProgress(planned.length, wanted);
  const tally = new Tally();
  const stop = new AbortController();
  const kept: FileRecord[] = [];
  let finished = 0;
  const interrupt = onInterrupt({
    async cleanUp() {
      stop.abort();
      progress.stop();
      await sink.abandon?.();
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
        finished += 1;
        progress.advance();
        report.finished?.(record);
        if (record.status === 'failed' && run.failFast) stop.abort();
      },
    });
    for await (const { record, image } of entries) {
      if (interrupt.happened) await forever();
      const appended = image && (await sink.append?.(planned[record.index]!.input, image));
      const whole = appended ? { ...record, ...appended } : record;
      tally.add(whole);
      // Only a manifest needs them all at the end; a folder of any size must not.
      if (sink.finish) kept.push(whole);
      await report.add(whole);
    }
    if (interrupt.happened) await forever();
    const summary = tally.summary(operation.gives);
    await sink.finish?.({ ...head, summary, results: kept }, options);
    progress.stop();
    await report.finish(summary);
    if (!run.quiet) say(totals(tally, planned.length, performance.now() - started));
  } finally {
    progress.stop();
    interrupt.forget();
    if (pool.abandoned) noteNativeCode();
    else await pool.close();
  }
  return tally.failed > 0 ? 1 : 0;
}

/** Once interrupted the process is about to end: nothing that would need finishing may begin. */
function forever(): Promise<never> {
  return new Promise(() => {});
}
