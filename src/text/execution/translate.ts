import type { Json, TextRequest } from '../canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { emulate } from '../emulation/emulate.ts';
import { encodeFor } from '../policy/unsupported.ts';
import { collectAnswers, readAnswer } from './collect-answers.ts';
import { announceOmitted, type Outcome, type TextExecution } from './execution.ts';
import { openUpstream, type RemoteRoute } from './upstream-request.ts';

/** Sends the request in the upstream's dialect, and answers in the client's. */
export async function translate(execution: TextExecution, route: RemoteRoute): Promise<Outcome> {
  const { request, allowance, inspection, model } = execution;
  const { provider, target, origin } = route;
  const emulated = emulate(request, target);
  const { stream } = emulated.request;
  // Only a route of the client's own dialect is asked for several answers in one request.
  const sent = { ...emulated.request, n: null };
  const { body, dropped } = encodeFor(sent, target, {
    route: route.route,
    model,
    id: request.model,
  });
  allowance.check(inspection, provider.shared !== false);
  const advice = [...ignoredAdvice(request, body, target), ...emulated.ignored];
  announceOmitted(execution, target, { advice, dropped });
  return collectAnswers(execution, request.n ?? 1, origin, async (sink, choice, signal) => {
    const exchange = await openUpstream(execution, route, { body, stream, signal });
    await readAnswer(execution, exchange, { target, origin, sink, choice, emulated });
  });
}

/** Paths of advice that the translated request does not hold. */
function ignoredAdvice(
  { advice }: TextRequest,
  body: Json,
  { dialect }: Target,
): readonly string[] {
  const { takesImageDetail } = dialectNamed(dialect);
  return advice.filter((path) => {
    return body[path] === undefined && !(takesImageDetail && path.endsWith('.detail'));
  });
}
