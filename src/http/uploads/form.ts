import type { MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { requestTooLarge } from '../errors.ts';
import { abortable } from '../transport/client-disconnect.ts';
import type { Upload, Uploads } from './spool.ts';

/** A field of files, which may be repeated; its name followed by `[]` is taken too. */
export interface FileField {
  readonly name: string;
  /** How many files it may have. */
  readonly least: 0 | 1;
  readonly most: number;
}

/** What a multipart form may hold. */
export interface FormShape {
  readonly files: readonly FileField[];
  /** Bytes of one file. A larger one is reported with its size and not kept. */
  readonly fileBytes: number;
  /** Bytes of the whole request body. */
  readonly requestBytes: number;
  /** The names of the other fields, each at most once. */
  readonly fields: readonly string[];
  /** Bytes of one such field; by default 8192. */
  readonly valueBytes?: number;
}

export interface FormFile extends Upload {
  /** As the client wrote it: a path perhaps, anything perhaps. */
  readonly filename: string;
}

export interface Form {
  /** By the names of their fields: each field is there, if only as an empty list. */
  readonly files: ReadonlyMap<string, readonly FormFile[]>;
  /** Texts by the names of their fields; fields that are empty are left out. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Characters of a file's name, and bytes of a part's headers and of a field's value. */
const LONGEST_FILENAME = 1024;
const LONGEST_HEADERS = 16 * 1024;
const LONGEST_VALUE = 8192;
/** Parts that a form may have beside those that mean something: browsers send files not chosen. */
const SPARE_PARTS = 20;

type Part = MultipartFile | MultipartValue<string>;

/**
 * Reads a multipart form, files going to disk as they arrive. Whatever is wrong with it is told as
 * soon as it is seen; the rest of the body is then left unread.
 *
 * @param signal aborts when the client disconnects
 * @throws Failure: 400 with `param`, 413 for too many bytes, 415 for another media type
 */
export async function readForm(
  request: FastifyRequest,
  shape: FormShape,
  uploads: Uploads,
  signal: AbortSignal,
): Promise<Form> {
  const guard = guardBody(request, shape, signal);
  const files = new Map(shape.files.map(({ name }) => [name, [] as FormFile[]]));
  const fields = new Map<string, string>();
  try {
    for (;;) {
      const part = await guard.next();
      if (part === undefined) break;
      const { fieldname } = part;
      const place = shape.files.find(({ name }) => fieldname === name || fieldname === `${name}[]`);
      if (place) {
        const received = files.get(place.name)!;
        const file = await readFile(part, received.length, place, shape, uploads, guard);
        if (file) received.push(file);
      } else {
        const name = fieldName(part, shape);
        if (fields.has(name)) throw fault(name, 'expected once, received twice');
        fields.set(name, fieldText(part, name, shape));
      }
    }
    for (const place of shape.files) {
      if (files.get(place.name)!.length >= place.least) continue;
      throw fault(place.name, `expected ${howMany(place)}, received none`);
    }
    // Browsers and Swagger UI send the fields that were left empty, too.
    for (const [name, text] of fields) if (text === '') fields.delete(name);
    return { files, fields };
  } finally {
    guard.end();
  }
}

/** Checks what can be told of a body before any of it is read. @throws Failure 413 or 415 */
export function checkFormHeaders({ headers }: FastifyRequest, { requestBytes }: FormShape): void {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new Failure('invalid_request', 'Content-Type: expected multipart/form-data', {
      code: 'unsupported_media_type',
      status: 415,
    });
  }
  if (!/;\s*boundary=("[^"]+"|[^\s;"]+)/i.test(type)) {
    throw new Failure('invalid_request', 'Content-Type: expected a boundary', {
      code: 'malformed_form',
    });
  }
  if (Number(headers['content-length'] ?? 0) > requestBytes) throw requestTooLarge(requestBytes);
}

function fault(name: string, message: string): Failure {
  return new Failure('invalid_request', `${name}: ${message}`, { param: name });
}

/** The parts of a body under guard: what is too much, or no form, ends their reading at once. */
interface Guard {
  /** The next part, or undefined at the end. */
  next(): Promise<Part | undefined>;
  /** The bytes of a part that is a file. */
  bytesOf(part: MultipartFile): AsyncIterable<Uint8Array>;
  end(): void;
}

