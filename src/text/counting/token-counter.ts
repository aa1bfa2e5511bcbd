import type { TextModel } from '../../config/catalog/catalog.ts';
import { isRemote, kindOf, type Provider } from '../../config/providers/provider-kinds.ts';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { nextTurn } from '../../flow.ts';
import type { RoutingObserver } from '../../routing/observer.ts';
import { openProvider } from '../../routing/provider-request.ts';
import { longestTotal, timeoutsUntil } from '../../routing/retry-policy.ts';
import { routeCandidates } from '../../routing/route-candidates.ts';
import { Routing } from '../../routing/routing.ts';
import type { TextJobs } from '../../threads/text-threads.ts';
import { networkPolicyOf } from '../../upstream/network-policy.ts';
import type { Json } from '../canonical/canonical.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import { Inspection } from '../dialects/inspection.ts';
import { dialectNamed } from '../dialects/registry.ts';
import type { TextCall } from '../execution/execution.ts';
import { findModelOfType, targetOf } from '../execution/model-routes.ts';
import { Allowance } from '../policy/allowance.ts';
import { readJson } from '../relay/upstream-response.ts';
import { applyRules } from '../stages/apply-model-rules.ts';
import { removeUnknown } from '../stages/ignore-unknown-fields.ts';
import { checkAddresses } from '../stages/inspect-request.ts';
import type { TextGatewayOptions } from '../stages/stage.ts';
import { estimateTokens } from './estimate.ts';

export interface TokenCounterOptions extends Pick<TextGatewayOptions, 'config' | 'upstream'> {
  readonly textThreads: TextJobs;
  readonly observer: RoutingObserver;
}

type CallField = 'requestId' | 'dialect' | 'address' | 'body' | 'headers' | 'holder';

/** A request whose tokens a client wants to know. */
interface CountCall extends Pick<TextCall, CallField> {
  /** Aborts when the client disconnects; the reason is a Failure. */
  readonly signal: AbortSignal;
}

export interface Count {
  /** The answer for the client. */
  readonly answer: Json;
  /** Whether they were counted by a tokenizer of this server, which may not be the model's. */
  readonly isEstimate: boolean;
  /** Paths of fields and betas that were not sent to the upstream. */
  readonly ignored: readonly string[];
}

/**
 * Counts the tokens of requests: by upstreams of the client's own dialect, else by a tokenizer. Its
 * circuits are its own: counting has limits of its own at providers, and must not cool their models down.
 */
export class TokenCounter {
  readonly #options: TokenCounterOptions;
  readonly #routing: Routing;

  constructor(options: TokenCounterOptions) {
    this.#options = options;
    this.#routing = new Routing(options.config, { onAttempt: options.observer.onAttempt });
  }

  /** @throws Failure of the request, or of the last upstream that was asked */
  async count(call: CountCall): Promise<Count> {
    const counting = checked(call, this.#options.config());
    const { model, deadline } = counting;
    // Another turn of the event loop: writing a large request takes as long as reading it.
    await nextTurn();
    return this.#routing.run({
      model: counting.request.model,
      accountId: call.holder.account.id,
      logContext: { requestId: call.requestId },
      candidates: routeCandidates(model, counting.wildcardPart),
      providers: counting.config.providers,
      signal: call.signal,
      deadline,
      attempt: ({ route }, provider) => this.#countBy(counting, route, provider),
    });
  }

  async #countBy(
    counting: ReturnType<typeof checked>,
    route: TextModel['routes'][number],
    provider: Provider,
  ): Promise<Count> {
    const {
      call,
      config,
      dialect,
      counting: own,
      request,
      model,
      wildcardPart,
      dropped,
    } = counting;
    const { upstream, textThreads } = this.#options;
    const target = targetOf(route, provider, request.dialect, model, wildcardPart);
    const estimate = async (): Promise<Count> => {
      const context = { client: call.holder.account.id, signal: call.signal };
      const tokens = await estimateTokens(textThreads, request, context);
      return { answer: own.answer(tokens, null), isEstimate: true, ignored: dropped };
    };
    if (!isRemote(provider)) return estimate();
    counting.allowance.check(counting.inspection, provider.shared !== false);
    const isCounted = kindOf(provider).countsTokens !== false;
    if (target.dialect !== request.dialect || !isCounted) return estimate();
    const { body, ignored } = own.encodeRequest(request, target);
    const forwarded = dialect.forwardHeaders?.(call.headers, counting.allowance.allows('betas'));
    try {
      const exchange = await openProvider(upstream, provider, {
        path: own.path(target),
        model: target.model,
        headers: { ...dialect.headers, ...forwarded?.sent },
        json: body,
        timeouts: timeoutsUntil(counting.deadline, config, provider),
        signal: call.signal,
      });
      const received = await readJson(exchange);
      const tokens = own.tokensOf(received);
      if (tokens === null) throw invalidAnswer('a count without a number of tokens');
      return {
        answer: own.answer(tokens, received),
        isEstimate: exchange.headers[ESTIMATE_HEADER] === 'true',
        ignored: [...dropped, ...ignored, ...(forwarded?.ignored ?? [])],
      };
    } catch (error) {
      // Many servers have the format's messages and nothing else of it.
      if (error instanceof Failure && error.code === 'upstream_not_found') return estimate();
      throw error;
    }
  }
}

/** A checked request, for all its routes. @throws Failure invalid_request, auth_error */
function checked(call: CountCall, config: Config) {
  const dialect = dialectNamed(call.dialect);
  const counting = dialect.counting!;
  const decoded = counting.decodeRequest(call.body, call.address);
  const { id, part, model } = findModelOfType('text', decoded.model, config, call.holder);
  // No stored objects are looked up, so that a request can name none.
  const allowance = new Allowance(id, model, call.holder);
  const inspection = new Inspection();
  dialect.fields.check(decoded.body, inspection, decoded.body);
  checkAddresses(inspection, networkPolicyOf(config.network));
  const dropped = allowance.allows('unknown')
    ? []
    : removeUnknown(inspection, decoded.body, id, model);
  const { request } = applyRules(decoded, id, model, config.billing.maxOutputTokens);
  const deadline = performance.now() + longestTotal(config, model.routes);
  const wildcardPart = part;
  return {
    ...{ call, config, dialect, counting, request, model, wildcardPart },
    ...{ inspection, allowance, dropped, deadline },
  };
}

/** The header that marks a count as an estimate. */
export const ESTIMATE_HEADER = 'x-oriel-estimate';
