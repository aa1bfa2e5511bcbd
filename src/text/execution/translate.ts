import type { Json, TextRequest } from '../canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { emulate } from '../emulation/emulate.ts';
import { type EncodedRequest, encodeFor } from '../policy/unsupported.ts';
import { collectAnswers, readAnswer } from './collect-answers.ts';
import { conversationOf, conversationsOf } from './conversations.ts';
import { announceOmitted, type Outcome, type TextExecution } from './execution.ts';
import { openUpstream, type RemoteRoute } from './upstream-request.ts';

/** Sends the request in the upstream's dialect, and answers in the client's. */
export async function translate(execution: TextExecution, route: RemoteRoute): Promise<Outcome> {
  const { request, allowance, inspection, model } = execution;
  const { provider, target, origin } = route;
  const isForeign = request.dialect !== target.dialect;
  const left = isForeign ? execution.hosted?.withoutNative(request) : undefined;
  const emulated = emulate(left?.request ?? request, target);
  const { stream } = emulated.request;
  // Only a route of the client's own dialect is asked for several answers in one request.
  const sent = { ...emulated.request, n: null };
  const options = { route: route.route, model, id: request.model };
  const bodies = conversationsOf(sent).map((one) => encodeFor(one, target, options));
  allowance.check(inspection, provider.shared !== false);
  const [{ body: first, dropped }] = bodies as [EncodedRequest];
  const advice = [
    ...ignoredAdvice(request, first, target),
    ...emulated.ignored,
    ...(left?.leftOut ?? []),
  ];
  announceOmitted(execution, { advice, dropped });
  return collectAnswers(execution, request.n ?? 1, origin, async (sink, choice, signal) => {
    const { body } = bodies[conversationOf(request, choice)]!;
    const exchange = await openUpstream(execution, route, { body, stream, signal });
    await readAnswer(execution, exchange, { target, origin, sink, choice, emulated });
  });
}

/** Paths of advice that the translated request does not hold. */
function ignoredAdvice(request: TextRequest, body: Json, { dialect }: Target): readonly string[] {
  const { advice } = request;
  if (advice.length === 0) return advice;
  const { takesImageDetail, cacheMarks } = dialectNamed(dialect);
  const marks = new Set(cacheMarks?.(request).map(({ path }) => path));
  return advice.filter((path) => {
    if (body[path] !== undefined || marks.has(path)) return false;
    return !(takesImageDetail && path.endsWith('.detail'));
  });
}
