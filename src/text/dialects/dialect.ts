import type { Failure } from '../../failure.ts';
import type { CacheMark, Json, TextRequest } from '../canonical/canonical.ts';
import type { TextEvent, Usage } from '../canonical/events.ts';
import type { Endpoint, ModelListing, RequestAddress } from './endpoint.ts';
import type { FieldTable, SettingNames } from './field-table.ts';

/** Where a request is sent. */
export interface Target {
  /** The name of the dialect that the upstream speaks. */
  readonly dialect: string;
  /** The provider's name in the configuration: reasoning is sent back only to the provider that wrote it. */
  readonly provider: string;
  /** The upstream's name of the model. */
  readonly model: string;
  readonly rules: 'fixed-reasoning' | null;
  /** Whether the model reasons, by its entry in the catalog. */
  readonly reasons: boolean;
  /** The output limit of the model in tokens; null where the catalog has none. */
  readonly maxOutputTokens: number | null;
}

export interface DecodeContext {
  /** The provider's name in the configuration, for the signatures of its reasoning. */
  readonly provider: string;
  /** Returns the client's name of a tool whose name was changed for the upstream. */
  readonly toolName: (wire: string) => string;
  /** Whether reasoning that the provider writes between tags within the text becomes reasoning. */
  readonly normalize?: boolean;
}

/** Decodes an upstream's response to TextEvents. */
export interface EventDecoder {
  /** Decodes the data of one server-sent event. @param data JSON, or the dialect's end marker */
  push(data: string): void;
  /** Decodes a whole response that was not streamed, and ends. */
  whole(body: unknown): void;
  /** Ends the stream: emits `finish`, or an `error` where the response lacks its end, unless it has ended. */
  end(): void;
}

export interface EncodeContext {
  /** The request that is answered. */
  readonly request: TextRequest;
  /** Seconds since 1970. */
  readonly created: number;
  /** The usage of an answer so far, as it is charged where the provider reports none. */
  readonly estimatedUsage?: (choice: number) => Usage;
}

/** Encodes TextEvents to server-sent events for a client. */
export interface EventEncoder {
  /**
   * Returns the frames for one event, blank lines included; empty where the dialect has none for it.
   *
   * @param choice which of the `n` answers it belongs to
   */
  push(event: TextEvent, choice?: number): string;
  /** Returns frames that were kept back for events that have not come by now. */
  flush?(): string;
}

/** What a relay reads from one event of a stream that it passes on. */
export interface Observation {
  /** The usage of the whole answer so far. */
  readonly usage?: Usage;
  /** The event with the six integers of usage in it, where it must have them. */
  readonly rewritten?: Json;
  /** The failure that the event reports. */
  readonly failure?: Failure;
  /** Whether the answer is complete with this event. */
  readonly terminal?: boolean;
  /** Whether the event holds only usage. */
  readonly usageOnly?: boolean;
}

/** A relayed stream as far as it was passed on. */
export interface RelayProgress {
  readonly context: EncodeContext;
  /** The first of its events with a marker in it; null where there was none. */
  readonly first: Json | null;
  /** The frames that were passed on last. */
  readonly last: string;
}

/** Request headers as Node gives them: lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Protocol headers of a client's request. */
export interface ForwardedHeaders {
  /** Headers for an upstream of the same dialect. */
  readonly sent: Readonly<Record<string, string>>;
  /** Values that are not sent. */
  readonly ignored: readonly string[];
}

/** How clients ask for the number of tokens of a request, without an answer to it. */
export interface TokenCounting {
  readonly endpoint: Endpoint;
  /** The path of an upstream's endpoint below its base URL. */
  path(target: Target): string;
  /** @throws Failure invalid_request, `param` naming the field by its path */
  decodeRequest(body: unknown, address: RequestAddress): TextRequest;
  /** A body for an upstream of the dialect, and the client's fields that are not in it. */
  encodeRequest(
    request: TextRequest,
    target: Target,
  ): { readonly body: Json; readonly ignored: readonly string[] };
  /** The tokens that an upstream counted; null where its answer has none. */
  tokensOf(answer: Json): number | null;
  /** @param received an upstream's answer, of which details may be kept; null for an estimate */
  answer(tokens: number, received: Json | null): Json;
}

