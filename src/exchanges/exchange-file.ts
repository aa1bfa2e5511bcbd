import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { tryParseJson } from '../schema/json.ts';
import type { JsonValue } from './canonical-json.ts';
import { cutInto, type Exchange } from './exchange.ts';

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
  if (!isUtf8(bytes)) return { blob: addBlob(bytes, contentType, blobs) };
  const text = bytes.toString();
  const value = tryParseJson(text, Infinity) as JsonValue | undefined;
  const indent = [0, 2, 4].find((spaces) => JSON.stringify(value, null, spaces) === text);
  if (typeof value !== 'object' || indent === undefined) {
    return { text: text.includes('\n') ? text.split('\n') : text };
  }
  return { json: inLines(value, minBlob, blobs), ...(indent > 0 && { indent }) };
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

function addBlob(bytes: Buffer, contentType: string | undefined, blobs: Map<string, Buffer>) {
  const extension = /^(?:audio|image|video)\/([a-z\d]{2,4})\b/.exec(contentType ?? '')?.[1];
  const name = `${digestOf(bytes)}.${extension ?? 'bin'}`;
  blobs.set(name, bytes);
  return name;
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
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
    blob: v.optional(v.string()),
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
  const unreadable = (position: number, message: string, cause?: unknown) => {
    const line = text.slice(0, position).split('\n').length;
    const options = { code: 'cassette_unreadable', cause } as const;
    return new Failure('invalid_request', `${file}:${line}: ${message}`, options);
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const position = Number(/position (\d+)/.exec(String(cause))?.[1] ?? text.length);
    throw unreadable(position, 'expected JSON; the file may be cut off', cause);
  }
  const result = v.safeParse(exchangeSchema, value);
  if (!result.success) {
    const [{ path = [], message }] = result.issues;
    const names = path.map(({ key }) => String(key));
    const at = positionOf(text, names);
    if (names[0] !== 'format') throw unreadable(at, `${names.join('.')}: ${message}`);
    const format = String((value as { format?: unknown }).format);
    const isNewer = /^oriel-exchange\/\d+$/.test(format);
    const expected = isNewer
      ? `expected the format ${FORMAT}, found ${format} of a newer version of Oriel`
      : `expected a recording of Oriel, "format": "${FORMAT}"`;
    throw unreadable(at, expected);
  }
  const { request, response } = result.output;
  const { status, headers, times, end } = response;
  const body = bytesOf(response, (name) => {
    const at = positionOf(text, ['response']);
    if (!/^[0-9a-f]{32}\.[a-z0-9]{2,4}$/.test(name)) throw unreadable(at, 'expected a file name');
    let bytes: Buffer;
    try {
      bytes = blob(name);
    } catch (cause) {
      throw unreadable(at, `the file ${name} beside it cannot be read`, cause);
    }
    if (name.startsWith(digestOf(bytes))) return bytes;
    throw unreadable(at, `the file ${name} beside it was changed or cut off`);
  });
  const lengths = numbersOf(response.chunks);
  const sum = lengths.reduce((total, length) => total + length, 0);
  if (sum !== body.length) {
    throw unreadable(
      positionOf(text, ['response', 'chunks']),
      `the chunks have ${sum} bytes in all, and the body ${body.length}; write "${body.length}" after a change by hand`,
    );
  }
  const chunks = cutInto(body, lengths);
  const canonical = { ...request, body: fromLines(request.body, () => Buffer.alloc(0)) };
  return { request: canonical, answer: { status, headers, chunks, times: numbersOf(times), end } };
}

type ResponsePart = v.InferOutput<typeof exchangeSchema>['response'];

function bytesOf(
  { json: value, indent, text = '', blob }: ResponsePart,
  read: (name: string) => Buffer,
): Buffer {
  if (blob !== undefined) return read(blob);
  if (value === undefined) return Buffer.from(typeof text === 'string' ? text : text.join('\n'));
  return Buffer.from(JSON.stringify(fromLines(value, read), null, indent));
}

const numbersOf = (text: string): number[] => (text === '' ? [] : text.split(' ').map(Number));

/** The position of a member, by the names that lead to it; the nearest that is there. */
function positionOf(text: string, names: readonly string[]): number {
  return names.reduce((at, name) => Math.max(at, text.indexOf(`"${name}":`, at)), 0);
}
