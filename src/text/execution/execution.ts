import type { TextModel } from '../../config/catalog/catalog.ts';
import type { Config } from '../../config/settings/schema.ts';
import type { CachedRequest } from '../../exchanges/cache/cached-request.ts';
import type { Failure } from '../../failure.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { Ledger, Meter, MeterOptions } from '../billing/meter.ts';
import { UsageTracker } from '../billing/usage-tracker.ts';
import type {
  DialectName,
  NativePart,
  RequestSetting,
  TextRequest,
} from '../canonical/canonical.ts';
import type { Usage } from '../canonical/events.ts';
import type { TextReport } from '../canonical/report.ts';
import type { Dialect, EncodeContext, ForwardedHeaders, Headers } from '../dialects/dialect.ts';
import type { RequestAddress } from '../dialects/endpoint.ts';
import { Inspection } from '../dialects/inspection.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { Allowance } from '../policy/allowance.ts';
import type { HostedTools } from '../policy/hosted-tools.ts';
import {
  type OmittedFields,
  type Remaining,
  unchanged,
  withoutReferences,
} from '../policy/leave-out.ts';
import type { Drain } from '../relay/drains.ts';
import type { BufferSink, StreamSink } from '../relay/event-sinks.ts';
import { GuardedStream, type ResponseStream } from '../relay/guarded-stream.ts';
import type { StoredResponse } from '../stored/history.ts';
import { changeFirst, type Keeping } from '../stored/response-frames.ts';

/** How a route answered after the client was sent a part of the answer, or all of it. */
export interface Outcome {
  /** The whole answer as JSON; null for a stream. */
  readonly body: string | null;
  /** Frames that end the stream, sent once the answer is charged; empty for a whole answer. */
  readonly end: string;
  /** The failure that ended the stream; null where it ended well. */
  readonly failure: Failure | null;
}

/** Bytes of a request from which each stage of it takes the event loop for long: 1 MB of short turns takes 0.2 s in all. */
const LARGE_REQUEST = 128 * 1024;

/** One client's request: the stages of the gateway set its fields in turn, and all routes read them. */
export class TextExecution {
  call: TextCall;
  readonly config: Config;
  readonly upstream: Upstream;
  readonly tracker = new UsageTracker();
  /**
   * The answers to a request for several: complete ones are kept when the others are requested again. The sink takes
   * the events of all attempts.
   */
  readonly answers = { sink: null as StreamSink | BufferSink | null, complete: new Set<number>() };
  request!: TextRequest;
  /** The model's public identifier. */
  modelId!: string;
  model!: TextModel;
  /** The part of the requested name that the model's wildcard stands for; null if it has none. */
  wildcardPart: string | null = null;
  /** The model that answers name; null for the upstream's own name. */
  publicModel: string | null = null;
  /** Features and addresses that the request uses. */
  inspection!: Inspection;
  allowance!: Allowance;
  /** What no route is sent. */
  omitted: OmittedFields = NOTHING_OMITTED;
  /** The request's tools that only its own format has; null for none. */
  hosted: HostedTools | null = null;
  /** Settings of the request that the model's rules changed. */
  changedSettings: readonly RequestSetting[] = [];
  meter!: Meter;
  /** Estimated tokens of the input of each request to an upstream. */
  inputTokens: readonly number[] = [];
  /** The most that an answer costs without the provider's report; null where all of the cost is seen. */
  cutUsage: ((choice: number) => Usage) | null = null;
  context!: EncodeContext;
  /** Protocol headers that the client sent for an upstream of its own dialect. */
  forwarded!: ForwardedHeaders;
  /** Called with identifiers of objects that the provider stored for the client. */
  onStored!: (ids: readonly string[]) => void;
  /** Resolves when those are in the store. */
  remembered: Promise<void> | null = null;
  /** What is kept with the answer, for requests that continue it; null where it is not kept. */
  keeping: Keeping | null = null;
  /** Called when the request has ended. */
  onEnd: () => void = () => {};
  /** Recorded answers of equal requests; null where neither the model nor the key has a cache. */
  cache: CachedRequest | null = null;
  /** Reads answers on after the client has left; its signal aborts requests to upstreams. */
  drain!: Drain;
  /** Whether the request was sent to a provider. */
  isSent = false;
  /** What the last attempt threw. */
  attemptError: unknown = null;
  /** How a route answered; null where none did. */
  outcome: Outcome | null = null;
  /** Why no route answered. */
  error: unknown = null;

