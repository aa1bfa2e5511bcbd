import type { Json, NativePart, TextRequest } from '../canonical/canonical.ts';
import { conversationIndexOf } from '../canonical/canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { refusalOf } from '../dialects/request-errors.ts';
import { unchanged } from '../policy/leave-out.ts';
import { encodeFor } from '../policy/unsupported.ts';
import { collectAnswers, readAnswer } from './collect-answers.ts';
import { announceOmitted, type Outcome, type TextExecution, withoutOwn } from './execution.ts';
import { openUpstream, type RemoteRoute } from './upstream-request.ts';

/** Sends the request in the upstream's dialect, and answers in the client's. */
export async function translate(execution: TextExecution, route: RemoteRoute): Promise<Outcome> {
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
    const exchange = await openUpstream(execution, route, { body, stream, signal });
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
