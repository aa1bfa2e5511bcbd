import type { Failure } from '../../failure.ts';
import type { UsageTracker } from '../billing/usage-tracker.ts';
import type { Json } from '../canonical/canonical.ts';
import type { TextEvent } from '../canonical/events.ts';
import type { Dialect, EncodeContext, EventEncoder } from '../dialects/dialect.ts';
import type { FrameWriter } from './guarded-stream.ts';

/** Takes the events of one attempt at one route. */
export interface EventSink {
  push(event: TextEvent, choice: number): void;
  /** Whether an upstream has sent output, or its end: before that, another route can still answer. */
  hasOutput: boolean;
  /** Called after all events of one chunk. @returns false where the client is slow */
  flush(): boolean;
  /** The failure of the attempt; null while there is none. */
  readonly failure: Failure | null;
  /** Whether all answers have ended. */
  readonly ended: boolean;
}

/** Counts the answers that have ended, and their usage. */
abstract class CountingSink implements EventSink {
  failure: Failure | null = null;
  hasOutput = false;
  readonly #tracker: UsageTracker;
  #open: number;

  constructor(choices: number, tracker: UsageTracker) {
    this.#open = choices;
    this.#tracker = tracker;
  }

  get ended(): boolean {
    return this.#open === 0;
  }

  push(event: TextEvent, choice: number): void {
    // Other answers are charged after the failure of one.
    this.#tracker.addEvent(event, choice);
    if (this.#open === 0) return;
    if (event.type === 'error') {
      this.failure = event.failure;
      this.#open = 0;
    } else if (event.type === 'finish') {
      this.#open -= 1;
      this.hasOutput = true;
    }
    this.take(event, choice);
  }

  protected abstract take(event: TextEvent, choice: number): void;
  abstract flush(): boolean;
}

/** Streams events to the client. The last frames are kept in `end`, to be sent once the answer is charged. */
export class StreamSink extends CountingSink {
  /** Frames that end the stream. */
  end = '';
  readonly #encoder: EventEncoder;
  #response: FrameWriter;
  #frames = '';
  /** Whether the client was sent a frame, so that no other route can answer. */
  committed = false;

  constructor(
    { dialect, context, choices }: Delivery,
    response: FrameWriter,
    tracker: UsageTracker,
  ) {
    super(choices, tracker);
    this.#encoder = dialect.encodeEvents(context);
    this.#response = response;
  }

  /** Writes to another stream of the same response from now on. */
  use(response: FrameWriter): void {
    this.#response = response;
  }

  protected take(event: TextEvent, choice: number): void {
    if (event.type !== 'error' || this.committed) this.#frames += this.#encoder.push(event, choice);
  }

  flush(): boolean {
    // Where no frame was sent, another route may still answer.
    if (!this.hasOutput || (this.failure && !this.committed)) return true;
    if (this.#encoder.flush) this.#frames += this.#encoder.flush();
    if (this.#frames === '') return true;
    const frames = this.#frames;
    this.#frames = '';
    this.committed = true;
    if (this.ended) {
      this.end += frames;
      return true;
    }
    return this.#response.write(frames);
  }
}

/** Collects events for an answer that is not streamed. */
export class BufferSink extends CountingSink {
  readonly committed = false;
  readonly #delivery: Delivery;
  readonly #events: TextEvent[][];

  constructor(delivery: Delivery, tracker: UsageTracker) {
    super(delivery.choices, tracker);
    this.#delivery = delivery;
    this.#events = Array.from({ length: delivery.choices }, () => []);
  }

  protected take(event: TextEvent, choice: number): void {
    this.#events[choice]!.push(event);
  }

  flush(): boolean {
    return true;
  }

  /** Forgets the events of an answer that is requested again. */
  discard(choice: number): void {
    this.#events[choice] = [];
  }

  /** @throws Failure where the client's dialect cannot express the answer */
  answer(): Json {
    return this.#delivery.dialect.foldEvents(this.#delivery.context, this.#events);
  }
}

/** Takes the events of one of several answers, and keeps a failure back as long as the answer can be requested again. */
export class ChoiceSink implements EventSink {
  failure: Failure | null = null;
  ended = false;
  readonly #sink: StreamSink | BufferSink;
  #hasOutput = false;
  /** Whether the client may have seen a part of the answer. */
  #began = false;

  constructor(sink: StreamSink | BufferSink) {
    this.#sink = sink;
  }

  get hasOutput(): boolean {
    return this.#hasOutput;
  }

  set hasOutput(hasOutput: boolean) {
    this.#hasOutput = hasOutput;
    this.#sink.hasOutput ||= hasOutput;
  }

  /** Whether the answer can be requested again after its failure. */
  get isRepeatable(): boolean {
    return !this.#began || this.#sink instanceof BufferSink;
  }

  push(event: TextEvent, choice: number): void {
    if (this.ended) return;
    if (event.type === 'error') {
      this.failure = event.failure;
      this.ended = true;
      if (this.#sink instanceof BufferSink) this.#sink.discard(choice);
      else if (this.#began) this.#sink.push(event, choice);
      return;
    }
    if (event.type === 'finish') this.ended = true;
    if (event.type !== 'start' && event.type !== 'usage') this.#began = true;
    this.#sink.push(event, choice);
  }

  flush(): boolean {
    return this.#sink.flush();
  }
}

/** How the answer is encoded. */
export interface Delivery {
  readonly dialect: Dialect;
  readonly context: EncodeContext;
  /** Number of answers to the request. */
  readonly choices: number;
}
