import type { MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { named } from '../../schema/fields.ts';
import { requestTooLarge } from '../responses/errors.ts';
import { abortable } from '../transport/client-disconnect.ts';
import type { Upload, Uploads } from './spool.ts';

/** A field of files, which may be repeated; its name followed by `[]` is accepted too. */
export interface FileField {
  readonly name: string;
  /** Number of files. */
  readonly min: 0 | 1;
  readonly max: number;
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

export interface FormFile extends Upload {
  /** As sent by the client: any text, perhaps a path. */
  readonly filename: string;
}

export interface Form {
  /** Files by field name; a field without files has an empty list. */
  readonly files: ReadonlyMap<string, readonly FormFile[]>;
  /** Texts by field name, without empty ones. */
  readonly fields: ReadonlyMap<string, string>;
  /** Texts of repeated fields by field name, without empty ones; a field that was not sent is missing. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  /** Names of unknown texts. */
  readonly unknown: ReadonlySet<string>;
}

/** Characters of a file's name. */
const MAX_FILENAME_LENGTH = 1024;
/** Bytes of a part's headers. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Bytes of a text field. */
const DEFAULT_VALUE_BYTES = 8192;
/** Parts beside the known fields: browsers send a part for each file input without a file. */
const SPARE_PARTS = 20;

type Part = MultipartFile | MultipartValue<string>;

/**
 * Reads a multipart form, writing files to disk as they arrive. The first fault ends it; the rest of the
 * body is discarded.
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
  const parts = limitedParts(request, shape, signal);
  const files = new Map(shape.files.map(({ name }) => [name, [] as FormFile[]]));
  const fields = new Map<string, string>();
  const lists = new Map<string, string[]>();
  const unknown = new Set<string>();
  try {
    for (;;) {
      const part = await parts.next();
      if (part === undefined) break;
      const { fieldname } = part;
      const field = shape.files.find(({ name }) => fieldname === name || fieldname === `${name}[]`);
      if (field) {
        const received = files.get(field.name)!;
        const file = await readFile(part, received.length, field, shape, uploads, parts);
        if (file) received.push(file);
        continue;
      }
      const list = listName(fieldname, shape);
      if (list !== undefined) {
        const items = lists.get(list) ?? [];
        if (items.length === shape.lists!.maxItems) {
          throw fault(list, `expected at most ${items.length} texts, received more`);
        }
        const text = fieldText(part, list, shape);
        if (text !== '') lists.set(list, [...items, text]);
      } else {
        const name = fieldName(part, shape);
        if (!shape.fields.includes(name)) {
          unknown.add(name);
          continue;
        }
        if (fields.has(name)) throw fault(name, 'expected once, received twice');
        fields.set(name, await textOf(part, name, shape, parts));
      }
    }
    for (const field of shape.files) {
      if (files.get(field.name)!.length >= field.min) continue;
      throw fault(field.name, `expected ${countText(field)}, received none`);
    }
    // Browsers and Swagger UI also send empty fields.
    for (const [name, text] of fields) if (text === '') fields.delete(name);
    return { files, fields, lists, unknown };
  } finally {
    parts.end();
  }
}

/** Checks the headers of a form before its body is read. @throws Failure 413 or 415 */
export function checkFormHeaders({ headers }: FastifyRequest, { requestBytes }: FormShape): void {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new Failure('invalid_request', 'Content-Type: expected multipart/form-data', {
      code: 'unsupported_media_type',
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
  return new Failure('invalid_request', named(name, message), { param: name });
}

/** The parts of a body. Reading fails as soon as the body is too large or not well-formed. */
interface LimitedParts {
  /** The next part, or undefined at the end. */
  next(): Promise<Part | undefined>;
  /** The bytes of a file. */
  bytesOf(part: MultipartFile): AsyncIterable<Uint8Array>;
  /** Discards the rest of the body. */
  end(): void;
}

function limitedParts(
  request: FastifyRequest,
  shape: FormShape,
  disconnect: AbortSignal,
): LimitedParts {
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
    return new Failure('invalid_request', message, { code: 'malformed_form', cause: error });
  };

  // In the same tick as the first `next`, which pipes the body to the parser: else bytes are lost.
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
      // The connection's next request comes after the rest of this body.
      body.resume();
    },
  };
}

/** One part more than is allowed, so that its error can name the field. */
function maxParts({ files, fields, lists }: FormShape): number {
  const max = files.reduce((sum, field) => sum + field.max, 0);
  const items = lists ? lists.names.length * lists.maxItems : 0;
  return max + 1 + fields.length + items + SPARE_PARTS;
}

async function readFile(
  part: Part,
  alreadyReceived: number,
  field: FileField,
  { fileBytes }: FormShape,
  uploads: Uploads,
  parts: LimitedParts,
): Promise<FormFile | undefined> {
  const { name, max } = field;
  if (part.type === 'field') {
    if (part.value === '') return undefined;
    throw fault(name, 'expected a file, received a text without filename');
  }
  const filename = filenameOf(part.filename ?? '');
  if (filename.length > MAX_FILENAME_LENGTH) {
    throw fault(name, `expected file names of at most ${MAX_FILENAME_LENGTH} characters`);
  }
  const tooMany = () => fault(name, `expected ${countText(field)}, received more`);
  if (alreadyReceived === max && filename !== '') throw tooMany();
  const upload = await uploads.receive(parts.bytesOf(part), fileBytes);
  // A browser sends this for a file input without a file.
  if (filename === '' && upload.size === 0) return undefined;
  if (alreadyReceived === max) throw tooMany();
  return { filename, ...upload };
}

function countText({ min, max }: FileField): string {
  if (max === 1) return min === 1 ? 'one file' : 'at most one file';
  return `${min} to ${max} files`;
}

/** Browsers escape three characters of a file's name (WHATWG HTML, multipart/form-data). */
const ESCAPES: Readonly<Record<string, string>> = { '%22': '"', '%0d': '\r', '%0a': '\n' };

function filenameOf(escaped: string): string {
  return escaped.replace(/%(22|0D|0A)/gi, (sequence) => ESCAPES[sequence.toLowerCase()]!);
}

function listName(fieldname: string, { lists }: FormShape): string | undefined {
  return lists?.names.find((name) => fieldname === name || fieldname === `${name}[]`);
}

/** The name of a text, which is unknown only where the form keeps these. */
function fieldName({ fieldname, type }: Part, shape: FormShape): string {
  const { files, fields, lists, keepsUnknown } = shape;
  if (fields.includes(fieldname)) return fieldname;
  const name = String(fieldname ?? '');
  const shown = name.length > 60 ? `${name.slice(0, 57)}...` : name;
  const known = [...files.map((file) => file.name), ...fields, ...(lists?.names ?? [])].join(', ');
  if (shown === '') {
    throw new Failure('invalid_request', `a field has no name; expected one of ${known}`);
  }
  if (keepsUnknown && type === 'field') return shown;
  throw fault(shown, `unknown; expected one of ${known}`);
}

function valueBytesOf({ valueBytes = DEFAULT_VALUE_BYTES }: FormShape): number {
  return valueBytes;
}

/** The text of a field, which `curl -F recipe=@recipe.yaml` sends as a file. */
async function textOf(
  part: Part,
  name: string,
  shape: FormShape,
  parts: LimitedParts,
): Promise<string> {
  if (part.type !== 'file' || !shape.takesTextFiles) return fieldText(part, name, shape);
  const most = valueBytesOf(shape);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of parts.bytesOf(part)) {
    bytes += chunk.byteLength;
    if (bytes > most) throw fault(name, `expected at most ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function fieldText(part: Part, name: string, shape: FormShape): string {
  if (part.type === 'file') throw fault(name, 'expected a text, received a file');
  if (part.valueTruncated) throw fault(name, `expected at most ${valueBytesOf(shape)} bytes`);
  // The parser parses a part of type application/json.
  if (typeof part.value === 'string') return part.value;
  try {
    return JSON.stringify(part.value);
  } catch {
    throw fault(name, 'nested too deep');
  }
}
