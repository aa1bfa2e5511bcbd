import { Failure } from '../../failure.ts';
import { type ProviderOrigin, redactForClient, redactKeyInBody } from '../../routing/redaction.ts';
import { canFailOver } from '../../routing/retry-policy.ts';
import { type AbortSignalLike, linkedSignal } from '../../upstream/abort-signal.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { TextEvent, Usage } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { namesOf } from '../dialects/tool-names.ts';
import type { EmulatedRequest } from '../emulation/emulate.ts';
import { clientEvents } from '../relay/client-events.ts';
import { MAX_DRAINED_BYTES } from '../relay/drains.ts';
import {
  BufferSink,
  ChoiceSink,
  type Delivery,
  type EventSink,
  StreamSink,
} from '../relay/event-sinks.ts';
import { isEventStream, readEvents } from '../relay/upstream-response.ts';
import { clientOf, type Outcome, type TextExecution } from './execution.ts';

/** Requests for the `n` answers of one client that are under way at once. */
const MAX_PARALLEL = 8;

/** Where one of the `n` answers comes from, and where its events go. */
export interface AnswerSource {
  readonly target: Target;
  readonly origin: ProviderOrigin;
  readonly sink: EventSink;
  /** Which of the `n` answers it is. */
  readonly choice: number;
  /** The request as the upstream got it; absent where that is the client's own. */
  readonly emulated?: EmulatedRequest;
}

/** Requests one of the `n` answers, and pushes its events. @param signal aborted where another answer fails */
type RequestAnswer = (sink: EventSink, choice: number, signal: AbortSignalLike) => Promise<void>;

/**
 * Requests all `n` answers, several at once, and makes one response of them in the client's dialect. Of several, those
 * that are complete are kept when another fails, so that the next attempt requests only the others.
 *
 * @throws Failure where the client was sent nothing yet
 */
export async function collectAnswers(
  execution: TextExecution,
  choices: number,
  origin: ProviderOrigin,
  requestAnswer: RequestAnswer,
): Promise<Outcome> {
  const { request, context, tracker, answers, drain } = execution;
  const delivery: Delivery = { dialect: dialectNamed(request.dialect), context, choices };
  const response = execution.openStream(origin.apiKey, delivery.dialect);
  const newSink = () =>
    request.stream
      ? new StreamSink(delivery, response, tracker)
      : new BufferSink(delivery, tracker);
  const isSeveral = choices > 1;
  const sink = (isSeveral && answers.sink) || newSink();
  answers.sink = sink;
  if (sink instanceof StreamSink) sink.use(response);
  const { signal: siblings, release } = linkedSignal(drain.signal);
  let repeatable: Failure | null = null;
  let isFailed = false;
  const abortSiblings = (failure: Failure) => {
    isFailed = true;
    // A client can bring this one about: it pays for all answers that were requested.
    if (failure.type !== 'billable_error') siblings.abort(failure);
  };
  const requestOne = async (choice: number) => {
    tracker.addRequest(choice);
    const own = isSeveral ? new ChoiceSink(sink) : sink;
    try {
      await requestAnswer(own, choice, siblings);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      own.push({ type: 'error', failure: redactForClient(error, origin) }, choice);
      own.flush();
    }
    if (own.failure === null) {
      answers.complete.add(choice);
      if (isSeveral) tracker.keep(choice);
    } else if (own instanceof ChoiceSink && own.isRepeatable) {
      repeatable ??= own.failure;
      // Without another route the other answers need not be paid for.
      if (!canFailOver(own.failure)) abortSiblings(own.failure);
    }
    if (sink.failure) abortSiblings(sink.failure);
  };
  const missing = Array.from({ length: choices }, (_, choice) => choice).filter(
    (choice) => !isSeveral || !answers.complete.has(choice),
  );
  const requestNext = async () => {
    for (let choice = missing.shift(); choice !== undefined; choice = missing.shift()) {
      await requestOne(choice);
      if (isFailed || siblings.aborted) return;
    }
  };
  try {
    const parallel = Math.min(missing.length, MAX_PARALLEL);
    await (isSeveral ? Promise.all(Array.from({ length: parallel }, requestNext)) : requestOne(0));
  } finally {
    release();
  }
  const { failure } = sink;
  if (failure && !sink.committed) throw failure;
  // The complete answers are kept: only the others are requested again.
  if (repeatable !== null && failure === null) throw repeatable;
  if (sink instanceof StreamSink) return { body: null, end: response.last(sink.end), failure };
  return { body: redactKeyInBody(JSON.stringify(sink.answer()), origin.apiKey), end: '', failure };
}