/** How a dialect treats reasoning. */
interface ReasoningTraits {
  /** The field of an assistant's message that holds its reasoning; null where reasoning is a block or an item. */
  readonly field: string | null;
  /** Whether upstreams take reasoning back without a signature. */
  readonly isUnsigned: boolean;
  /** Whether clients that enable reasoning expect to read it. */
  readonly isShown: boolean;
  /** Whether requests can limit reasoning in tokens. */
  readonly hasBudget: boolean;
  /** Whether upstreams refuse reasoning that is sent back without the item after it. */
  readonly needsItem?: true;
  /** Whether the interface of its endpoint has efforts that a model does not support refused, not lowered. */
  readonly refusesEfforts?: true;
  /** Whether a request asks for reasoning by an alias that upstreams need not know. */
  isAlias?(body: Json): boolean;
}

/** What some dialects can say in a request, and others cannot. */
export type Ability =
  /** A choice among some of the tools. */
  | 'allowed-tools'
  /** An answer that is any JSON object. */
  | 'json-object'
  /** Tools that a message adds. */
  | 'added-tools'
  /** Tools in groups. */
  | 'namespaces'
  /** At most one call in an answer. Dialects that have the setting need not say so. */
  | 'single-call'
  /** Any stop sequences; `stops` says which where they are some. */
  | 'stop'
  /** Tools whose input is free text. */
  | 'text-input'
  /** A tool by which the client finds further tools. */
  | 'tool-search';

/** How a relay reads the answers that it passes on. */
export interface AnswerObserver {
  /** Patterns of which each event that `observe` must see has one: most events need not be parsed. */
  readonly markers: readonly (string | RegExp)[];
  /** Why answers ended, in the provider's words, as an event or a whole answer says; empty where it does not. */
  finishReasons(body: Json): readonly string[];
  /** Counts the events in whole frames that hold output: not comments, pings or empty events. */
  countOutput(frames: string): number;
  /**
   * Whether whole frames hold output, or the end of an answer, so that no other route can answer: not what
   * providers send before they begin to.
   */
  hasOutput(frames: string): boolean;
  /** @param before the usage in earlier events of the stream; some upstreams send it in parts */
  observe(event: Json, before?: Usage | null): Observation;
  /** A whole answer with the six integers of usage in it, where it must have them. */
  observeAnswer(body: Json): {
    readonly usage: Usage | null;
    readonly body: Json;
    /** The failure that it reports. */
    readonly failure?: Failure | null;
  };
}

/** What a dialect says of its upstreams. */
export interface UpstreamSide extends AnswerObserver {
  /** The path of an upstream's endpoint below its base URL. */
  path(target: Target, stream: boolean): string;
  /** Headers of every request to an upstream. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether requests have a field for the detail at which an image is read. */
  readonly takesImageDetail?: true;
  /**
   * Encodes a request of any dialect for an upstream of this one.
   *
   * @throws Failure invalid_request where this dialect cannot express it; `param` names the client's field
   */
  encodeRequest(request: TextRequest, target: Target): Json;
  /** A copy of a client's own body for an upstream of this dialect, which names the upstream's model and asks for usage. */
  forwardBody(request: TextRequest, target: Target): Record<string, unknown>;
  /** Adds marks for the provider's prompt cache to a body that has none; absent where a provider needs none. */
  withCacheMarks?(body: Json): Json;
  decodeEvents(context: DecodeContext, emit: (event: TextEvent) => void): EventDecoder;
  /** The data of the event that ends a stream; absent where the last event of the answer ends it. */
  readonly endMarker?: string;
  /** The paths of the model's name in whole answers and in events. Where it is one member, every event has it. */
  readonly modelPaths: readonly (readonly string[])[];
}

