import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { formatOfExtension, type OutputFormat } from '../images/formats.ts';
import type { BatchInput } from '../operations/batch.ts';
import type { FileRecord } from '../operations/batch-record.ts';
import { sizeOf } from '../operations/pool.ts';
import type { Choices } from './image-choices.ts';
import type { Input } from './inputs.ts';
import type { OutputNames } from './naming.ts';
import { existsFailure, keptOutput } from './writer.ts';

/** An input with what was found out about it before any work. */
export interface Planned extends BatchInput {
  readonly input: Input;
}

/**
 * Gives each input its output and settles what needs no work: arguments that are no files, outputs
 * that exist, and everything in a dry run.
 *
 * @param names null where no files are written
 * @param writable the formats that the operation writes
 * @throws Failure with code `usage` where two inputs would write one output
 */
export function plan(
  inputs: readonly Input[],
  names: OutputNames | null,
  { options, outputs, run }: Choices,
  writable: readonly string[],
): Planned[] {
  const format = options['format'] as OutputFormat | undefined;
  return inputs.map((input, index): Planned => {
    const { filename, source, problem, answer, optional = false } = input;
    const known = { input, filename, source, optional };
    const settled = (record: Omit<FileRecord, 'index' | 'inputFilename' | 'originalSize'>) => ({
      ...known,
      knownRecord: { originalSize: problem || answer ? 0 : sizeOf(source), ...record },
    });
    if (problem) return settled({ status: 'failed', error: problem });
    if (answer) return settled({ status: 'succeeded', data: answer });
    const path = names?.predict(input, index, format ?? fallback(filename, writable)) ?? null;
    if (path !== null && !outputs.overwrite && existsSync(path)) {
      if (outputs.skipExisting) return settled(keptOutput(path, input));
      const { message } = existsFailure(path);
      return settled({ status: 'failed', error: { code: 'output_exists', message } });
    }
    // After the question above: what exists stays, so that nobody will write it.
    if (path !== null) names!.claim(path, input);
    if (!run.dryRun) return known;
    return settled({ status: 'planned', ...(path !== null && { outputFilename: path }) });
  });
}

/** PNG is written where the operation does not write the format that an input's name tells. */
function fallback(filename: string, writable: readonly string[]): OutputFormat | undefined {
  const own = formatOfExtension(extname(filename).slice(1));
  return own === null || writable.includes(own) ? undefined : 'png';
}
