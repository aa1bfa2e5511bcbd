import type { TextRoute } from '../../config/catalog/catalog.ts';
import { isRemote, type Provider } from '../../config/providers/provider-kinds.ts';
import { codedFailure } from '../../failure.ts';
import { secretsRedactor } from '../../routing/redaction.ts';
import { timeoutsUntil } from '../../routing/retry-policy.ts';
import { linkedSignal } from '../../upstream/abort-signal.ts';
import {
  conversationIndexOf,
  conversationsOf,
  type Json,
  type NativePart,
  type TextRequest,
} from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { refusalOf } from '../dialects/request-errors.ts';
import { emulateForSandbox } from '../emulation/emulate.ts';
import { unchanged } from '../policy/leave-out.ts';
import { encodeFor, withoutHints } from '../policy/unsupported.ts';
import { clientEvents } from '../relay/client-events.ts';
import { answerFromSandbox } from '../sandbox/sandbox.ts';
import { collectAnswers, readAnswer } from './collect-answers.ts';
import {
  announceOmitted,
  clientOf,
  type Outcome,
  type TextExecution,
  withoutOwn,
} from './execution.ts';
import { targetOf } from './model-routes.ts';
import { canPass, passThrough } from './pass-through.ts';
import { openUpstream, type RemoteRoute } from './upstream-request.ts';

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
  if (!isRemote(provider)) return answerBySandbox(execution, route, target, deadline);
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
  return isPassed || execution.call.isCompaction
    ? passThrough(execution, remote)
    : translate(execution, remote);
}

/** Sends the request in the upstream's dialect, and answers in the client's. */
async function translate(execution: TextExecution, route: RemoteRoute): Promise<Outcome> {
  const { request, allowance, inspection, model } = execution;
  const { provider, target, origin } = route;
  const isForeign = request.dialect !== target.dialect;
  const refusal = (part: NativePart) => refusalOf(part, target.dialect);
  const left = isForeign ? withoutOwn(execution, refusal) : unchanged(request);
  const options = { route: route.route, model, id: request.model };
  const { emulated, bodies, dropped } = encodeFor(left.request, target, options);
  const { stream } = emulated.request;
  const advice = isForeign ? ignoredAdvice(request, bodies[0]!, target) : [];
  // What is not sent needs no permission.
  const unsent = [...advice, ...dropped, ...left.ignored, ...left.dropped];
  allowance.check(inspection, provider.shared !== false, new Set(unsent));
  announceOmitted(execution, { ignored: advice, dropped }, emulated, left);
  return collectAnswers(execution, request.n ?? 1, origin, async (sink, choice, signal) => {
    const body = bodies[conversationIndexOf(request, choice)]!;
    const exchange = await openUpstream(execution, route, { body, stream, signal, choice });
    await readAnswer(execution, exchange, { target, origin, sink, choice, emulated });
  });
}

/** Paths of advice that the translated request does not hold. */
function ignoredAdvice(request: TextRequest, body: Json, { dialect }: Target): readonly string[] {
  const { advice } = request;
  if (advice.length === 0) return advice;
  const { takesImageDetail, namesEndUser, cacheMarks } = dialectNamed(dialect);
  const marks = new Set(cacheMarks?.(request).map(({ path }) => path));
  return advice.filter((path) => {
    // Every encoder that writes `store` asks the provider not to store.
    const isSent = body[path] !== undefined && body[path] !== false;
    if (isSent || marks.has(path)) return false;
    if (namesEndUser && path === request.endUser?.path) return false;
    return !(takesImageDetail && path.endsWith('.detail'));
  });
}

/** Answers by the embedded sandbox. @param deadline time of `performance.now()` by which an answer is needed */
async function answerBySandbox(
  execution: TextExecution,
  route: TextRoute,
  target: Target,
  deadline: number,
): Promise<Outcome> {
  const { call, request, inputTokens: inputs, model } = execution;
  const left = withoutOwn(execution, () => 'the sandbox cannot do this');
  const able = withoutHints(left.request, { route, model });
  const emulated = emulateForSandbox(able.request, target);
  announceOmitted(execution, left, able);
  const { signal: cancellation, release } = linkedSignal(execution.drain.signal);
  const controller = new AbortController();
  cancellation.addEventListener('abort', () => controller.abort(cancellation.reason));
  if (cancellation.aborted) controller.abort(cancellation.reason);
  const remaining = deadline - performance.now();
  const late = 'the sandbox did not answer in time';
  const timer = setTimeout(
    () => cancellation.abort(codedFailure('total_timeout', late)),
    remaining,
  );
  try {
    const origin = { name: target.provider };
    const conversations = conversationsOf(emulated.request);
    const options = { target, origin, ...clientOf(execution), dialect: target.dialect };
    return await collectAnswers(execution, request.n ?? 1, origin, async (sink, choice) => {
      const emit = clientEvents(options, (event) => sink.push(event, choice));
      const inputTokens = inputs[choice] ?? 0;
      const take = emulated.filter({ emit, inputTokens });
      const one = conversations[conversationIndexOf(request, choice)]!;
      await answerFromSandbox(one, target, {
        signal: controller.signal,
        emit: (event) => {
          sink.hasOutput = true;
          take(event);
          return sink.flush() ? undefined : call.response.drained();
        },
      });
    });
  } finally {
    clearTimeout(timer);
    release();
  }
}
