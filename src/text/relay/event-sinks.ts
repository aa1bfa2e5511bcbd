import type { Failure } from '../../failure.ts';
import type { UsageTracker } from '../billing/usage-tracker.ts';
import type { Json, TextEvent } from '../canonical.ts';
import type { Dialect, EncodeContext, EventEncoder } from '../dialects/dialect.ts';
import type { ResponseStream } from './response-stream.ts';

/** Who gets the events of one try of one route. */
export interface EventSink {
  push(event: TextEvent, choice: number): void;
  /** Everything that one piece of the upstream's answer gave was pushed. False where the client is slow. */
  flush(): boolean;
  /** What went wrong, once something has. */
  readonly failure: Failure | null;
  /** Whether nothing more is to come, of any of the answers. */
  readonly ended: boolean;
}

/** Sends events to the client as they come, but for the last: the answer is to be charged before. */
export class StreamSink implements EventSink {
  failure: Failure | null = null;
  /** Frames that end the stream. */
  end = '';
  readonly #encoder: EventEncoder;
  readonly #response: ResponseStream;
  readonly #tracker: UsageTracker;
  #open: number;
  #frames = '';
  #committed = false;

  constructor(
    { dialect, context, choices }: Delivery,
    response: ResponseStream,
    tracker: UsageTracker,
  ) {
    this.#encoder = dialect.encodeEvents(context);
    this.#response = response;
    this.#tracker = tracker;
    this.#open = choices;
  }

  /** Whether the client has been told something of this try, so that no other can take its place. */
  get committed(): boolean {
    return this.#committed;
  }

  get ended(): boolean {
    return this.#open === 0;
  }

  push(event: TextEvent, choice: number): void {
    if (this.#open === 0) return;
    this.#tracker.event(event, choice);
    if (event.type === 'error') {
      this.failure = event.failure;
      this.#open = 0;
      if (!this.#committed) return;
    } else if (event.type === 'finish') {
      this.#open -= 1;
    }
    this.#frames += this.#encoder.push(event, choice);
  }

  flush(): boolean {
    // What failed before it was told may yet come well from elsewhere.
    if (this.failure && !this.#committed) return true;
    if (this.#encoder.flush) this.#frames += this.#encoder.flush();
    if (this.#frames === '') return true;
    const frames = this.#frames;
    this.#frames = '';
    this.#committed = true;
    if (this.ended) {
      this.end += frames;
      return true;
    }
    return this.#response.write(frames);
  }
}

/** Keeps events until all have come, for an answer that is not streamed. */
export class BufferSink implements EventSink {
  failure: Failure | null = null;
  readonly committed = false;
  readonly #delivery: Delivery;
  readonly #tracker: UsageTracker;
  readonly #events: TextEvent[][];
  #open: number;

  constructor(delivery: Delivery, tracker: UsageTracker) {
    this.#delivery = delivery;
    this.#tracker = tracker;
    this.#open = delivery.choices;
    this.#events = Array.from({ length: delivery.choices }, () => []);
  }

  get ended(): boolean {
    return this.#open === 0;
  }

  push(event: TextEvent, choice: number): void {
    if (this.#open === 0) return;
    this.#tracker.event(event, choice);
    this.#events[choice]!.push(event);
    if (event.type === 'error') {
      this.failure = event.failure;
      this.#open = 0;
    } else if (event.type === 'finish') {
      this.#open -= 1;
    }
  }

  flush(): boolean {
    return true;
  }

  /** @throws Failure where the client's dialect cannot say what came */
  answer(): Json {
    return this.#delivery.dialect.foldEvents(this.#delivery.context, this.#events);
  }
}

/** How the client wants its answer. */
export interface Delivery {
  readonly dialect: Dialect;
  readonly context: EncodeContext;
  /** Answers to the one request. */
  readonly choices: number;
}
