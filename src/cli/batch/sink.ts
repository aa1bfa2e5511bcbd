import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { Failure } from '../../failure.ts';
import type { BatchSink } from '../../operations/batch/batch.ts';
import type { BatchResult } from '../../operations/batch/batch-record.ts';
import { digestFile } from '../../operations/cache/file-identity.ts';
import type { WrittenFile } from '../../operations/cache/result-cache.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { usageFailure } from '../command/command.ts';
import type { Input } from '../files/inputs.ts';
import type { OutputNames } from '../files/naming.ts';
import { existsFailure, keptOutput, Writer } from '../files/writer.ts';
import { print } from '../terminal/terminal.ts';
import type { Choices } from './image-choices.ts';
import { type Planned, UNCHANGED } from './image-plan.ts';
import type { Incremental } from './incremental.ts';

/** Stores the images of a batch: in files, in an archive, or on standard output. */
export interface OutputSink extends Pick<BatchSink<Planned>, 'store' | 'append'> {
  /** Completes the output after the last image. */
  readonly finish?: (result: BatchResult, parameters: unknown) => Promise<void>;
  /** Waits for files that are being written, and removes unfinished ones. */
  readonly abandon?: () => Promise<void>;
}

/** The sink that the flags ask for. @param names null where no files are written */
export async function chooseSink(
  { gives }: Pick<Operation, 'gives'>,
  names: OutputNames | null,
  { outputs, run }: Choices,
  incremental: Incremental | null,
): Promise<OutputSink> {
  if (gives === 'data' || run.dryRun) return {};
  if (names && outputs.check) return checkSink(names);
  const writer = new Writer({ overwrite: outputs.overwrite });
  if (outputs.zip !== undefined) return zipSink(outputs.zip, writer, outputs.overwrite);
  return names ? fileSink(names, writer, outputs, incremental) : standardOutputSink();
}

/** Up to so many bytes, a synchronous write is faster than handing it to a thread. */
const MAX_SYNC_WRITE_BYTES = 1024 * 1024;

/** A file for each image. */
export function fileSink(
  names: OutputNames,
  writer: Writer,
  { skipExisting, keepMtime }: { readonly skipExisting: boolean; readonly keepMtime: boolean },
  incremental: Incremental | null,
): OutputSink {
  return {
    async store(image, { input }, index) {
      const path = names.resolve(input, index, image);
      // Not noted in the cache, by which a later run could replace the user's own file.
      if (image.kept && names.isInput(path, input)) return { outputFilename: path };
      let written: WrittenFile | undefined;
      const complete = (descriptor: number): undefined => {
        if (keepMtime) copyTimes(input, descriptor);
        if (incremental) written = fs.fstatSync(descriptor, { bigint: true });
      };
      const writeContent = (descriptor: number) => {
        if (image.bytes.byteLength > MAX_SYNC_WRITE_BYTES) {
          return promisify(fs.writeFile)(descriptor, image.bytes).then(() => complete(descriptor));
        }
        fs.writeFileSync(descriptor, image.bytes);
        return complete(descriptor);
      };
      try {
        await writer.write(path, writeContent, incremental?.mayReplace(path) || undefined);
      } catch (error) {
        if (!(error instanceof Failure && error.code === 'output_exists')) throw error;
        if (skipExisting) return keptOutput(path, input);
        const size = image.bytes.byteLength;
        if (!incremental?.holds(path, { ...image, size })) throw error;
        incremental.note(path, input, image.sha256);
        return { outputFilename: path, status: 'skipped', reason: UNCHANGED };
      }
      incremental?.note(path, input, image.sha256, written);
      return { outputFilename: path };
    },
    abandon: () => writer.settled(),
  };
}

/** Compares each image with the file that would be written. */
function checkSink(names: OutputNames): OutputSink {
  return {
    async store(image, { input }, index) {
      const outputFilename = names.resolve(input, index, image);
      const size = fs.statSync(outputFilename, { throwIfNoEntry: false })?.size;
      const length = image.bytes.byteLength;
      if (size === length && digestFile(outputFilename, length)?.sha256 === image.sha256) {
        return { outputFilename, status: 'skipped', reason: UNCHANGED };
      }
      const reason =
        size === undefined
          ? { code: 'output_missing', message: 'the output is missing' }
          : { code: 'output_differs', message: 'the output differs' };
      return { outputFilename, status: 'planned', reason };
    },
  };
}

function copyTimes({ source }: Input, descriptor: number): undefined {
  if (!('path' in source)) return;
  const { atime, mtime } = fs.statSync(source.path);
  fs.futimesSync(descriptor, atime, mtime);
}

/** One image on standard output. */
function standardOutputSink(): OutputSink {
  if (process.stdout.isTTY) {
    throw usageFailure('--out -: expected a file or a pipe, received a terminal');
  }
  return {
    async store({ bytes }) {
      await print(bytes);
      return { outputFilename: '-' };
    },
  };
}

/** A stream that fails closes its file whatever `autoClose` says; here only the writer may close it. */
const WITHOUT_CLOSE = {
  write: fs.write,
  writev: fs.writev,
  close: (_: number, done: () => void) => done(),
};

/**
 * One ZIP with all images and their manifest.
 *
 * @param path a file, or `-` for standard output
 */
async function zipSink(path: string, writer: Writer, overwrite: boolean): Promise<OutputSink> {
  const toStandardOutput = path === '-';
  if (toStandardOutput && process.stdout.isTTY) {
    throw usageFailure('--zip -: expected a file or a pipe, received a terminal');
  }
  if (!toStandardOutput && !overwrite && fs.existsSync(path)) throw existsFailure(path);
  const { createZip } = await import('../../operations/batch/zip.ts');
  const zip = await createZip();
  const written = toStandardOutput
    ? pipeline(zip.stream, process.stdout, { end: false })
    : writer.write(path, (fd) =>
        pipeline(zip.stream, fs.createWriteStream(path, { fd, fs: WITHOUT_CLOSE })),
      );
  // Awaited at the end. Until then an error of the disk rejects the next `append`.
  const broken = new Promise<never>((_, reject) => {
    written.catch(reject);
  });
  broken.catch(() => {});
  const orBroken = async <Value>(step: Promise<Value>): Promise<Value> => {
    try {
      return await Promise.race([step, broken]);
    } catch (error) {
      // An archive whose bytes cannot be written is aborted; the error to report is that of the write.
      await written;
      throw error;
    }
  };
  return {
    async append(image, { input: { filename, relativePath } }, index) {
      return {
        outputFilename: await orBroken(zip.add(filename, image, index, dirname(relativePath))),
      };
    },
    async finish(result, parameters) {
      await orBroken(zip.finish(result, parameters));
      await written;
    },
    async abandon() {
      zip.stream.destroy(new Error('abandoned'));
      await written.catch(() => {});
    },
  };
}
