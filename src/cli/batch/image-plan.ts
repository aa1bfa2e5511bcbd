import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { formatOfExtension, type OutputFormat } from '../../images/formats.ts';
import {
  type CodedMessage,
  type FileRecord,
  resultRecord,
} from '../../operations/batch/batch-record.ts';
import type { BatchInput } from '../../operations/batch/process-files.ts';
import type { StoredImage } from '../../operations/cache/cache-index.ts';
import { imagesOf, type Operation } from '../../operations/definition/operation.ts';
import { sizeOf } from '../../operations/pool/pool.ts';
import type { WarningCode } from '../../warning-codes.ts';
import type { Input } from '../files/inputs.ts';
import type { OutputNames } from '../files/naming.ts';
import { existsFailure, keptOutput } from '../files/writer.ts';
import type { Choices } from './image-choices.ts';
import type { Incremental } from './incremental.ts';

/** An input with its record where that is known before any work. */
export interface Planned extends BatchInput {
  readonly input: Input;
  /** Whether the cache has its result. */
  readonly cached?: boolean;
}

/** An input of a command that names no outputs. @param record a record that is known before any work */
export function plannedInput(input: Input, record?: Planned['knownRecord']): Planned {
  const { filename, source, problem, optional = false } = input;
  const failed = problem && ({ status: 'failed', originalSize: 0, error: problem } as const);
  const knownRecord = failed ?? record;
  return { input, filename, source, optional, ...(knownRecord && { knownRecord }) };
}

/**
 * Assigns an output path to each input, and a record to each input that needs no work: arguments that
 * are no files, outputs that exist or are unchanged, and all inputs in a dry run.
 *
 * @param names null where no files are written
 * @param operation its formats, and whether it names its outputs
 * @param incremental null for a run without a cache
 * @throws Failure with code `usage` where two inputs would write one output
 */
export function plan(
  inputs: readonly Input[],
  names: OutputNames | null,
  { options, outputs, run }: Pick<Choices, 'options' | 'outputs' | 'run'>,
  { keeps: writable = [], several = false }: Pick<Operation, 'keeps' | 'several'>,
  incremental: Incremental | null,
): Planned[] {
  const holds = (path: string | null, image: StoredImage) =>
    path !== null && incremental?.holds(path, image);
  const format = options['format'] as OutputFormat | undefined;
  return inputs.map((input, index): Planned => {
    const { filename, source, problem, answer, optional = false, variables } = input;
    const found = incremental?.find(input);
    const known = { input, filename, source, optional, variables, cached: found !== undefined };
    const withRecord = (record: Omit<FileRecord, 'index' | 'inputFilename' | 'originalSize'>) => ({
      ...known,
      knownRecord: { originalSize: problem || answer ? 0 : sizeOf(source), ...record },
    });
    if (problem) return withRecord({ status: 'failed', error: problem });
    if (answer) return withRecord({ status: 'succeeded', data: answer });
    // The image decides the names, and the operation plans them.
    if (several && !found) return known;
    const images = found ? imagesOf(found) : [];
    const result = found && resultRecord(found, ({ size }) => size);
    if (found && images.length === 0) {
      return withRecord({ ...result, status: 'succeeded', cached: true });
    }
    const own = format ?? fallback(filename, writable);
    const facts = images.length > 0 ? images : [own ? { format: own } : {}];
    const paths = facts.map((fact) => names?.predict(input, index, fact) ?? null);
    const path = paths[0]!;
    const isDone = path !== null && incremental?.isDone(input, path);
    const failing = failingWarnings(outputs);
    const isAccepted = !result?.warnings?.some(({ code }) => code in failing);
    const isUnchanged =
      isAccepted && images.length > 0 && images.every((image, at) => holds(paths[at]!, image));
    if (isUnchanged || isDone) {
      for (const one of paths) if (one !== null) names!.claim(one, input);
      const outputs = result?.outputs?.map((one, at) => ({ ...one, outputFilename: paths[at]! }));
      return withRecord({
        ...(isUnchanged && result),
        ...{ status: 'skipped', reason: UNCHANGED },
        ...(outputs ? { outputs } : { outputFilename: path! }),
      });
    }
    if (several) return known;
    // With a cache, the content of the output decides.
    const decidesNow = !outputs.overwrite && !outputs.check && !incremental;
    if (path !== null && decidesNow && existsSync(path)) {
      if (outputs.skipExisting) return withRecord(keptOutput(path, input));
      const { message } = existsFailure(path);
      return withRecord({ status: 'failed', error: { code: 'output_exists', message } });
    }
    // Claimed only here: an output that exists is not written. Of several outputs, each is claimed when written.
    if (path !== null && !found?.images) names!.claim(path, input);
    if (!run.dryRun) return known;
    return withRecord({ status: 'planned', ...(path !== null && { outputFilename: path }) });
  });
}

const TARGET_NOT_REACHED: WarningCode = 'target_not_reached';

/** Codes of warnings that fail a file, with what to do about them. */
export function failingWarnings(
  outputs: { readonly bestEffort: boolean } | undefined,
): Readonly<Record<string, string>> {
  return outputs?.bestEffort ? {} : { [TARGET_NOT_REACHED]: '--best-effort writes it' };
}

export const UNCHANGED: CodedMessage = { code: 'unchanged', message: 'unchanged' };

/** PNG, where the operation does not write the format of the input's extension. */
function fallback(filename: string, writable: readonly string[]): OutputFormat | undefined {
  const own = formatOfExtension(extname(filename).slice(1));
  return own === null || writable.includes(own) ? undefined : 'png';
}