function guardBody(request: FastifyRequest, shape: FormShape, disconnect: AbortSignal): Guard {
  const body = request.raw;
  const tooMuch = new AbortController();
  const stop = AbortSignal.any([disconnect, tooMuch.signal]);
  let arrived = 0;
  const count = (chunk: Uint8Array) => {
    arrived += chunk.byteLength;
    if (arrived > shape.requestBytes) tooMuch.abort(requestTooLarge(shape.requestBytes));
  };
  const parts = request.parts({
    preservePath: true,
    // A part in the place of files is one, whatever it is called and says to be.
    isPartAFile: (name, type, filename) =>
      filename !== undefined || type === 'application/octet-stream' || name === undefined,
    limits: {
      parts: mostParts(shape),
      // Counted by ourselves: a file that is too large is only its own error.
      fileSize: Number.MAX_SAFE_INTEGER,
      fieldSize: valueBytesOf(shape),
      headerSize: LONGEST_HEADERS,
    },
  }) as AsyncGenerator<Part>;
  /** The parser's complaint, unless it follows from something that we know better. */
  const reasonOf = (error: unknown): unknown => {
    if (stop.aborted) return stop.reason;
    if (error instanceof Failure) return error;
    const tooMany = (error as { code?: string }).code === 'FST_PARTS_LIMIT';
    const message = tooMany
      ? 'the form has too many parts'
      : 'the body is no well-formed multipart/form-data';
    return new Failure('invalid_request', message, { code: 'malformed_form', cause: error });
  };

  // In one turn with the first `next`, which pipes the body on: or bytes would be lost.
  body.on('data', count);
  return {
    async next() {
      try {
        const { value, done } = await abortable(parts.next(), stop);
        return done ? undefined : value;
      } catch (error) {
        throw reasonOf(error);
      }
    },
    async *bytesOf({ file }) {
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
    end() {
      body.off('data', count);
      body.unpipe();
      // What is left unread would keep the connection from its next request.
      body.resume();
    },
  };
}

/** One part more than may be is read, so that it is told of as what it is. */
function mostParts({ files, fields }: FormShape): number {
  const most = files.reduce((sum, field) => sum + field.most, 0);
  return most + 1 + fields.length + SPARE_PARTS;
}

async function readFile(
  part: Part,
  already: number,
  place: FileField,
  { fileBytes }: FormShape,
  uploads: Uploads,
  guard: Guard,
): Promise<FormFile | undefined> {
  const { name, most } = place;
  if (part.type === 'field') {
    if (part.value === '') return undefined;
    throw fault(name, 'expected a file, received a text without filename');
  }
  const filename = filenameOf(part.filename ?? '');
  if (filename.length > LONGEST_FILENAME) {
    throw fault(name, `expected file names of at most ${LONGEST_FILENAME} characters`);
  }
  const tooMany = () => fault(name, `expected ${howMany(place)}, received more`);
  if (already === most && filename !== '') throw tooMany();
  const upload = await uploads.receive(guard.bytesOf(part), fileBytes);
  // What a browser sends for a field in which no file was chosen.
  if (filename === '' && upload.size === 0) return undefined;
  if (already === most) throw tooMany();
  return { filename, ...upload };
}

function howMany({ least, most }: FileField): string {
  if (most === 1) return least === 1 ? 'one file' : 'one file at the most';
  return `${least} to ${most} files`;
}

/** Browsers write three characters of a file's name as escapes (WHATWG HTML, multipart/form-data). */
const ESCAPES: Readonly<Record<string, string>> = { '%22': '"', '%0d': '\r', '%0a': '\n' };

function filenameOf(sent: string): string {
  return sent.replace(/%(22|0D|0A)/gi, (written) => ESCAPES[written.toLowerCase()]!);
}

function fieldName({ fieldname }: Part, { files, fields }: FormShape): string {
  if (fields.includes(fieldname)) return fieldname;
  const name = String(fieldname ?? '');
  const shown = name.length > 60 ? `${name.slice(0, 57)}...` : name;
  const known = [...files.map((file) => file.name), ...fields].join(', ');
  if (shown === '') {
    throw new Failure('invalid_request', `a field has no name; expected one of ${known}`);
  }
  throw fault(shown, `unknown; expected one of ${known}`);
}

function valueBytesOf({ valueBytes = LONGEST_VALUE }: FormShape): number {
  return valueBytes;
}

function fieldText(part: Part, name: string, shape: FormShape): string {
  if (part.type === 'file') throw fault(name, 'expected a text, received a file');
  if (part.valueTruncated) throw fault(name, `expected at most ${valueBytesOf(shape)} bytes`);
  // A value that says to be JSON arrives parsed.
  if (typeof part.value === 'string') return part.value;
  try {
    return JSON.stringify(part.value);
  } catch {
    throw fault(name, 'nested too deep');
  }
}
