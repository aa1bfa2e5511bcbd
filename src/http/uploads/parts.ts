import type { MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { codedFailure, Failure } from '../../failure.ts';
import { requestTooLarge } from '../responses/errors.ts';
import { abortable } from '../transport/client-disconnect.ts';

/** A field of files, which may be repeated; its name followed by `[]` is accepted too. */
export interface FileField {
  readonly name: string;
  /** Number of files. */
  readonly min: 0 | 1;
  readonly max: number;
  /** Whether the form may have a text of this name instead. */
  readonly orText?: true;
}

/** The fields and limits of a multipart form. */
export interface FormShape {
  readonly files: readonly FileField[];
  /** Bytes of one file. A larger file is reported with its size and not kept. */
  readonly fileBytes: number;
  /** Bytes of the whole request body. */
  readonly requestBytes: number;
  /** Names of the text fields, each at most once. */
  readonly fields: readonly string[];
  /** Text fields that may be repeated; their names followed by `[]` are accepted too. */
  readonly lists?: { readonly names: readonly string[]; readonly maxItems: number };
  /** Bytes of one text field; by default 8192. */
  readonly valueBytes?: number;
  /** Whether texts may be sent as files too. */
  readonly takesTextFiles?: true;
  /** Whether unknown texts are returned, so that the caller names them with the other faults. */
  readonly keepsUnknown?: true;
}

/** Bytes of a part's headers. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Bytes of a text field. */
export const valueBytesOf = ({ valueBytes = 8192 }: FormShape): number => valueBytes;
/** Parts beside the known fields: browsers send a part for each file input without a file. */
const SPARE_PARTS = 20;

export type Part = MultipartFile | MultipartValue<string>;

/**
 * The parts of a body. Reading fails as soon as the body is too large or not well-formed.
 *
 * @param disconnect aborts when the client disconnects
 */
export function limitedParts(request: FastifyRequest, shape: FormShape, disconnect: AbortSignal) {
  const body = request.raw;
  const overLimit = new AbortController();
  const stop = AbortSignal.any([disconnect, overLimit.signal]);
  let received = 0;
  const count = (chunk: Uint8Array) => {
    received += chunk.byteLength;
    if (received > shape.requestBytes) overLimit.abort(requestTooLarge(shape.requestBytes));
  };
  const parts = request.parts({
    preservePath: true,
    // A part of type application/octet-stream is a file even without a file name.
    isPartAFile: (name, type, filename) =>
      filename !== undefined || type === 'application/octet-stream' || name === undefined,
    limits: {
      parts: maxParts(shape),
      // `receive` counts: a file that is too large fails alone, not the whole form.
      fileSize: Number.MAX_SAFE_INTEGER,
      fieldSize: valueBytesOf(shape),
      headerSize: MAX_HEADER_BYTES,
    },
  }) as AsyncGenerator<Part>;
  /** The reason for which the body was aborted, or else the parser's error. */
  const reasonOf = (error: unknown): unknown => {
    if (stop.aborted) return stop.reason;
    if (error instanceof Failure) return error;
    const tooMany = (error as { code?: string }).code === 'FST_PARTS_LIMIT';
    const message = tooMany
      ? 'the form has too many parts'
      : 'the body is not well-formed multipart/form-data';
    return codedFailure('malformed_form', message, { cause: error });
  };

  // In the same tick as the first `next`, which pipes the body to the parser: else bytes are lost.
  body.on('data', count);
  return {
    /** The next part, or undefined at the end. */
    async next(): Promise<Part | undefined> {
      try {
        const { value, done } = await abortable(parts.next(), stop);
        return done ? undefined : value;
      } catch (error) {
        throw reasonOf(error);
      }
    },
    /** The bytes of a file. */
    async *bytesOf({ file }: MultipartFile): AsyncGenerator<Uint8Array> {
      const destroy = () => file.destroy(stop.reason);
      stop.addEventListener('abort', destroy);
      try {
        for await (const chunk of file) {
          stop.throwIfAborted();
          yield chunk as Uint8Array;
        }
      } catch (error) {
        throw reasonOf(error);
      } finally {
        stop.removeEventListener('abort', destroy);
      }
    },
    /** Discards the rest of the body. */
    end(): void {
      body.off('data', count);
      body.unpipe();
      // The connection's next request comes after the rest of this body.
      body.resume();
    },
  };
}

export type LimitedParts = ReturnType<typeof limitedParts>;

/** One part more than is allowed, so that its error can name the field. */
function maxParts({ files, fields, lists }: FormShape): number {
  const max = files.reduce((sum, field) => sum + field.max, 0);
  const items = lists ? lists.names.length * lists.maxItems : 0;
  return max + 1 + fields.length + items + SPARE_PARTS;
}
