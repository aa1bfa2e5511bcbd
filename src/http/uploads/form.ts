import type { FastifyRequest } from 'fastify';
import { codedFailure, Failure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { sizeText } from '../../images/byte-size.ts';
import type { SentFile } from '../../media/task/call.ts';
import { type Field, fromText } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { handsOver } from '../../store/nodes.ts';
import { requestTooLarge, shuttingDown } from '../responses/errors.ts';
import {
  type FileField,
  type FormShape,
  type LimitedParts,
  limitedParts,
  type Part,
  valueBytesOf,
} from './parts.ts';
import type { Spool, Upload, Uploads } from './spool.ts';

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

/**
 * Reads a multipart form, writing files to disk as they arrive. The first fault ends it; the rest of the
 * body is discarded. The files are deleted after the work.
 *
 * @param signal aborts when the client disconnects
 * @throws Failure: 400 with `param`, 413 for too many bytes, 415 for another media type
 */
export async function withForm<Result>(
  request: FastifyRequest,
  shape: FormShape,
  { spool, signal }: { readonly spool: Spool; readonly signal: AbortSignal },
  work: (form: Form, uploads: Uploads) => Promise<Result>,
): Promise<Result> {
  const uploads = spool.uploads(request.holder.account.id);
  try {
    return await work(await readForm(request, shape, uploads, signal), uploads);
  } finally {
    await uploads.discard();
  }
}

async function readForm(
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
      if (field && !(field.orText && part.type === 'field')) {
        const received = files.get(field.name)!;
        const file = await readFile(part, received.length, field, shape, uploads, parts);
        if (file) received.push(file);
        continue;
      }
      const list = listName(fieldname, shape);
      if (list !== undefined) {
        const items = lists.get(list) ?? [];
        if (items.length === shape.lists!.maxItems) {
          throw invalid(list, `expected at most ${items.length} texts, received more`);
        }
        const text = fieldText(part, list, shape);
        if (text !== '') lists.set(list, [...items, text]);
      } else {
        const name = fieldName(part, shape);
        if (!shape.fields.includes(name)) {
          unknown.add(name);
          continue;
        }
        if (fields.has(name)) throw invalid(name, 'expected once, received twice');
        fields.set(name, await textOf(part, name, shape, parts));
      }
    }
    for (const field of shape.files) {
      if (files.get(field.name)!.length >= field.min) continue;
      throw invalid(field.name, `expected ${countText(field)}, received none`);
    }
    // Browsers and Swagger UI also send empty fields.
    for (const [name, text] of fields) if (text === '') fields.delete(name);
    return { files, fields, lists, unknown };
  } finally {
    parts.end();
  }
}

interface FormContext {
  readonly draining: AbortSignal;
  readonly store: Parameters<typeof handsOver>[0];
  readonly spool: Spool;
}

/** Checks a form, or JSON in its place, before its body is read. @throws Failure 413, 415 or 503 */
export function admitForm(
  { draining, store, spool }: FormContext,
  shape: FormShape,
  json?: RegExp,
) {
  return async (request: FastifyRequest) => {
    if (draining.aborted && !handsOver(store)) throw shuttingDown();
    if (!json?.test(request.headers['content-type'] ?? '')) checkFormHeaders(request, shape, spool);
  };
}

/** Checks the headers of a form before its body is read. @throws Failure 413, 415, `overloaded` or `too_many_large_requests` */
export function checkFormHeaders(
  { headers, holder }: FastifyRequest,
  { requestBytes }: FormShape,
  spool: Spool,
): void {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw codedFailure('unsupported_media_type', 'Content-Type: expected multipart/form-data');
  }
  if (!/;\s*boundary=("[^"]+"|[^\s;"]+)/i.test(type)) {
    throw codedFailure('malformed_form', 'Content-Type: expected a boundary');
  }
  const length = Number(headers['content-length'] ?? 0);
  if (length > requestBytes) throw requestTooLarge(requestBytes);
  spool.checkRoom(holder.account.id, length);
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
    throw invalid(name, 'expected a file, received a text without filename');
  }
  const filename = filenameOf(part.filename ?? '');
  if (filename.length > MAX_FILENAME_LENGTH) {
    throw invalid(name, `expected file names of at most ${MAX_FILENAME_LENGTH} characters`);
  }
  const tooMany = () => invalid(name, `expected ${countText(field)}, received more`);
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
  throw invalid(shown, `unknown; expected one of ${known}`);
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
    if (bytes > most) throw invalid(name, `expected at most ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function fieldText(part: Part, name: string, shape: FormShape): string {
  if (part.type === 'file') throw invalid(name, 'expected a text, received a file');
  if (part.valueTruncated) throw invalid(name, `expected at most ${valueBytesOf(shape)} bytes`);
  // The parser parses a part of type application/json.
  if (typeof part.value === 'string') return part.value;
  const text = valueOr(() => JSON.stringify(part.value), null);
  if (text === null) throw invalid(name, 'nested too deep');
  return text;
}

/** The texts of a form's fields, in the types that JSON would have. Unknown fields have no text. */
export function valuesOf({ fields, lists, unknown }: Form, declared: readonly Field[]) {
  const ignored = [...unknown].map((name) => [name, ''] as const);
  const values: Record<string, unknown> = Object.fromEntries([...fields, ...lists, ...ignored]);
  for (const field of declared) {
    const text = fields.get(field.name);
    if (text !== undefined) values[field.name] = fromText(field, text);
  }
  return values;
}

/** The files of a form's field. @throws Failure 413 if one was too large to be kept */
export function sentFiles({ files }: Form, name: string, { fileBytes }: FormShape): SentFile[] {
  return files
    .get(name)!
    .map((file, index, all) =>
      keptFile(file, all.length === 1 ? name : `${name}[${index}]`, fileBytes),
    );
}

/** A file that was kept. @throws Failure 413 `file_too_large` */
export function keptFile({ path, size }: Upload, param: string, most: number): SentFile {
  if (path !== null && size <= most) return { path, size };
  const limit = `${sizeText(most)} (${most} bytes)`;
  throw codedFailure(
    'file_too_large',
    `${param}: expected at most ${limit}, received ${size} bytes`,
    { param },
  );
}
