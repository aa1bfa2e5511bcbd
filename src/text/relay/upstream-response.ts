import { Failure } from '../../failure.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { Json } from '../canonical.ts';
import type { Dialect, EventDecoder } from '../dialects/dialect.ts';
import type { EventSink } from './event-sinks.ts';
import type { ResponseStream } from './response-stream.ts';
import { EventStream } from './sse.ts';

/** The largest answer that is taken whole. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The longest stream that is read: what is said in it is kept until its end, in one form or another. */
const MOST_STREAMED = 4 * MOST_BYTES;

/** How long an upstream may keep its connection once it has said all, in milliseconds. */
const LINGER = 1000;

export function isEventStream({ headers }: UpstreamResponse): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

/** @throws Failure where the answer is no JSON, or says by itself that it is none */
export async function readJson(exchange: UpstreamResponse): Promise<Json> {
  const text = (await exchange.bytes(MOST_BYTES)).toString();
  const body = tryParseJson(text);
  if (!isObject(body)) throw upstreamFailure(502, text);
  const { error, type } = body;
  // Some say 200 and then that it went wrong. A response has a status, and tells by that.
  const failed = type === 'error' || (error && !('status' in body));
  if (failed) throw upstreamFailure(null, body);
  return body;
}

/**
 * The usage of a whole answer that is passed on, and the answer as its client gets it.
 *
 * @throws Failure where it is no answer
 */
export function observeWhole(dialect: Dialect, body: Json): ReturnType<Dialect['observeAnswer']> {
  const observed = dialect.observeAnswer(body);
  if (observed.failure) throw observed.failure;
  if (!Array.isArray(body[dialect.answerKey])) throw upstreamFailure(502, body);
  return observed;
}

function endless(limit: number): Failure {
  return new Failure('service_error', `The provider sent a stream of more than ${limit} bytes`, {
    code: 'upstream_answer_too_large',
  });
}

/**
 * Reads a stream piece by piece until it ends or there is nothing more to expect of it, at the speed
 * of who takes it.
 *
 * @param take one piece; false where the client is slow
 * @param isOver whether all that matters was there
 */
export async function readUntil(
  exchange: UpstreamResponse,
  response: ResponseStream | null,
  take: (chunk: Buffer) => boolean,
  isOver: () => boolean,
): Promise<void> {
  let finish = () => {};
  const over = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const reading = exchange.read((chunk) => {
    if (isOver()) return true;
    const fast = take(chunk);
    if (isOver()) finish();
    if (fast || !response) return true;
    response.drained().then(() => exchange.resume());
    return false;
  });
  await Promise.race([reading, over]);
  if (!isOver()) return;
  // The connection serves again if its last bytes come soon; the client need not wait for them.
  const cut = setTimeout(() => exchange.abort(), LINGER);
  reading.catch(() => {}).finally(() => clearTimeout(cut));
}

/**
 * Hands on the events of an answer, streamed or not. What goes wrong on the way becomes the last of
 * them.
 */
export async function readEvents(
  exchange: UpstreamResponse,
  decoder: EventDecoder,
  sink: EventSink,
  {
    response,
    isOver,
  }: { readonly response: ResponseStream | null; readonly isOver: () => boolean },
): Promise<void> {
  if (!isEventStream(exchange)) {
    decoder.whole(await readJson(exchange));
    sink.flush();
    return;
  }
  const events = new EventStream((data) => decoder.push(data));
  const most = response ? MOST_STREAMED : MOST_BYTES;
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > most) throw endless(most);
    events.push(chunk);
    return sink.flush();
  };
  await readUntil(exchange, response, take, isOver);
  if (!isOver()) {
    events.end();
    decoder.end();
  }
  sink.flush();
}
