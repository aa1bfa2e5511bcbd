import type { EmbeddingModel } from '../../config/catalog/catalog.ts';
import { upstreamModelOf } from '../../config/catalog/model-names.ts';
import { isRemote, kindOf, type RemoteProvider } from '../../config/providers/provider-kinds.ts';
import { Failure } from '../../failure.ts';
import { redactKeyInBody } from '../../routing/redaction.ts';
import { longestTotal } from '../../routing/retry-policy.ts';
import { unknownToProvider } from '../../routing/route-candidates.ts';
import { Routing } from '../../routing/routing.ts';
import { reportCharge } from '../billing/charge-report.ts';
import { invalid } from '../dialects/request-errors.ts';
import { openCache } from '../execution/answer-cache.ts';
import type { TextCall } from '../execution/execution.ts';
import { findModelOfType } from '../execution/model-routes.ts';
import { openProvider, timeoutsUntil } from '../execution/upstream-request.ts';
import { readJson } from '../relay/upstream-response.ts';
import type { TextGatewayOptions } from '../stages/stage.ts';
import { type Embeddings, parseAnswer, writeEmbeddings } from './answer.ts';
import { FORMATS } from './formats.ts';
import { reserveForEmbeddings } from './meter.ts';
import { decodeEmbeddings, type EmbeddingsRequest, inputTokensOf } from './request.ts';
import { embedBySandbox } from './sandbox.ts';

/** One request of one client. */
type EmbeddingsCall = Pick<
  TextCall,
  'requestId' | 'body' | 'headers' | 'holder' | 'report' | 'admit'
> & {
  /** Aborts when the client disconnects; the reason is a Failure. */
  readonly signal: AbortSignal;
};

/** Answers requests for embeddings by the routes of their models. */
export class EmbeddingsGateway {
  readonly #options: Omit<TextGatewayOptions, 'admitPrompt'>;
  readonly routing: Routing;

  constructor(options: Omit<TextGatewayOptions, 'admitPrompt'>) {
    this.#options = options;
    this.routing = new Routing(options.config, options.observer);
  }

  /** @returns the response as JSON */
  async answer(call: EmbeddingsCall): Promise<string> {
    const { requestId, body, headers, holder, report, signal } = call;
    const { store, upstream, observer } = this.#options;
    const config = this.#options.config();
    const request = decodeEmbeddings(body);
    const { id, part, model } = findModelOfType('embedding', request.model, config, holder);
    report.model = id;
    checkTokens(request, model);
    const tokens = inputTokensOf(request, model.contextWindow ?? Infinity);
    await call.admit?.({ input: tokens.likely, output: 0 });
    const meter = await reserveForEmbeddings(store, holder, {
      id,
      model,
      tokens,
      tags: report.tags,
      trustUpstream: config.billing.trustUpstream,
    });
    const settle = async (tokens: number | null) => {
      const charge = await meter.settle(tokens, isHit());
      reportCharge(charge, { report, requestId }, observer);
      return charge.used.input;
    };
    const deadline = performance.now() + longestTotal(config, model.routes);
    const own = { holder, headers, id, model, report, isCacheable: true };
    const cache = openCache({ cache: this.#options.cache, ...own });
    let secret: string | undefined;
    const isHit = () => report.cache === 'hit';
    const through = cache?.through({ isKept: () => true }) ?? upstream;
    const ask = (route: EmbeddingModel['routes'][number], provider: RemoteProvider) => {
      const upstreamModel = upstreamModelOf(route, part);
      report.provider = route.provider;
      report.upstreamModel = upstreamModel;
      secret = provider.apiKey;
      const format = FORMATS[kindOf(provider).embeddings ?? 'openai'];
      return openProvider(through, provider, {
        path: format.path(upstreamModel),
        model: upstreamModel,
        headers: {},
        trace: report.trace,
        body: format.body(request, upstreamModel),
        timeouts: timeoutsUntil(deadline, config, provider),
        signal,
      }).then(async (exchange) => format.read(request, await readJson(exchange, parseAnswer)));
    };
    let embeddings: Embeddings;
    try {
      embeddings = await this.routing.run({
        model: id,
        accountId: holder.account.id,
        logContext: { requestId },
        trace: report.attemptLog,
        candidates: this.routing.candidatesOf(model),
        providers: config.providers,
        signal,
        deadline,
        attempt: async ({ route }, provider) => {
          if (isRemote(provider)) return ask(route, provider);
          const upstreamModel = upstreamModelOf(route, part);
          report.provider = route.provider;
          report.upstreamModel = upstreamModel;
          return embedBySandbox(request, { model: upstreamModel, deadline, signal });
        },
        isReplayed: isHit,
        async replay({ route }, provider) {
          if (!cache || !isRemote(provider)) return null;
          return cache.replay(signal, () => ask(route, provider));
        },
      });
      cache?.end('answered');
    } catch (error) {
      cache?.end(signal.aborted ? 'abandoned' : 'failed');
      // The provider has worked for a client that left, and charges for it.
      const isCharged =
        signal.aborted || (error instanceof Failure && error.type === 'billable_error');
      if (isCharged) await settle(null);
      else await meter.release();
      throw part === null ? error : unknownToProvider(error, id, request.model);
    } finally {
      if (report.cache !== null) observer.cached(id, report.cache);
    }
    const used = await settle(embeddings.tokens);
    const isPublic = config.answers.model === 'public' || embeddings.model === null;
    const name = isPublic ? request.model : embeddings.model!;
    return redactKeyInBody(await writeEmbeddings(embeddings, name, used), secret);
  }
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
