import type { Failure } from '../../failure.ts';
import type { DialectName, Json, TextEvent, TextRequest, Usage } from '../canonical.ts';
import type { Check } from './inspection.ts';

/** Where a request goes. */
export interface Target {
  readonly dialect: DialectName;
  /** The provider's name in the configuration: reasoning goes back to who wrote it. */
  readonly provider: string;
  /** What the provider calls the model. */
  readonly model: string;
  readonly rules: 'fixed-reasoning' | null;
  /** Whether the catalog says that the model reasons. */
  readonly reasons: boolean;
  /** The most that the model writes; null where nobody says. */
  readonly maxOutputTokens: number | null;
}

export interface DecodeContext {
  /** The provider's name in the configuration, for the signatures of its reasoning. */
  readonly provider: string;
  /** The client's name of a tool whose name had to be changed on the way up. */
  readonly toolName: (wire: string) => string;
}

/** Makes TextEvents of what an upstream sends. */
export interface EventDecoder {
  /** Takes the data of one server-sent event. @param data JSON, or `[DONE]` */
  push(data: string): void;
  /** Takes a whole answer that was not streamed, and ends. */
  whole(body: unknown): void;
  /**
   * The stream is over: emits `finish`, or an `error` where its own end was missing. Nothing where
   * that came before.
   */
  end(): void;
}

export interface EncodeContext {
  /** What is answered. */
  readonly request: TextRequest;
  /** Seconds since 1970. */
  readonly created: number;
}

/** Makes server-sent events of TextEvents, for a client. */
export interface EventEncoder {
  /**
   * The frames for one event, blank lines included; empty where it tells the client nothing.
   *
   * @param choice which of the `n` answers it belongs to
   */
  push(event: TextEvent, choice?: number): string;
  /** Frames that were kept back for what might come along with them, and has not by now. */
  flush?(): string;
}

/** What one event of a stream tells a relay that passes it on as it is. */
export interface Observation {
  /** The whole of it so far. */
  readonly usage?: Usage;
  /** The event with the usage of interface part 2.2 in it, where it must have that. */
  readonly rewritten?: Json;
  /** The stream went wrong, and says so. */
  readonly failure?: Failure;
  /** Nothing more that matters comes: the answer is whole. */
  readonly terminal?: boolean;
  /** Says only what the client did not ask for. */
  readonly usageOnly?: boolean;
}

/** A stream of an upstream as far as it was passed on. */
export interface Relayed {
  readonly context: EncodeContext;
  /** The first of its events with a marker in it; null where there was none. */
  readonly first: Json | null;
  /** The frames that were passed on last. */
  readonly last: string;
}

/** One wire format: how its requests and answers are read and written. */
export interface Dialect {
  readonly name: DialectName;

  /** @throws Failure invalid_request, `param` naming the field by its path */
  decodeRequest(body: unknown): TextRequest;
  /** Finds what of a body is not on the allow-list of this dialect, and what must be allowed by name. */
  readonly inspect: Check;
  /**
   * A request for an upstream of this dialect, whatever the client's own is.
   *
   * @throws Failure invalid_request where this dialect cannot say it; `param` names the client's field
   */
  encodeRequest(request: TextRequest, target: Target): Json;
  decodeEvents(context: DecodeContext, emit: (event: TextEvent) => void): EventDecoder;
  encodeEvents(context: EncodeContext): EventEncoder;
  /** The answer that is not streamed. @param choices the events of each of the `n` answers */
  foldEvents(context: EncodeContext, choices: readonly (readonly TextEvent[])[]): Json;

  /** Texts without one of which an event has nothing to observe: most need not be parsed. */
  readonly markers: readonly string[];
  /** How many events in whole frames hold output: not comments, pings nor empty events. */
  countOutput(frames: string): number;
  /** @param before the usage that earlier events of the stream told: some tell it in parts */
  observe(event: Json, before?: Usage | null): Observation;
  /** The frames that end a stream which was passed on so far, and went wrong. */
  failFrames(failure: Failure, relayed: Relayed): string;
  /** A whole answer with the usage of interface part 2.2 in it, where it must have that. */
  observeAnswer(body: Json): {
    readonly usage: Usage | null;
    readonly body: Json;
    /** What it says went wrong. */
    readonly failure?: Failure | null;
  };
}