  constructor(call: TextCall, config: Config, upstream: Upstream) {
    this.call = call;
    this.config = config;
    this.upstream = upstream;
  }

  /** Whether stages of the request give the event loop to other requests in between. */
  get isLarge(): boolean {
    const { bytes } = this.call;
    return bytes === null || bytes > LARGE_REQUEST;
  }

  decode(body: unknown): void {
    const { dialect, address } = this.call;
    this.request = dialectNamed(dialect).decodeRequest(body, address);
  }

  inspect(): void {
    const { body } = this.request;
    this.inspection = new Inspection();
    dialectNamed(this.call.dialect).fields.check(body, this.inspection, body);
  }

  /** The client's stream for one attempt. @param secret the provider's key */
  openStream(secret: string | undefined, dialect: Dialect): GuardedStream {
    const change = this.keeping && changeFirst(this.keeping);
    return new GuardedStream(this.call.response, secret, dialect, change);
  }

  omit({ ignored = [], dropped = [] }: Partial<OmittedFields>): void {
    if (ignored.length + dropped.length === 0) return;
    const { omitted } = this;
    this.omitted = {
      ignored: [...omitted.ignored, ...ignored],
      dropped: [...omitted.dropped, ...dropped],
    };
  }
}

const NOTHING_OMITTED: OmittedFields = { ignored: [], dropped: [] };

const NONE_FORWARDED: ForwardedHeaders = { sent: {}, ignored: [] };

/** Headers of a request for upstreams of its dialect, those that the allowance does not cover left out. */
export function forwardedHeaders(
  { headers, dialect }: TextCall,
  allowance: Allowance,
): ForwardedHeaders {
  const { forwardHeaders } = dialectNamed(dialect);
  return forwardHeaders?.(headers, allowance.allows('betas')) ?? NONE_FORWARDED;
}

/**
 * The request without what only its own format has: references and hosted tools.
 *
 * @param refusal why the route cannot have one part
 * @throws Failure invalid_request where the model may call a tool, and the operator does not drop it
 */
export function withoutOwn(
  { request, inspection, hosted }: TextExecution,
  refusal: (part: NativePart) => string,
): Remaining {
  const left = withoutReferences(request, inspection);
  const stripped = hosted?.withoutNative(left.request, refusal) ?? unchanged(left.request);
  return { ...stripped, ignored: [...left.ignored, ...stripped.ignored] };
}

/** The header that names fields which only advise, or which this version does not know, and which were not sent. */
export const IGNORED_HEADER = 'x-oriel-ignored';

/** The header that names fields, tools and calls with a meaning which the operator has left out. */
const DROPPED_HEADER = 'x-oriel-dropped';

/** Names the fields that a route does not send, in place of those of an earlier route. */
export function announceOmitted(
  { call, omitted, forwarded }: TextExecution,
  ...more: readonly Partial<OmittedFields>[]
): void {
  const { response, report } = call;
  let { ignored, dropped } = omitted;
  for (const one of [...more, forwarded] as readonly Partial<OmittedFields>[]) {
    if (one.ignored?.length) ignored = ignored.concat(one.ignored);
    if (one.dropped?.length) dropped = dropped.concat(one.dropped);
  }
  // A limit of the model and one of the upstream may change the same field.
  if (dropped.length > 1) dropped = [...new Set(dropped)];
  response.setHeader(IGNORED_HEADER, ignored.length > 0 ? pathsHeader(ignored) : null);
  response.setHeader(DROPPED_HEADER, dropped.length > 0 ? pathsHeader(dropped) : null);
  report.dropped = dropped.length > MAX_PATHS ? dropped.slice(0, MAX_PATHS) : dropped;
}