/** One wire format of text: its name in settings and URLs, and how its requests and answers are read and written. */
export interface Dialect extends UpstreamSide {
  /** Its name in the configuration. */
  readonly name: string;
  /** Its name in error messages. */
  readonly label: string;
  /** The dialect of requests to upstreams that speak all; absent where it is this one. No route names a dialect that has it. */
  readonly upstreamDialect?: string;

  readonly endpoints: readonly Endpoint[];
  /** The endpoint that counts tokens; absent where the dialect has none. */
  readonly counting?: TokenCounting;
  /** A pattern of further paths of its clients, such as its batches, whose errors have its shape. */
  readonly otherPaths?: string;
  /** The list of models for its clients; absent where they read that of `/v1/models`. */
  readonly modelListing?: ModelListing;
  /** The field of a request that has labels, which are read as tags; absent where the format has none. */
  readonly labelsField?: string;
  /** The field of a request that holds the conversation. */
  readonly promptField: string;
  readonly settings: SettingNames;
  /** Whether its choice of tools leaves those that the provider runs to the model. */
  readonly choosesFunctionsOnly?: true;
  /** What upstreams take beyond functions and plain choices among them; all else is emulated. */
  readonly abilities?: readonly Ability[];
  /** Which stop sequences upstreams take, where they do not take all. */
  readonly stops?: { readonly most?: number; readonly takesBlank?: false };
  /** Whether a last turn of the assistant is the beginning of the answer. */
  readonly prefillsAnswer?: true;
  /** Whether its labels and its identifiers of files are OpenAI's. */
  readonly usesOpenaiFields?: true;
  readonly reasoning: ReasoningTraits;
  /** The header with the API key where clients send no bearer token, if any. */
  readonly keyHeader?: string;
  /** The header that repeats the request's identifier in every response to a client, if any. */
  readonly requestIdHeader?: string;
  /** The body of an error response, where it holds more than `error`. @param body with `error` alone */
  errorBody?(body: Json, requestId: string, status: number): Json;
  /** Protocol headers of a client for an upstream of the same dialect. @param allowsAll whether every beta is allowed */
  forwardHeaders?(headers: Headers, allowsAll: boolean): ForwardedHeaders;

  /** Whether requests have a field for the end user. */
  readonly namesEndUser?: true;
  /** The cache marks of a request of another dialect that an upstream of this one gets; absent for none. */
  cacheMarks?(request: TextRequest): readonly CacheMark[];

  /**
   * Decodes a client's request. An address is given with a request that has one.
   *
   * @throws Failure invalid_request, `param` naming the field by its path
   */
  decodeRequest(body: unknown, address?: RequestAddress): TextRequest;
  /** Kinds of output that a request names, where its field is none of those that `screen-prompt.ts` reads. */
  outputModalities?(body: Json): readonly unknown[];
  /** Every field of a request. Inspection, refusals and documentation derive from it. */
  readonly fields: FieldTable;
  encodeEvents(context: EncodeContext): EventEncoder;
  /** Encodes the answer that is not streamed. @param choices the events of each of the `n` answers */
  foldEvents(context: EncodeContext, choices: readonly (readonly TextEvent[])[]): Json;

  /** `gen_ai.operation.name` of its requests in OpenTelemetry; by default `chat`. */
  readonly operation?: string;
  /** Members of events whose strings are pieces of the answer. */
  readonly textMembers: readonly string[];
  /** Encodes the frames that end a relayed stream after a failure. */
  failFrames(failure: Failure, relayed: RelayProgress): string;
  /** A failure for clients that do not find it in frames: sent after them, in a chunk of its own. */
  failChunk?(failure: Failure): string;
  /** What a stream sends while it is idle, for clients that do not understand comments. */
  readonly signOfLife?: string;
  /** Text within the event of a stream to which its cost is added; absent where clients refuse a field that they do not know. */
  readonly costMark?: string;
  /** What chunks have only because this server requested the usage, for clients that did not. */
  readonly emptyUsage?: RegExp;
  /** The field of a whole answer that holds a list with the model's output. */
  readonly answerKey: string;
  /** Identifiers of what the provider stored with an answer. */
  storedIds?(request: TextRequest, answer: Json): readonly string[];
}
