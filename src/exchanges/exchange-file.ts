import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { Failure } from '../failure.ts';
import type { JsonValue } from './canonical-json.ts';
import type { CanonicalRequest, Exchange, RecordedAnswer } from './exchange.ts';

/** The first member of every file. Another number is another format. */
const FORMAT = 'oriel-exchange/1';

/** Shorter base64 of a cassette's answer is left in its text. */
const MIN_BLOB = 1024;

/** An exchange as text, and the bytes that stand beside it, by name. */
export interface EncodedExchange {
  readonly text: string;
  readonly blobs: ReadonlyMap<string, Buffer>;
}

/**
 * Encodes an exchange as JSON that is read and compared line by line: texts of several lines are lists of lines, bytes
 * stand beside it.
 *
 * @param minBlob characters from which base64 in an answer is a file of its own
 */
export function encodeExchange(
  { request, answer }: Exchange,
  minBlob: number = MIN_BLOB,
): EncodedExchange {
  const blobs = new Map<string, Buffer>();
  const { status, headers, chunks, times, end } = answer;
  const whole = Buffer.concat(chunks);
  const file = {
    format: FORMAT,
    request: { ...request, body: inLines(request.body, Infinity, blobs) },
    response: {
      status,
      headers,
      ...bodyOf(whole, headers['content-type'], minBlob, blobs),
      // On one line: most answers to streams have hundreds.
      chunks: chunks.map(({ length }) => length).join(' '),
      times: times.join(' '),
      end,
    },
  };
  return { text: `${JSON.stringify(file, null, 2)}\n`, blobs };
}

/** The body of an answer: JSON, a text, or bytes. Each can be written back byte by byte. */
function bodyOf(
  bytes: Buffer,
  contentType: string | undefined,
  minBlob: number,
  blobs: Map<string, Buffer>,
): Record<string, unknown> {
  const text = bytes.toString();
  if (!Buffer.from(text).equals(bytes)) return { blob: addBlob(bytes, contentType, blobs) };
  const json = jsonOf(text);
  if (json === null) return { text: text.includes('\n') ? text.split('\n') : text };
  return {
    json: inLines(json.value, minBlob, blobs),
    ...(json.indent > 0 && { indent: json.indent }),
  };
}

/** The value of a JSON text, where that can be written back byte by byte. */
function jsonOf(text: string): { readonly value: JsonValue; readonly indent: number } | null {
  if (!/^[[{]/.test(text)) return null;
  try {
    const value = JSON.parse(text) as JsonValue;
    const indent = [0, 2, 4].find((spaces) => JSON.stringify(value, null, spaces) === text);
    return indent === undefined ? null : { value, indent };
  } catch {
    return null;
  }
}

/** Replaces texts of several lines by lists of lines, and long base64 by the name of a file. */
function inLines(value: JsonValue, minBlob: number, blobs: Map<string, Buffer>): JsonValue {
  if (typeof value === 'string') {
    if (value.includes('\n')) return { $lines: value.split('\n') };
    if (value.length < minBlob) return value;
    const bytes = Buffer.from(value, 'base64');
    if (bytes.toString('base64') !== value) return value;
    return { $base64: addBlob(bytes, undefined, blobs) };
  }
  if (Array.isArray(value)) return value.map((item) => inLines(item, minBlob, blobs));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    inLines(member, minBlob, blobs),
  ]);
  const object = Object.fromEntries(members) as JsonValue;
  // An object that looks like one of these.
  return members.some(([name]) => String(name).startsWith('$')) ? { $object: object } : object;
}

function fromLines(value: JsonValue, blob: (name: string) => Buffer): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => fromLines(item, blob));
  if (typeof value !== 'object' || value === null) return value;
  const { $lines, $base64, $object } = value as { readonly [name: string]: JsonValue };
  if (Array.isArray($lines)) return $lines.join('\n');
  if (typeof $base64 === 'string') return blob($base64).toString('base64');
  const members = Object.entries(($object ?? value) as object);
  return Object.fromEntries(members.map(([name, member]) => [name, fromLines(member, blob)]));
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};

function addBlob(bytes: Buffer, contentType: string | undefined, blobs: Map<string, Buffer>) {
  const [mediaType = ''] = (contentType ?? '').split(';');
  const hash = createHash('sha256').update(bytes).digest('hex');
  const name = `${hash.slice(0, 32)}.${EXTENSIONS[mediaType] ?? 'bin'}`;
  blobs.set(name, bytes);
  return name;
}

const lines = v.union([v.string(), v.array(v.string())]);
const numbers = v.pipe(v.string(), v.regex(/^(\d{1,10}( \d{1,10})*)?$/, 'expected numbers'));
const json = v.unknown() as v.GenericSchema<unknown, JsonValue>;

