import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { Failure } from '../src/failure.ts';
import { fileFailure } from '../src/images/file-error.ts';
import type { Source } from '../src/operations/definition/job.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'too many symbolic links',
};

function readFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  const missing = code === 'ENOENT' || code === 'ENOTDIR';
  return fileFailure(
    missing ? 'not_found' : 'read_failed',
    `cannot be read: ${REASONS[code] ?? message}`,
    error,
  );
}

/** An open input of a job. */
export interface OpenSource {
  /** Bytes. */
  readonly size: number;
  /** All bytes. Those of a file are in a pooled buffer, which is reused after `close`. */
  read(): Uint8Array;
  /** Bytes from a place on, in memory of their own; fewer at the end. */
  part(at: number, length: number): Buffer;
  close(): void;
}

/** @throws Failure `not_found`, `is_directory` or `read_failed` */
export function openSource(source: Source): OpenSource {
  if ('path' in source) return openFile(source.path);
  const { bytes } = source;
  const part = (at: number, length: number) => Buffer.from(bytes.subarray(at, at + length));
  return { size: bytes.byteLength, read: () => bytes, part, close() {} };
}

/** Buffers that no job uses, the largest first. */
const idle: Uint8Array[] = [];
const MAX_IDLE = 4;
const SIZE_STEP = 512 * 1024;

/** Takes a pooled buffer. The garbage collector would free the memory of files too late. */
function takeBuffer(size: number): Uint8Array {
  const found = idle.findIndex((buffer) => buffer.byteLength >= size);
  // Rounded up, so that files of similar sizes share a buffer.
  if (found < 0) return new Uint8Array(Math.ceil((size + 1) / SIZE_STEP) * SIZE_STEP);
  return idle.splice(found, 1)[0]!;
}

function returnBuffer(buffer: Uint8Array): void {
  idle.push(buffer);
  idle.sort((one, other) => other.byteLength - one.byteLength);
  idle.length = Math.min(idle.length, MAX_IDLE);
}

/**
 * Checks size and type of the open file, so that a file that is replaced meanwhile does not pass a
 * limit. Opened without blocking, because opening a pipe would wait for its writer.
 */
function openFile(path: string): OpenSource {
  let descriptor: number | undefined;
  let buffer: Uint8Array | undefined;
  const close = () => {
    if (descriptor !== undefined) closeSync(descriptor);
    if (buffer) returnBuffer(buffer);
    descriptor = undefined;
    buffer = undefined;
  };
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) throw fileFailure('is_directory', 'cannot be read: it is a folder');
    if (!stat.isFile()) throw fileFailure('read_failed', 'cannot be read: not a regular file');
    const read = (from: number) => {
      buffer = takeBuffer(stat.size);
      let length = 0;
      while (length < stat.size) {
        const count = readSync(from, buffer, length, stat.size - length, null);
        if (count === 0) break;
        length += count;
      }
      return buffer.subarray(0, length);
    };
    const opened = descriptor;
    return {
      size: stat.size,
      read() {
        try {
          return read(opened);
        } catch (error) {
          throw readFailure(error);
        }
      },
      part(at, length) {
        const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, stat.size - at)));
        try {
          return bytes.subarray(0, readSync(opened, bytes, 0, bytes.length, at));
        } catch (error) {
          throw readFailure(error);
        }
      },
      close,
    };
  } catch (error) {
    close();
    throw readFailure(error);
  }
}