/** Who gets the events of an answer, and how blocks are named that its format cannot express. */
export function clientOf({ call, request, publicModel }: TextExecution) {
  const { report, response } = call;
  return {
    ...{ dialect: request.dialect, model: publicModel, trace: report.trace },
    onLeftOut(name: string) {
      if (report.dropped.length >= MAX_PATHS || report.dropped.includes(name)) return;
      report.dropped = [...report.dropped, name];
      response.setHeader(DROPPED_HEADER, pathsHeader(report.dropped));
    },
  };
}

/** Paths in one header. */
const MAX_PATHS = 20;

/** Characters in one header. */
const MAX_HEADER = 1000;

/** Paths of a request that are compared with each other. */
const MAX_COMPARED = 10_000;

/** The value of a header that names fields by their paths; of too many, first one for each name, whatever its index. */
export function pathsHeader(paths: readonly string[]): string {
  let header = '';
  for (const path of paths.length > MAX_PATHS ? namesFirst(paths) : paths) {
    const shown = path.slice(0, MAX_HEADER).replace(/[^\x21-\x7e]/g, '?');
    const next = header === '' ? shown : `${header}, ${shown}`;
    if (next.length > MAX_HEADER) break;
    header = next;
  }
  return header;
}

/** The paths that one header has: agents repeat an unknown field in every item of a long conversation. */
function namesFirst(paths: readonly string[]): readonly string[] {
  const names = new Set<string>();
  const further: string[] = [];
  const first = paths.slice(0, MAX_COMPARED).filter((path) => {
    const name = path.replace(/\[\d+\]/g, '[]');
    const isNew = !names.has(name);
    if (isNew) names.add(name);
    else further.push(path);
    return isNew;
  });
  return [...first, ...further].slice(0, MAX_PATHS);
}

/** One request of one client. */
export interface TextCall {
  /** The request's identifier in the log. */
  readonly requestId: string;
  readonly dialect: DialectName;
  readonly address: RequestAddress;
  readonly body: unknown;
  /** Content-Length of the request; null for a chunked body. */
  readonly bytes: number | null;
  readonly headers: Headers;
  readonly holder: KeyHolder;
  /** Aborts when the client disconnects or the grace of a shutdown ends; the reason is a Failure. */
  readonly clientDisconnect: LightAbortSignal;
  /** The stream to the client; it also takes headers of a whole answer. */
  readonly response: ResponseStream;
  /**
   * Counts the request by limits of tokens and of requests at once; absent where there are none.
   *
   * @throws Failure rate_limit
   */
  readonly admit?: MeterOptions['admit'];
  /** Where credits are reserved and charged; absent for the store. */
  readonly ledger?: Ledger | undefined;
  /** Whether no client waits for the answer. */
  readonly isBackground?: true;
  /** Called once the charge is to be written at the end of this tick; the answer follows it. */
  readonly onCharging: () => void;
  /** Responses of the client's connection, which later requests of it can continue without the store. */
  readonly earlier?: {
    find(id: string): StoredResponse | undefined;
    keep(stored: StoredResponse): void;
  };
  /** Whether the request is only prepared, for a later one that continues it. */
  readonly isWarmUp?: boolean;
  /** Whether a provider of responses replaces the conversation by its own compaction. */
  readonly isCompaction?: boolean;
  /** Keeps the answer in place of the store's usual way. Resolves with whether it is to be charged. */
  readonly keep?: (stored: StoredResponse) => Promise<boolean>;
  /** What takes the place of a provider, of which only routes with `batches` are tried. */
  readonly batched?: { readonly provider: string; readonly upstream: Upstream } | undefined;
  /** Filled while the request is answered. */
  readonly report: TextReport;
}
