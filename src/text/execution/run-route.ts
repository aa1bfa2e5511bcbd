import type { TextRoute } from '../../config/catalog/catalog.ts';
import { isRemote, type Provider } from '../../config/providers/provider-kinds.ts';
import { secretsRedactor } from '../../routing/redaction.ts';
import type { Outcome, TextExecution } from './execution.ts';
import { targetOf } from './model-routes.ts';
import { canPass, passThrough } from './pass-through.ts';
import { answerBySandbox } from './sandbox-answer.ts';
import { translate } from './translate.ts';
import { type RemoteRoute, timeoutsUntil } from './upstream-request.ts';

/**
 * Answers a request by one route of its model.
 *
 * @param provider its settings, with the key to use
 * @param deadline time of `performance.now()` by which an answer is needed
 * @throws Failure where the client was sent nothing yet
 */
export function runRoute(
  execution: TextExecution,
  route: TextRoute,
  provider: Provider,
  deadline: number,
): Promise<Outcome> {
  const { config, model, wildcardPart, request } = execution;
  const target = targetOf(route, provider, request.dialect, model, wildcardPart);
  if (!isRemote(provider)) return answerBySandbox(execution, target, deadline);
  const { apiKey, baseUrl } = provider;
  const remote: RemoteRoute = {
    route,
    provider,
    target,
    origin: { name: target.provider, apiKey, baseUrl, redact: secretsRedactor(config.providers) },
    timeouts: timeoutsUntil(deadline, config, provider, request.stream),
  };
  // One request for all answers would repeat those that are there.
  const isPassed = execution.answers.complete.size === 0 && canPass(request, target);
  return isPassed ? passThrough(execution, remote) : translate(execution, remote);
}