const exchangeSchema = v.object({
  format: v.literal(FORMAT),
  request: v.object({
    model: v.string(),
    method: v.string(),
    path: v.string(),
    headers: v.record(v.string(), v.string()),
    body: json,
  }),
  response: v.object({
    status: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(599)),
    headers: v.record(v.string(), v.string()),
    json: v.optional(json),
    indent: v.optional(v.picklist([2, 4])),
    text: v.optional(lines),
    blob: v.optional(
      v.pipe(v.string(), v.regex(/^[0-9a-f]{32}\.[a-z0-9]{2,4}$/, 'expected a file name')),
    ),
    chunks: numbers,
    times: numbers,
    end: v.union([
      v.picklist(['complete', 'abandoned']),
      v.object({ type: v.string(), code: v.nullable(v.string()), message: v.string() }),
    ]),
  }),
});

/**
 * Decodes the text of an exchange.
 *
 * @param file its name, for failures
 * @param blob reads a file beside it
 * @throws Failure invalid_request, code `cassette_unreadable`, which names the file and the line
 */
export function decodeExchange(
  text: string,
  file: string,
  blob: (name: string) => Buffer,
): Exchange {
  const value = parsed(text, file);
  const result = v.safeParse(exchangeSchema, value);
  if (!result.success) {
    const [{ path = [], message }] = result.issues;
    const names = path.map(({ key }) => String(key));
    const at = `${file}:${lineOf(text, names)}`;
    const format = (value as { format?: unknown } | null)?.format;
    if (names[0] !== 'format') throw unreadable(`${at}: ${names.join('.')}: ${message}`);
    const isNewer = typeof format === 'string' && /^oriel-exchange\/\d+$/.test(format);
    throw unreadable(
      isNewer
        ? `${at}: expected the format ${FORMAT}, found ${format} of a newer version of Oriel`
        : `${at}: expected a recording of Oriel, "format": "${FORMAT}"`,
    );
  }
  const { request, response } = result.output;
  const { status, headers, times, end } = response;
  const body = bytesOf(response, (name) =>
    readBlob(name, `${file}:${lineOf(text, ['response'])}`, blob),
  );
  const lengths = numbersOf(response.chunks);
  const sum = lengths.reduce((total, length) => total + length, 0);
  if (sum !== body.length) {
    const at = `${file}:${lineOf(text, ['response', 'chunks'])}`;
    throw unreadable(
      `${at}: the chunks have ${sum} bytes in all, and the body ${body.length}; write "${body.length}" after a change by hand`,
    );
  }
  let start = 0;
  const chunks = lengths.map((length) => {
    const end = start + length;
    const chunk = body.subarray(start, end);
    start = end;
    return chunk;
  });
  const answer: RecordedAnswer = { status, headers, chunks, times: numbersOf(times), end };
  const canonical: CanonicalRequest = {
    ...request,
    body: fromLines(request.body, () => Buffer.alloc(0)),
  };
  return { request: canonical, answer };
}

type ResponsePart = v.InferOutput<typeof exchangeSchema>['response'];

function bytesOf(
  { json: value, indent, text, blob }: ResponsePart,
  read: (name: string) => Buffer,
): Buffer {
  if (blob !== undefined) return read(blob);
  if (text !== undefined) return Buffer.from(typeof text === 'string' ? text : text.join('\n'));
  if (value === undefined) return Buffer.alloc(0);
  return Buffer.from(JSON.stringify(fromLines(value, read), null, indent ?? 0));
}

function readBlob(name: string, at: string, blob: (name: string) => Buffer): Buffer {
  if (!/^[0-9a-f]{32}\.[a-z0-9]{2,4}$/.test(name)) throw unreadable(`${at}: expected a file name`);
  let bytes: Buffer;
  try {
    bytes = blob(name);
  } catch (cause) {
    throw unreadable(`${at}: the file ${name} beside it cannot be read`, cause);
  }
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (hash.startsWith(name.slice(0, 32))) return bytes;
  throw unreadable(`${at}: the file ${name} beside it was changed or cut off`);
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const { message } = cause as SyntaxError;
    const position = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
    const line = text.slice(0, position).split('\n').length;
    throw unreadable(`${file}:${line}: expected JSON; the file may be cut off`, cause);
  }
}

function numbersOf(text: string): number[] {
  return text === '' ? [] : text.split(' ').map(Number);
}

/** The line of a member, by the names that lead to it; the nearest that is there. */
function lineOf(text: string, names: readonly string[]): number {
  let at = 0;
  for (const name of names) {
    const next = text.indexOf(`"${name}":`, at);
    if (next !== -1) at = next;
  }
  return text.slice(0, at).split('\n').length;
}

function unreadable(message: string, cause?: unknown): Failure {
  return new Failure('invalid_request', message, { code: 'cassette_unreadable', cause });
}
