import {
  createWriteStream,
  existsSync,
  futimesSync,
  statSync,
  write,
  writeFile,
  writeFileSync,
  writev,
} from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import type { OutputImage } from '../images/output.ts';
import type { BatchResult, FileRecord } from '../operations/batch.ts';
import type { Input } from './inputs.ts';
import type { OutputNames } from './naming.ts';
import { print } from './terminal.ts';
import { usageFailure } from './usage.ts';
import { existsFailure, keptOutput, type Writer } from './writer.ts';

/** Where the images of a batch go. What a method returns is added to the file's record. */
export interface Sink {
  /** Takes an image as soon as it is finished. */
  readonly deliver?: (
    input: Input,
    index: number,
    image: OutputImage,
  ) => Promise<Partial<FileRecord>>;
  /** Takes an image when its turn in the order of the inputs has come. */
  readonly append?: (input: Input, image: OutputImage) => Promise<Partial<FileRecord>>;
  readonly finish?: (result: BatchResult, parameters: unknown) => Promise<void>;
  /** Leaves no trace of what was not finished. */
  readonly abandon?: () => Promise<void>;
}

/** Bytes that reach the page cache sooner than a thread could be found to write them. */
const WRITTEN_AT_ONCE = 1024 * 1024;

/** A file for each image. */
export function fileSink(
  names: OutputNames,
  writer: Writer,
  { skipExisting, keepMtime }: { readonly skipExisting: boolean; readonly keepMtime: boolean },
): Sink {
  return {
    async deliver(input, index, image) {
      const path = names.resolve(input, index, image);
      try {
        await writer.write(path, (descriptor) => {
          const times = () => (keepMtime ? copyTimes(input, descriptor) : undefined);
          if (image.bytes.byteLength > WRITTEN_AT_ONCE) {
            return promisify(writeFile)(descriptor, image.bytes).then(times);
          }
          writeFileSync(descriptor, image.bytes);
          return times();
        });
      } catch (error) {
        const exists = error instanceof Failure && error.code === 'output_exists';
        if (!exists || !skipExisting) throw error;
        return keptOutput(path, input);
      }
      return { outputFilename: path };
    },
    abandon: () => writer.settled(),
  };
}

function copyTimes({ source }: Input, descriptor: number): undefined {
  if (!('path' in source)) return;
  const { atime, mtime } = statSync(source.path);
  futimesSync(descriptor, atime, mtime);
}

/** One image on standard output. */
export function standardOutputSink(): Sink {
  if (process.stdout.isTTY) {
    throw usageFailure('--out -: expected a file or a pipe, received a terminal');
  }
  return {
    async deliver(_input, _index, { bytes }) {
      await print(bytes);
      return { outputFilename: '-' };
    },
  };
}

/** A stream that fails closes its file whatever `autoClose` says; the writer's is not its to close. */
const LENT = { write, writev, close: (_: number, done: () => void) => done() };

/**
 * One ZIP with all images and their manifest.
 *
 * @param path a file, or `-` for standard output
 */
export async function zipSink(path: string, writer: Writer, overwrite: boolean): Promise<Sink> {
  const toStandardOutput = path === '-';
  if (toStandardOutput && process.stdout.isTTY) {
    throw usageFailure('--zip -: expected a file or a pipe, received a terminal');
  }
  if (!toStandardOutput && !overwrite && existsSync(path)) throw existsFailure(path);
  const { createZip } = await import('../operations/zip.ts');
  const zip = await createZip();
  const written = toStandardOutput
    ? pipeline(zip.stream, process.stdout, { end: false })
    : writer.write(path, (fd) => pipeline(zip.stream, createWriteStream(path, { fd, fs: LENT })));
  // Awaited at the end; until then a full disk must show as the failure of the next image.
  const broken = new Promise<never>((_, reject) => {
    written.catch(reject);
  });
  broken.catch(() => {});
  const orBroken = async <Value>(step: Promise<Value>): Promise<Value> => {
    try {
      return await Promise.race([step, broken]);
    } catch (error) {
      // Where nothing takes the archive's bytes it is aborted; the reason to tell is the writing's.
      await written;
      throw error;
    }
  };
  return {
    async append({ filename, kept }, image) {
      return { outputFilename: await orBroken(zip.add(filename, image, dirname(kept))) };
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
