import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { formatOfExtension, type OutputFormat } from '../images/formats.ts';
import type { BatchInput } from '../operations/batch.ts';
import { type CodedMessage, type FileRecord, resultRecord } from '../operations/batch-record.ts';
import { sizeOf } from '../operations/pool.ts';
import type { Choices } from './image-choices.ts';
import type { Incremental } from './incremental.ts';
import type { Input } from './inputs.ts';
import type { OutputNames } from './naming.ts';
import { existsFailure, keptOutput } from './writer.ts';

/** An input with its record where that is known before any work. */
export interface Planned extends BatchInput {
  readonly input: Input;
  /** Whether the cache has its result. */
  readonly cached?: boolean;
}

/**
 * Assigns an output path to each input, and a record to each input that needs no work: arguments that
 * are no files, outputs that exist or are unchanged, and all inputs in a dry run.
 *
 * @param names null where no files are written
 * @param incremental null for a run without a cache
 * @param writable the formats that the operation writes
 * @throws Failure with code `usage` where two inputs would write one output
 */
export function plan(
  inputs: readonly Input[],
  names: OutputNames | null,
  { options, outputs, run }: Choices,
  writable: readonly string[],
  incremental: Incremental | null,
): Planned[] {
  const format = options['format'] as OutputFormat | undefined;
  return inputs.map((input, index): Planned => {
    const { filename, source, problem, answer, optional = false } = input;
    const found = incremental?.find(input);
    const known = { input, filename, source, optional, cached: found !== undefined };
    const withRecord = (record: Omit<FileRecord, 'index' | 'inputFilename' | 'originalSize'>) => ({
      ...known,
      knownRecord: { originalSize: problem || answer ? 0 : sizeOf(source), ...record },
    });
    if (problem) return withRecord({ status: 'failed', error: problem });
    if (answer) return withRecord({ status: 'succeeded', data: answer });
    const [image] = found?.images ?? [];
    const result = found && resultRecord({ data: found.data, warnings: found.warnings, image });
    if (found && !image) return withRecord({ ...result, status: 'succeeded', cached: true });
    const own = format ?? fallback(filename, writable);
    const path = names?.predict(input, index, image ?? (own ? { format: own } : {})) ?? null;
    if (incremental && path !== null) {
      const unchanged = image && incremental.holds(path, image);
      if (unchanged || incremental.isDone(input, path)) {
        names!.claim(path, input);
        return withRecord({
          ...(unchanged && result),
          ...{ status: 'skipped', outputFilename: path, reason: UNCHANGED },
        });
      }
    }
    // With a cache, the content of the output decides.
    const decidesNow = !outputs.overwrite && !outputs.check && !incremental;
    if (path !== null && decidesNow && existsSync(path)) {
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

export const UNCHANGED: CodedMessage = { code: 'unchanged', message: 'unchanged' };

/** PNG, where the operation does not write the format of the input's extension. */
function fallback(filename: string, writable: readonly string[]): OutputFormat | undefined {
  const own = formatOfExtension(extname(filename).slice(1));
  return own === null || writable.includes(own) ? undefined : 'png';
}