/** Reads one upstream response, and pushes the events that it decodes to. */
export async function readAnswer(
  execution: TextExecution,
  exchange: UpstreamResponse,
  { target, origin, sink, choice, emulated }: AnswerSource,
): Promise<void> {
  const { call, request, model, inputTokens, cutUsage, config, drain } = execution;
  const context = {
    provider: target.provider,
    toolName: namesOf(emulated?.request ?? request),
    normalize: model.normalize === true,
  };
  const push = clientEvents({ target, origin, ...clientOf(execution) }, (event) =>
    sink.push(event, choice),
  );
  let over = false;
  let hasEnd = false;
  const early = new EarlyEnd(exchange, config.billing.drainTimeout);
  const readsOn = cutUsage !== null || !isEventStream(exchange);
  const emit = (event: TextEvent) => {
    if (over) return;
    over = isEnd(event);
    if (over && !hasEnd && readsOn) early.hold(event);
    else push(event);
  };
  const take = emulated?.filter({ emit, inputTokens: inputTokens[choice] ?? 0 }) ?? emit;
  const dialect = dialectNamed(target.dialect);
  const decoder = dialect.decodeEvents(context, (event) => {
    if (isEnd(event)) hasEnd = true;
    if (event.type === 'finish') early.usage = event.usage;
    take(event);
  });
  const response = request.stream ? call.response : null;
  try {
    await readEvents(exchange, decoder, sink, {
      response,
      isOver: () => over && (hasEnd || !early.isHeld),
      hasOutput: (event) => dialect.hasOutput(event),
      drain: {
        count: (bytes) => {
          drain.count(bytes);
          early.count(bytes);
        },
      },
    });
  } catch (error) {
    // The client has all that it asked for, whatever became of the rest.
    if (!early.isHeld || drain.signal.aborted || !(error instanceof Failure)) throw error;
    if (error.type !== 'network_error') early.isCut = true;
  } finally {
    // An emulation may have ended the answer before the upstream did.
    if (!over || !hasEnd || sink.failure) exchange.abort();
    early.release();
  }
  for (const event of early.events(cutUsage?.(choice) ?? null)) push(event);
  sink.flush();
}

const isEnd = ({ type }: TextEvent): boolean => type === 'finish' || type === 'error';

/**
 * The end of an answer that an emulation made before the provider's, such as that at a stop sequence. It is held back
 * until the provider reports the usage: the client would pay no reasoning otherwise. Time and bytes are limited.
 */
class EarlyEnd {
  /** The usage in the provider's own end. */
  usage: Usage | null = null;
  /** Whether this server stopped reading before the provider's report. */
  isCut = false;
  readonly #exchange: Pick<UpstreamResponse, 'abort'>;
  readonly #timeout: number;
  #end: TextEvent | null = null;
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;

  /** @param timeout milliseconds for the provider's report */
  constructor(exchange: Pick<UpstreamResponse, 'abort'>, timeout: number) {
    this.#exchange = exchange;
    this.#timeout = timeout;
  }

  get isHeld(): boolean {
    return this.#end !== null;
  }

  hold(end: TextEvent): void {
    this.#end = end;
    this.#timer = setTimeout(() => this.#cut(), this.#timeout);
  }

  /** Counts bytes of the stream. */
  count(bytes: number): void {
    if (this.#end === null) return;
    this.#bytes += bytes;
    if (this.#bytes > MAX_DRAINED_BYTES) this.#cut();
  }

  #cut(): void {
    this.isCut = true;
    this.#exchange.abort();
  }

  release(): void {
    clearTimeout(this.#timer);
  }

  /** The events that end the answer; none where the provider's end was passed on. @param cutUsage without a report */
  events(cutUsage: Usage | null): readonly TextEvent[] {
    if (this.#end === null) return [];
    const usage = this.usage ?? (this.isCut ? cutUsage : null);
    if (usage === null) return [this.#end];
    if (this.#end.type === 'finish') return [{ ...this.#end, usage }];
    return [{ type: 'usage', usage }, this.#end];
  }
}
