/**
 * The entry of a thread: runs a job's operation over bytes in memory and returns the result. It does
 * not throw: an error in a file is that file's result.
 */
import { createHash } from 'node:crypto';
import type { FileErrorCode } from '../src/error-codes.ts';
import { Failure } from '../src/failure.ts';
import { decodable } from '../src/images/bitmap/decode-dib.ts';
import { diagnose } from '../src/images/decoding/diagnose.ts';
import { type Header, readHeader } from '../src/images/decoding/header.ts';
import { formatOf } from '../src/images/decoding/sniff.ts';
import { basicExif, readExif } from '../src/images/exif/exif.ts';
import { fileFailure } from '../src/images/file-error.ts';
import type { Estimate, ImageInput } from '../src/images/input.ts';
import { checkFileSize } from '../src/images/limits.ts';
import type { OutputImage } from '../src/images/output.ts';
import { isProgramFormat } from '../src/images/program-formats.ts';
import { decodeByProgram } from '../src/images/programs/decode.ts';
import type { Job, JobImage, JobResult, NamedImage } from '../src/operations/definition/job.ts';
import { needsDate } from '../src/operations/definition/name-template.ts';
import type { ThreadOperation } from '../src/operations/definition/operation.ts';
import { findOperation } from '../src/operations/registry.ts';
import { loadDecoder } from './decoder.ts';
import { moveResult } from './move-result.ts';
import { type OpenSource, openSource } from './source.ts';

/** Imported at the first use: most commands run none of them. */
async function findInternal(name: string): Promise<ThreadOperation<never> | undefined> {
  const { INTERNAL_OPERATIONS } = await import('../src/operations/internal.ts');
  return INTERNAL_OPERATIONS.find((operation) => operation.name === name);
}

/** Thrown by an operation that needs more resources than its job was granted. */
export class GrantExceededError extends Error {
  readonly estimate: Estimate;

  constructor(estimate: Estimate) {
    super('the job needs more than it was granted');
    this.estimate = estimate;
  }
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The date on which a picture was taken, without its offset from UTC. */
function takenOf({ exif }: Header): string | null {
  const tags = exif && readExif(exif);
  return (tags && basicExif(tags).dateTime?.slice(0, 19)) ?? null;
}

/** The part of an input that does not depend on its file. */
type Context = Pick<ImageInput, 'limits' | 'admit' | 'withFile' | 'withNamed' | 'variables'>;

/** Part of the deadline for programs, so that their files are removed before the pool ends the job. */
const DEADLINE_SHARE = 0.9;

/** The input of an open file, which is read at the first access. Hashing it neither decodes it nor loads sharp. */
function inputOf(
  { limits, admit, withFile, withNamed, variables }: Context,
  source: OpenSource | undefined,
): ImageInput {
  let file: Uint8Array | undefined;
  let bytes: Uint8Array | undefined;
  const until = performance.now() + limits.deadline * DEADLINE_SHARE;
  return {
    until,
    get file() {
      file ??= source?.read() ?? new Uint8Array();
      return file;
    },
    size: source?.size ?? 0,
    part: (at, length) => source?.part(at, length) ?? Buffer.alloc(0),
    limits,
    admit,
    withFile,
    withNamed,
    variables,
    get bytes() {
      bytes ??= decodable(this);
      return bytes;
    },
    async load() {
      const format = formatOf(this.file) ?? '';
      bytes ??= isProgramFormat(format) ? await decodeByProgram(this, format) : undefined;
      return this.bytes;
    },
    get sharp() {
      return loadDecoder(limits);
    },
  };
}

/**
 * Runs one job in the calling thread.
 *
 * @param admit may throw GrantExceededError, the only error that rejects the promise
 */
export async function runJob(
  job: Job,
  admit: (estimate: Estimate) => void = () => {},
): Promise<JobResult> {
  const { limits } = job;
  let readsOthers = false;
  const context: Context = {
    ...{ limits, admit, variables: job.variables ?? {} },
    withFile(path, work) {
      readsOthers = true;
      return runWithFile(context, { path, name: path }, work);
    },
    withNamed(name, work) {
      const { images = {} } = job;
      const image = Object.hasOwn(images, name) ? images[name] : undefined;
      if (!image) throw fileFailure('not_found', `${name}: no image of this name was given`);
      const key = image.sha256 ?? image.path;
      return runWithFile(context, { ...image, name }, (other) => work(other, key));
    },
  };
  let source: OpenSource | undefined;
  let input = inputOf(context, source);
  try {
    const operation = findOperation(job.operation) ?? (await findInternal(job.operation));
    if (!operation) throw new Failure('unknown', `no operation is called ${job.operation}`);
    source = openSource(job.source);
    checkFileSize(source.size, limits);
    input = inputOf(context, source);
    const result = await operation.run(input, job.options as never);
    const { image, images, data, planned, warnings = [] } = result;
    const isDated = (one: OutputImage) => needsDate(one.output?.nameTemplate ?? '');
    const dates = job.taken || images?.some(isDated);
    const taken = dates ? { taken: takenOf(await readHeader(input)) } : {};
    const complete = (one: OutputImage): JobImage => ({
      ...one,
      ...taken,
      sha256: sha256Of(one.bytes),
    });
    return {
      ok: true,
      originalSize: source.size,
      warnings,
      ...(image && { image: complete(image) }),
      ...(images && { images: images.map(complete) }),
      // A result of further files is not that of the input alone, and may not be stored by its hash.
      ...(job.digest && !readsOthers && { inputSha256: sha256Of(input.file) }),
      ...(data && { data }),
      ...(planned && { planned }),
    };
  } catch (error) {
    if (error instanceof GrantExceededError) throw error;
    const { code, message } = await diagnose(error, input);
    const known = (code ?? 'processing_failed') as FileErrorCode;
    return { ok: false, originalSize: source?.size ?? 0, error: { code: known, message } };
  } finally {
    source?.close();
  }
}

/** Runs some work of a job over a second file. @throws Failure that names the file */
async function runWithFile<Result>(
  context: Context,
  { path, sha256, name }: NamedImage & { readonly name: string },
  work: (input: ImageInput) => Promise<Result>,
): Promise<Result> {
  let source: OpenSource | undefined;
  let input = inputOf(context, source);
  try {
    source = openSource({ path });
    checkFileSize(source.size, context.limits);
    input = inputOf(context, source);
    if (sha256 !== undefined && sha256Of(input.file) !== sha256) {
      throw fileFailure('read_failed', 'it was changed while the command ran; run it again');
    }
    return await work(input);
  } catch (error) {
    if (error instanceof GrantExceededError) throw error;
    const { code, message } = await diagnose(error, input);
    throw fileFailure((code ?? 'processing_failed') as FileErrorCode, `${name}: ${message}`, error);
  } finally {
    source?.close();
  }
}

/** Called by a pool's thread: moves the output's bytes to the main thread. */
export default async function run(job: Job): Promise<JobResult> {
  return moveResult(await runJob(job), (result) => result);
}
