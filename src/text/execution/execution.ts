import {
  maxOutputTokensOf,
  reasoningOf,
  type TextModel,
  type TextRoute,
} from '../../config/catalog.ts';
import type { Config } from '../../config/schema.ts';
import { Failure } from '../../failure.ts';
import { type ProviderOrigin, redactForClient, redactKeyInBody } from '../../routing/redaction.ts';
import { upstreamFailure } from '../../routing/upstream-failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, objectsOf } from '../../schema/untrusted.ts';
import { type AbortSignalLike, linkedSignal } from '../../upstream/abort-signal.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import type { Timeouts } from '../../upstream/request.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { UsageTracker } from '../billing/usage-tracker.ts';
import type { TextCall } from '../call.ts';
import type { Json, TextEvent, TextRequest } from '../canonical.ts';
import type { EncodeContext, Target } from '../dialects/dialect.ts';
import { DIALECTS } from '../dialects/dialects.ts';
import type { Inspection } from '../dialects/inspection.ts';
import { namesOf } from '../dialects/tool-names.ts';
import type { Allowance } from '../policy/allowance.ts';
import type { Ruled } from '../policy/rules.ts';
import { passOn } from '../relay/client-events.ts';
import { BufferSink, type Delivery, StreamSink } from '../relay/event-sinks.ts';
import { GuardedStream } from '../relay/guarded-stream.ts';
import { renameModel } from '../relay/model-name.ts';
import { Relay } from '../relay/relay.ts';
import { isEventStream, observed, readEvents, readJson } from '../relay/upstream-response.ts';
import { answerFromSandbox } from '../sandbox/sandbox.ts';
import { canPass, passBody } from './pass-through.ts';
import {
  type Betas,
  betasOf,
  dialectOf,
  headersOf,
  type RemoteProvider,
  urlOf,
} from './upstream-request.ts';

/** How a try ended of which the client has been told something. */
export interface Outcome {
  /** The whole answer as JSON; null where it was streamed. */
  readonly body: string | null;
  /** Frames that end the stream, to be sent once the answer is charged; empty where it was none. */
  readonly end: string;
  /** What the stream ended with; null where all is well. */
  readonly failure: Failure | null;
}

interface AttemptOptions {
  readonly call: TextCall;
  /** What the request asks for beyond what is metered and stateless. */
  readonly inspection: Inspection;
  readonly allowance: Allowance;
  /** Paths of what was removed from the body. */
  readonly dropped: readonly string[];
  /** Called with identifiers of what the provider stored for the client. */
  readonly given: (ids: readonly string[]) => void;
  readonly ruled: Ruled;
  readonly model: TextModel;
  readonly config: Config;
  readonly tracker: UsageTracker;
  readonly signal: AbortSignalLike;
}

/** One answer that is being read. */
interface Reading {
  readonly target: Target;
  readonly sink: StreamSink | BufferSink;
  readonly choice: number;
  /** What no failure may tell. */
  readonly origin: ProviderOrigin;
}

/** The largest answer that says why a request failed. */
const MOST_OF_FAILURE = 1024 * 1024;

/** The header that names what was left out on the way to an upstream that has no word for it. */
const IGNORED = 'x-oriel-ignored';

/** One request on its way to one route, and what comes of it. */
export class Attempt {
  readonly #options: AttemptOptions;
  readonly #upstream: UpstreamClient;
  /** The model that answers name; null for the upstream's own name. */
  readonly #model: string | null;
  readonly #betas: Betas;
  /** What is answered, and when. */
  readonly context: EncodeContext;

  constructor(options: AttemptOptions, upstream: UpstreamClient) {
    this.#options = options;
    this.#upstream = upstream;
    const { request } = options.ruled;
    this.#model = options.config.answers.model === 'public' ? request.model : null;
    this.#betas = betasOf(options.call.headers, options.allowance.allows('betas'));
    this.context = { request, created: Math.floor(Date.now() / 1000) };
  }

  /**
   * Tries a route.
   *
   * @param remaining milliseconds that are left for it
   * @throws Failure where the client has been told nothing yet
   */
  async run(route: TextRoute, remaining: number): Promise<Outcome> {
    const { config, model, ruled } = this.#options;
    const { request } = ruled;
    const provider = config.providers[route.provider]!;
    const isSandbox = provider.kind === 'sandbox';
    const target: Target = {
      dialect: isSandbox ? request.dialect : dialectOf(route, provider, request.dialect),
      provider: route.provider,
      model: route.model,
      rules: model.rules ?? null,
      reasons: reasoningOf(model).supported_efforts.length > 0,
      maxOutputTokens: maxOutputTokensOf(model),
    };
    if (isSandbox) return this.#sandbox(target, remaining);
    const { timeouts: usual } = config.routing;
    // An answer that is not streamed begins when it is complete.
    const firstByte = request.stream ? usual.firstByte : 0;
    const timeouts = { ...usual, firstByte, total: Math.max(1, remaining) };
    const go = canPass(request, target) ? this.#pass : this.#translate;
    return go.call(this, provider, target, timeouts);
  }

