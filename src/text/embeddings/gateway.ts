import type { EmbeddingModel } from '../../config/catalog/catalog.ts';
import { upstreamModelOf } from '../../config/catalog/model-names.ts';
import { isRemote, kindOf, type Provider } from '../../config/providers/provider-kinds.ts';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { redactKeyInBody } from '../../routing/redaction.ts';
import { longestTotal, timeoutsOf } from '../../routing/retry-policy.ts';
import { routeCandidates, unknownToProvider } from '../../routing/route-candidates.ts';
import { Routing } from '../../routing/routing.ts';
import type { KeyHolder, Store } from '../../store/store.ts';
import type { UpstreamClient } from '../../upstream/client.ts';
import { reportCharge, type TextObserver } from '../billing/charge-report.ts';
import type { TextReport } from '../canonical/report.ts';
import { invalid } from '../dialects/request-errors.ts';
import { findModelOfType } from '../execution/model-routes.ts';
import { openProvider } from '../execution/upstream-request.ts';
import { readJson } from '../relay/upstream-response.ts';
import { type Embeddings, parseAnswer, writeEmbeddings } from './answer.ts';
import type { EmbeddingsFormat } from './format.ts';
import { geminiEmbeddings } from './gemini.ts';
import { EmbeddingsMeter } from './meter.ts';
import { openaiEmbeddings } from './openai.ts';
import { decodeEmbeddings, type EmbeddingsRequest, inputTokensOf } from './request.ts';
import { embedBySandbox } from './sandbox.ts';

const FORMATS = {
  openai: openaiEmbeddings,
  gemini: geminiEmbeddings,
} satisfies Readonly<Record<string, EmbeddingsFormat>>;

export interface EmbeddingsGatewayOptions {
  /** Returns the configuration in force. */
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: UpstreamClient;
  readonly observer: TextObserver;
}

/** One request of one client. */
export interface EmbeddingsCall {
  readonly requestId: string;
  readonly body: unknown;
  readonly holder: KeyHolder;
  /** Filled while the request is answered. */
  readonly report: TextReport;
  /** Aborts when the client disconnects; the reason is a Failure. */
  readonly signal: AbortSignal;
}

/** Answers requests for embeddings by the routes of their models. */
export class EmbeddingsGateway {
  readonly #options: EmbeddingsGatewayOptions;
  readonly routing: Routing;

  constructor(options: EmbeddingsGatewayOptions) {
    this.#options = options;
    this.routing = new Routing(options.config, options.observer);
  }

  /** @returns the response as JSON */
  async answer({ requestId, body, holder, report, signal }: EmbeddingsCall): Promise<string> {
    const { store, observer } = this.#options;
    const config = this.#options.config();
    const request = decodeEmbeddings(body);
    const { id, part, model } = findModelOfType('embedding', request.model, config, holder);
    report.model = id;
    checkTokens(request, model);
    const meter = await EmbeddingsMeter.open(store, holder, {
      id,
      model,
      tokens: inputTokensOf(request, model.contextWindow ?? Infinity),
      trustUpstream: config.billing.trustUpstream,
    });
    const settle = async (tokens: number | null) => {
      const charge = await meter.settle(tokens);
      reportCharge(charge, { report, requestId }, observer);
      return charge.used.input;
    };
    const deadline = performance.now() + longestTotal(config, model.routes);
    let secret: string | undefined;
    let embeddings: Embeddings;
    try {
      embeddings = await this.routing.run({
        model: id,
        accountId: holder.account.id,
        logContext: { requestId },
        trace: report.trace,
        candidates: routeCandidates(model),
        providers: config.providers,
        signal,
        deadline,
        attempt: ({ route }, provider) => {
          secret = isRemote(provider) ? provider.apiKey : undefined;
          const upstreamModel = upstreamModelOf(route, part);
          report.attempts += 1;
          report.provider = route.provider;
          report.upstreamModel = upstreamModel;
          const { trace } = report;
          const target = { provider, model: upstreamModel, deadline, trace, signal };
          return this.#embed(config, request, target);
        },
      });
    } catch (error) {
      // The provider has worked for a client that left, and charges for it.
      const isCharged =
        signal.aborted || (error instanceof Failure && error.type === 'billable_error');
      if (isCharged) await settle(null);
      else await meter.release();
      throw part === null ? error : unknownToProvider(error, id, request.model);
    }
    const tokens = await settle(embeddings.tokens);
    const isPublic = config.answers.model === 'public' || embeddings.model === null;
    const name = isPublic ? request.model : embeddings.model!;
    return redactKeyInBody(await writeEmbeddings(embeddings, name, tokens), secret);
  }

  async #embed(
    config: Config,
    request: EmbeddingsRequest,
    { provider, model, deadline, trace, signal }: EmbeddingsTarget,
  ): Promise<Embeddings> {
    if (!isRemote(provider)) return embedBySandbox(request, { model, deadline, signal });
    const timeouts = timeoutsOf(config, provider);
    const remaining = Math.min(timeouts.total, deadline - performance.now());
    const format = FORMATS[kindOf(provider).embeddings ?? 'openai'];
    const exchange = await openProvider(this.#options.upstream, provider, {
      path: format.path(model),
      model,
      headers: {},
      trace,
      body: format.body(request, model),
      timeouts: { ...timeouts, firstByte: 0, total: Math.max(1, remaining) },
      signal,
    });
    return format.read(request, await readJson(exchange, parseAnswer));
  }
}

/** Where a request is sent. */
interface EmbeddingsTarget {
  readonly provider: Provider;
  /** The provider's name of the model. */
  readonly model: string;
  /** Time of `performance.now()` by which an answer is needed. */
  readonly deadline: number;
  readonly trace: TextReport['trace'];
  readonly signal: AbortSignal;
}

/** @throws Failure for lists of more tokens, or vectors of more numbers, than the model has */
function checkTokens({ items, input, dimensions }: EmbeddingsRequest, model: EmbeddingModel): void {
  const { contextWindow: window, dimensions: most } = model;
  if (most !== undefined && dimensions !== null && dimensions > most) {
    throw invalid('dimensions', `expected at most ${most}, received ${dimensions}`);
  }
  if (window === undefined) return;
  const long = items.findIndex((item) => typeof item !== 'string' && item.length > window);
  if (long === -1) return;
  const path = items[long] === input ? 'input' : `input[${long}]`;
  throw invalid(path, `expected at most ${window} tokens, received ${items[long]!.length}`);
}
