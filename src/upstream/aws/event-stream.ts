import { crc32 } from 'node:zlib';
import { codedFailure, type Failure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, objectOf, textOf } from '../../schema/untrusted.ts';

/** Bytes of a frame. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Bytes of a frame's two lengths and their checksum, and of the checksum at its end. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;

/** The type of a header whose value is a text. */
const TEXT = 7;

/** Bytes of the values of header types; null where two bytes before the value say. */
const VALUE_BYTES: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16];

function unreadable(what: string): Failure {
  return codedFailure(
    'upstream_answer_unreadable',
    'The provider sent a stream that cannot be read',
    { detail: `event stream: ${what}` },
  );
}

/** Turns frames, wherever their bytes are cut, into server-sent events: https://smithy.io/2.0/aws/amazon-eventstream.html */
export class FrameDecoder {
  /** The prelude of a frame, then the whole frame: the first `#length` bytes are there. */
  #bytes = Buffer.alloc(PRELUDE_BYTES);
  #length = 0;

  /** @throws Failure `upstream_answer_unreadable` */
  push(chunk: Buffer): string {
    let events = '';
    for (let at = 0; at < chunk.length; ) {
      const taken = chunk.copy(this.#bytes, this.#length, at);
      at += taken;
      this.#length += taken;
      if (this.#length < this.#bytes.length) break;
      const isFrame = this.#length > PRELUDE_BYTES;
      const next = Buffer.allocUnsafe(isFrame ? PRELUDE_BYTES : sizeOf(this.#bytes));
      if (isFrame) events += eventOf(this.#bytes);
      this.#length = isFrame ? 0 : this.#bytes.copy(next);
      this.#bytes = next;
    }
    return events;
  }

  /** @throws Failure `upstream_answer_unreadable` where a frame has not ended */
  end(): void {
    if (this.#length > 0) throw unreadable('it ended within a frame');
  }
}

/** Bytes of a frame by its prelude. */
function sizeOf(prelude: Buffer): number {
  checkSum(prelude, 'prelude');
  const size = prelude.readUInt32BE(0);
  const least = PRELUDE_BYTES + prelude.readUInt32BE(4) + CHECKSUM_BYTES;
  if (size >= least && size <= MAX_FRAME_BYTES) return size;
  throw unreadable(`expected a frame of ${least} to ${MAX_FRAME_BYTES} bytes, received ${size}`);
}

function checkSum(bytes: Buffer, what: string): void {
  const end = bytes.length - CHECKSUM_BYTES;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
    throw unreadable(`the checksum of a ${what} is wrong`);
  }
}

/** The headers of a frame whose values are texts. */
function headersOf(bytes: Buffer, payloadAt: number): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let at = PRELUDE_BYTES; at < payloadAt; ) {
    const typeAt = at + 1 + bytes[at]!;
    const fixed = VALUE_BYTES[bytes[typeAt]!];
    const valueAt = typeAt + (fixed === null ? 3 : 1);
    const end = valueAt + (fixed ?? bytes.subarray(typeAt + 1, valueAt).reduce(bigEndian, 0));
    if (fixed === undefined || end > payloadAt) throw unreadable('a header is cut');
    const name = bytes.toString('utf8', at + 1, typeAt);
    if (bytes[typeAt] === TEXT) headers.set(name, bytes.toString('utf8', valueAt, end));
    at = end;
  }
  return headers;
}

const bigEndian = (number: number, byte: number) => number * 256 + byte;

/** A server-sent event for a frame; empty where the frame has no event. */
function eventOf(frame: Buffer): string {
  checkSum(frame, 'frame');
  const payloadAt = PRELUDE_BYTES + frame.readUInt32BE(4);
  const headers = headersOf(frame, payloadAt);
  const text = frame.toString('utf8', payloadAt, frame.length - CHECKSUM_BYTES);
  const body = objectOf(tryParseJson(text));
  const kind = headers.get(':message-type');
  if (kind === 'exception' || kind === 'error') {
    const message = headers.get(':error-message') ?? (textOf(body['message']) || text);
    const name = headers.get(':exception-type') ?? headers.get(':error-code') ?? '';
    return written({ type: 'error', error: { type: errorCode(name), message } });
  }
  if (kind !== 'event') throw unreadable(`expected a frame with an event, received ${kind}`);
  const name = headers.get(':event-type') ?? '';
  // Converse has an event in each frame, other methods one of the model's own format in each chunk.
  if (name !== 'chunk') return /^[a-z]+$/i.test(name) ? written({ [name]: body }, name) : '';
  const event = tryParseJson(Buffer.from(textOf(body['bytes']), 'base64').toString());
  if (!isObject(event)) throw unreadable('expected a chunk with an object of JSON');
  const { 'amazon-bedrock-invocationMetrics': _, ...own } = event;
  return written(own);
}

function written(event: Readonly<Record<string, unknown>>, type = String(event['type'])): string {
  const name = type.replace(/\W/g, '');
  return `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Names of errors by the words of Anthropic, for which they mean something to clients and to routing. */
const ERROR_CODES = new Map([
  ['throttlingexception', 'rate_limit_error'],
  ['servicequotaexceededexception', 'rate_limit_error'],
  ['modelnotreadyexception', 'overloaded_error'],
  ['serviceunavailableexception', 'overloaded_error'],
  ['modeltimeoutexception', 'timeout_error'],
  ['validationexception', 'invalid_request_error'],
]);

/** @param name such as `throttlingException` */
export const errorCode = (name: string) => ERROR_CODES.get(name.toLowerCase()) ?? 'api_error';