  async #open(
    provider: RemoteProvider,
    { dialect }: Target,
    body: Json,
    { timeouts, signal }: { readonly timeouts: Timeouts; readonly signal: AbortSignalLike },
  ): Promise<UpstreamResponse> {
    const { call } = this.#options;
    const exchange = await this.#upstream.open(urlOf(provider, dialect), {
      name: 'The provider',
      headers: headersOf(provider, dialect, call, this.#betas),
      body: JSON.stringify(body),
      timeouts,
      signal,
    });
    if (exchange.status >= 200 && exchange.status < 300) return exchange;
    const text = await exchange.bytes(MOST_OF_FAILURE).then(String, () => '');
    throw upstreamFailure(exchange.status, tryParseJson(text) ?? text, {
      retryAfter: exchange.headers['retry-after'],
      retryAfterMs: exchange.headers['retry-after-ms'],
      apiKey: provider.apiKey,
    });
  }

  /** The client's own body there, the upstream's own bytes back. */
  async #pass(provider: RemoteProvider, target: Target, timeouts: Timeouts): Promise<Outcome> {
    const { ruled, tracker, signal, allowance, inspection } = this.#options;
    const { request, changedSettings } = ruled;
    allowance.check(inspection, provider.shared !== false);
    const origin = originOf(provider, target);
    const body = passBody(request, target, changedSettings);
    this.#announce([]);
    tracker.begin(1);
    const exchange = await this.#open(provider, target, body, { timeouts, signal });
    if (isEventStream(exchange) !== request.stream) {
      // It gives a stream where none was asked for, or none where one was.
      return this.#receive(1, origin, (sink) =>
        this.#read(exchange, { target, sink, choice: 0, origin }),
      );
    }
    const dialect = DIALECTS[target.dialect];
    if (!request.stream) {
      const { usage, body: answer } = observed(dialect, await readJson(exchange));
      if (usage) tracker.usage(usage);
      tracker.finish();
      if (this.#model !== null) renameModel(answer, this.#model);
      this.#remember(answer, target);
      const { error } = answer;
      const clear = error ? { ...answer, error: errorForClient(error, origin) } : answer;
      return {
        body: redactKeyInBody(JSON.stringify(clear), provider.apiKey),
        end: '',
        failure: null,
      };
    }
    const clean = (failure: Failure) => redactForClient(failure, origin);
    const response = new GuardedStream(this.#options.call.response, provider.apiKey);
    const { context } = this;
    const answered = (answer: Json) => this.#remember(answer, target);
    const relay = new Relay({
      dialect,
      context,
      model: this.#model,
      response,
      tracker,
      answered,
      clean,
    });
    try {
      await relay.run(exchange);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      relay.fail(error);
    } finally {
      if (relay.failure) exchange.abort();
    }
    if (relay.failure && !relay.committed) throw relay.failure;
    return { body: null, end: response.last(relay.end), failure: relay.failure };
  }

  /** The request in the upstream's dialect there, its events in the client's back. */
  async #translate(provider: RemoteProvider, target: Target, timeouts: Timeouts): Promise<Outcome> {
    const { ruled, allowance, inspection } = this.#options;
    // Only a route of the client's own dialect is asked for several answers in one request.
    const choices = ruled.request.n ?? 1;
    const request = { ...ruled.request, n: null };
    const body = DIALECTS[target.dialect].encodeRequest(request, target);
    allowance.check(inspection, provider.shared !== false);
    this.#announce(ignoredAdvice(ruled.request, body, target));
    const origin = originOf(provider, target);
    return this.#receive(choices, origin, async (sink, choice, signal) => {
      const exchange = await this.#open(provider, target, body, { timeouts, signal });
      await this.#read(exchange, { target, sink, choice, origin });
    });
  }

  async #sandbox(target: Target, remaining: number): Promise<Outcome> {
    const { ruled, call } = this.#options;
    const { signal: cancellation, release } = linkedSignal(this.#options.signal);
    const controller = new AbortController();
    cancellation.addEventListener('abort', () => controller.abort(cancellation.reason));
    if (cancellation.aborted) controller.abort(cancellation.reason);
    const timer = setTimeout(() => cancellation.abort(sandboxIsLate()), remaining);
    try {
      const { dialect } = target;
      const origin = { name: target.provider };
      const options = { dialect, target, model: this.#model, origin };
      return await this.#receive(ruled.request.n ?? 1, origin, async (sink, choice) => {
        const push = (event: TextEvent) => sink.push(event, choice);
        await answerFromSandbox(ruled.request, target, {
          signal: controller.signal,
          emit: (event) => {
            passOn(event, options, push);
            return sink.flush() ? undefined : call.response.drained();
          },
        });
      });
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  /** Reads one answer into a sink. */
  async #read(
    exchange: UpstreamResponse,
    { target, sink, choice, origin }: Reading,
  ): Promise<void> {
    const { ruled, call } = this.#options;
    const context = { provider: target.provider, toolName: namesOf(ruled.request) };
    let over = false;
    const options = { dialect: ruled.request.dialect, target, model: this.#model, origin };
    const push = (event: TextEvent) => sink.push(event, choice);
    const decoder = DIALECTS[target.dialect].decodeEvents(context, (event) => {
      if (event.type === 'finish' || event.type === 'error') over = true;
      passOn(event, options, push);
    });
    const response = ruled.request.stream ? call.response : null;
    try {
      await readEvents(exchange, decoder, sink, { response, isOver: () => over });
    } finally {
      if (!over || sink.failure) exchange.abort();
    }
  }

  /** Runs the tries of all `n` answers, and makes one answer of them. */
  async #receive(
    choices: number,
    origin: ProviderOrigin,
    run: (sink: StreamSink | BufferSink, choice: number, signal: AbortSignalLike) => Promise<void>,
  ): Promise<Outcome> {
    const { ruled, tracker } = this.#options;
    const { request } = ruled;
    const delivery: Delivery = {
      dialect: DIALECTS[request.dialect],
      context: this.context,
      choices,
    };
    const response = new GuardedStream(this.#options.call.response, origin.apiKey);
    const sink = request.stream
      ? new StreamSink(delivery, response, tracker)
      : new BufferSink(delivery, tracker);
    tracker.begin(choices);
    const { signal: siblings, release } = linkedSignal(this.#options.signal);
    const tryOne = async (choice: number) => {
      try {
        await run(sink, choice, siblings);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        sink.push({ type: 'error', failure: redactForClient(error, origin) }, choice);
        sink.flush();
      }
      // One answer that fails is the failure of all: the others need not be paid for.
      if (sink.failure) siblings.abort(sink.failure);
    };
    try {
      await (choices === 1
        ? tryOne(0)
        : Promise.all(Array.from({ length: choices }, (_, choice) => tryOne(choice))));
    } finally {
      release();
    }
    const { failure } = sink;
    if (failure && !sink.committed) throw failure;
    if (sink instanceof StreamSink) {
      return { body: null, end: response.last(sink.end), failure };
    }
    return {
      body: redactKeyInBody(JSON.stringify(sink.answer()), origin.apiKey),
      end: '',
      failure,
    };
  }

  /** Remembers what a provider of responses stored for the client, which may name it later. */
  #remember(answer: Json, { dialect }: Target): void {
    if (dialect !== 'responses' || this.#options.ruled.request.body['store'] === false) return;
    const ids = [answer['id'], ...objectsOf(answer['output']).map(({ id }) => id)];
    this.#options.given(ids.filter((id) => typeof id === 'string'));
  }

  /** Tells the client what of its request was left out. @param advice paths */
  #announce(advice: readonly string[]): void {
    const { call, dropped } = this.#options;
    const ignored = [...dropped, ...advice, ...this.#betas.ignored];
    if (ignored.length === 0) return;
    const shown = ignored.slice(0, 20).map((path) => path.replace(/[^\x21-\x7e]/g, '?'));
    call.response.announce(IGNORED, shown.join(', ').slice(0, 1000));
  }
}

/** Paths of advice that a translated request has no word for. */
function ignoredAdvice(
  { advice }: TextRequest,
  body: Json,
  { dialect }: Target,
): readonly string[] {
  return advice.filter((path) => {
    return body[path] === undefined && !(dialect !== 'messages' && path.endsWith('.detail'));
  });
}

/** Why a response failed that is answered whole, with its status. */
function errorForClient(error: unknown, origin: ProviderOrigin): unknown {
  const { code, message } = redactForClient(upstreamFailure(null, { error }), origin);
  return isObject(error) ? { code: code ?? 'server_error', message } : message;
}

function originOf({ apiKey, baseUrl }: RemoteProvider, { provider: name }: Target): ProviderOrigin {
  return { name, apiKey, baseUrl };
}

function sandboxIsLate(): Failure {
  return new Failure('timeout', 'the sandbox did not answer in time', { code: 'total_timeout' });
}
