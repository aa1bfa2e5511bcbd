import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { formatOfExtension, type OutputFormat } from '../images/formats.ts';
import type { BatchInput } from '../operations/batch.ts';
import type { FileRecord } from '../operations/batch-record.ts';
import type { Operation } from '../operations/operation.ts';
import { sizeOf } from '../operations/pool.ts';
import type { Choices } from './image-choices.ts';
import type { Input } from './inputs.ts';
import type { OutputNames } from './naming.ts';
import { existsFailure, keptOutput } from './writer.ts';

/** An input with its record where that is known before any work. */
export interface Planned extends BatchInput {
  readonly input: Input;
}

/**
 * Assigns an output path to each input, and a record to each input that needs no work: arguments that
 * are no files, outputs that exist, and all inputs in a dry run.
 *
 * @param names null where no files are written
 * @param operation its formats, and whether it names its outputs
 * @throws Failure with code `usage` where two inputs would write one output
 */
export function plan(
  inputs: readonly Input[],
  names: OutputNames | null,
  { options, outputs, run }: Choices,
  { keeps: writable = [], several = false }: Pick<Operation, 'keeps' | 'several'>,
): Planned[] {
  const format = options['format'] as OutputFormat | undefined;
  return inputs.map((input, index): Planned => {
    const { filename, source, problem, answer, optional = false } = input;
    const known = { input, filename, source, optional };
    const withRecord = (record: Omit<FileRecord, 'index' | 'inputFilename' | 'originalSize'>) => ({
      ...known,
      knownRecord: { originalSize: problem || answer ? 0 : sizeOf(source), ...record },
    });
    if (problem) return withRecord({ status: 'failed', error: problem });
    if (answer) return withRecord({ status: 'succeeded', data: answer });
    // The image decides the names, and the operation plans them.
    if (several) return known;
    const path = names?.predict(input, index, format ?? fallback(filename, writable)) ?? null;
    if (path !== null && !outputs.overwrite && existsSync(path)) {
      if (outputs.skipExisting) return withRecord(keptOutput(path, input));
      const { message } = existsFailure(path);
      return withRecord({ status: 'failed', error: { code: 'output_exists', message } });
    }
    // Claimed only here: an output that exists is not written.
    if (path !== null) names!.claim(path, input);
    if (!run.dryRun) return known;
    return withRecord({ status: 'planned', ...(path !== null && { outputFilename: path }) });
  });
}

/** PNG, where the operation does not write the format of the input's extension. */
function fallback(filename: string, writable: readonly string[]): OutputFormat | undefined {
  const own = formatOfExtension(extname(filename).slice(1));
  return own === null || writable.includes(own) ? undefined : 'png';
}
