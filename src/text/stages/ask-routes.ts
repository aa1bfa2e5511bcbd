import { isPriced, type TextRoute } from '../../config/catalog/catalog.ts';
import { upstreamModelOf } from '../../config/catalog/model-names.ts';
import { isRemote } from '../../config/providers/provider-kinds.ts';
import { nextTurn } from '../../flow.ts';
import { longestTotal } from '../../routing/retry-policy.ts';
import { unknownToProvider } from '../../routing/route-candidates.ts';
import { isSpread } from '../../routing/route-order.ts';
import { textCacheOf } from '../execution/answer-cache.ts';
import type { Outcome } from '../execution/execution.ts';
import { runRoute } from '../execution/run-route.ts';
import { conversationOf } from '../policy/conversation.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import type { Stage } from './stage.ts';

/** Sends the request by the routes of its model, in turn until one answers. */
export const askRoutes: Stage = async (execution, services) => {
  const { call, config, model, modelId, wildcardPart, request, tracker } = execution;
  const { clientDisconnect, holder, report } = call;
  const { affinity, store } = services;
  execution.drain = services.drains.begin({
    accountId: holder.account.id,
    clientDisconnect,
    timeout: config.billing.drainTimeout,
    isWorthwhile: () => execution.isSent && isPriced(model),
  });
  services.open.add(clientDisconnect);
  const stored = new StoredResponses(store, holder.account.id, config);
  execution.onStored = (ids) => {
    execution.remembered = stored.remember(ids);
  };
  const cache = textCacheOf(execution, services.cache);
  execution.cache = cache;
  const deadline = performance.now() + longestTotal(config, model.routes);
  const isSpreading = isSpread(model);
  const all = services.routing.candidatesOf(
    model,
    wildcardPart,
    request.stream ? 'stream' : 'whole',
  );
  const batching = all.filter(
    ({ route }) => route.batches && route.provider === call.batched?.provider,
  );
  const candidates = batching.length > 0 ? batching : all;
  let firstFrameAt: number | null = null;
  call.response.onFirstFrame = () => {
    firstFrameAt = performance.now();
  };
  const conversation = candidates.length > 1 ? conversationOf(request, modelId, holder) : null;
  let answering = candidates[0]!;
  const nameRoute = (route: TextRoute) => {
    report.provider = route.provider;
    report.upstreamModel = upstreamModelOf(route, wildcardPart);
  };
  try {
    const outcome = await services.routing.run({
      model: modelId,
      accountId: holder.account.id,
      logContext: { requestId: call.requestId },
      trace: report.attemptLog,
      candidates: conversation ? affinity.order(candidates, conversation) : candidates,
      providers: config.providers,
      windowOf: ({ route }) => route.contextWindow ?? model.contextWindow ?? 0,
      ...(request.stream && { firstFrameAt: () => firstFrameAt }),
      signal: clientDisconnect,
      deadline,
      attempt: async (candidate, provider) => {
        if (execution.isLarge) await nextTurn();
        answering = candidate;
        execution.isSent = isRemote(provider);
        nameRoute(candidate.route);
        try {
          return await runRoute(execution, candidate.route, provider, deadline);
        } catch (error) {
          execution.attemptError = error;
          throw error;
        }
      },
      isReplayed: () => report.cache === 'hit',
      async replay({ route }, provider) {
        // Several answers may have begun before one is found missing.
        if (!cache || !isRemote(provider) || (request.n ?? 1) > 1) return null;
        const outcome = await cache.replay(clientDisconnect, () => {
          nameRoute(route);
          return runRoute(execution, route, provider, deadline);
        });
        if (outcome === null) tracker.reset();
        return outcome;
      },
      failureOf: ({ failure }: Outcome) => failure,
      onAttemptFailed: () => tracker.reset(),
    });
    if (conversation && outcome.failure === null) {
      affinity.answered(answering, isSpreading ? [] : candidates, conversation);
    }
    execution.outcome = outcome;
  } catch (error) {
    execution.error =
      wildcardPart === null ? error : unknownToProvider(error, modelId, request.model);
  }
};
