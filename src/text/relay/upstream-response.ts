import { codedFailure } from '../../failure.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import { forThisAnswer } from '../../store/answer-identity.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Dialect, EventDecoder } from '../dialects/dialect.ts';
import type { Drain } from './drains.ts';
import type { EventSink } from './event-sinks.ts';
import type { FrameWriter } from './guarded-stream.ts';
import { EventStream } from './sse.ts';

/** Bytes of an answer that is not streamed. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Bytes of a stream, whose text is in memory until its end. */
const MAX_STREAM_BYTES = 4 * MAX_BYTES;

/** Milliseconds for an upstream to end its response after the last event. */
const endTimeoutMs = 1000;

/** Cost of the values of an answer (`structureFault`): log probabilities are many small objects. */
const MAX_COST = 1_000_000;

/** The first line of events. Some servers send them as text/plain, or without a content type. */
const EVENTS = /^\s*(?:data|event|id|retry)?:/;

export function isEventStream({ headers }: Pick<UpstreamResponse, 'headers'>): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

/**
 * @param parse reads the text of the body
 * @throws Failure where the body is no JSON object, or is an error
 */
export async function readJson(
  exchange: Pick<UpstreamResponse, 'status' | 'bytes'>,
  parse: (text: string) => unknown = (text) => tryParseJson(text, MAX_COST),
): Promise<Json> {
  const text = (await exchange.bytes(MAX_BYTES)).toString();
  const body = await parse(text);
  if (!isObject(body)) {
    const fault = `an answer that is no JSON object (status ${exchange.status})`;
    throw upstreamFailure(502, text, { fault });
  }
  const { error, type } = body;
  // Some upstreams send an error with status 200. An answer of responses reports failure by its `status`.
  const failed = type === 'error' || (error && !('status' in body));
  if (failed) throw upstreamFailure(null, body);
  return body;
}

/**
 * Observes a whole answer that is passed on.
 *
 * @throws Failure where it reports one, or lacks the model's output
 */
export function observeWhole(dialect: Dialect, body: Json): ReturnType<Dialect['observeAnswer']> {
  const observed = dialect.observeAnswer(body);
  if (observed.failure) throw observed.failure;
  if (!Array.isArray(body[dialect.answerKey])) {
    throw upstreamFailure(502, body, { fault: `an answer without ${dialect.answerKey}` });
  }
  return observed;
}

/**
 * Reads a stream until it ends or its last event has come, at the speed of the client.
 *
 * @param take takes a chunk, and returns false where the client is slow
 * @param isOver whether the last event has come
 */
export async function readUntil(
  exchange: UpstreamResponse,
  response: FrameWriter | null,
  take: (chunk: Buffer) => boolean,
  isOver: () => boolean,
  drain: Pick<Drain, 'count'>,
): Promise<void> {
  let finish = () => {};
  const over = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const onChunk = forThisAnswer((chunk: Buffer) => {
    if (isOver()) return true;
    drain.count(chunk.length);
    const fast = take(chunk);
    if (isOver()) finish();
    if (fast || !response) return true;
    response.drained().then(() => exchange.resume());
    return false;
  });
  const reading = exchange.read(onChunk);
  await Promise.race([reading, over]);
  if (!isOver()) return;
  // If the last bytes come soon the connection is reused. The client does not wait for them.
  const cut = setTimeout(() => exchange.abort(), endTimeoutMs);
  reading.catch(() => {}).finally(() => clearTimeout(cut));
}

/**
 * Decodes an answer, streamed or not, and flushes the sink after each chunk.
 */
export async function readEvents(
  exchange: UpstreamResponse,
  decoder: EventDecoder,
  sink: EventSink,
  {
    response,
    isOver,
    hasOutput,
    drain,
  }: {
    readonly response: FrameWriter | null;
    readonly isOver: () => boolean;
    /** Whether an event holds output, or the end of the answer. */
    readonly hasOutput: (event: string) => boolean;
    readonly drain: Pick<Drain, 'count'>;
  },
): Promise<void> {
  const whole = isEventStream(exchange) ? null : await exchange.bytes(MAX_BYTES);
  if (whole !== null && !EVENTS.test(whole.toString('latin1', 0, 1000))) {
    decoder.whole(await readJson({ status: exchange.status, bytes: async () => whole }));
    sink.flush();
    return;
  }
  const events = new EventStream((data) => {
    sink.hasOutput ||= hasOutput(data);
    decoder.push(data);
  });
  const most = response ? MAX_STREAM_BYTES : MAX_BYTES;
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > most) {
      const message = `The provider sent a stream of more than ${most} bytes`;
      throw codedFailure('upstream_answer_too_large', message);
    }
    events.push(chunk);
    return sink.flush();
  };
  if (whole === null) await readUntil(exchange, response, take, isOver, drain);
  else take(whole);
  if (!isOver()) {
    events.end();
    decoder.end();
  }
  sink.flush();
}
