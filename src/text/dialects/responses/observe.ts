import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectOf, objectsOf, textsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { outputCounter } from '../count-output.ts';
import type { AnswerObserver } from '../dialect.ts';
import { completeUsage } from '../usage.ts';
import { outputText } from './answer.ts';
import { usageOf } from './usage.ts';

/** The failure of an `error` event, whose details are in the event or in its property `error`. */
export function failureIn(event: Json) {
  const { error } = event;
  if (isObject(error) || typeof error === 'string') return upstreamFailure(null, { error });
  const { code, message, param } = event;
  return upstreamFailure(null, { error: { code, message, param } });
}

/** These events come before failures as well. */
const OUTPUT = /"type"\s*:\s*"response\.(?!created|queued|in_progress)/;

/** The last events of a response. */
const LAST = ['response.completed', 'response.incomplete', 'response.failed'];

export const observer: AnswerObserver = {
  markers: [
    // Has the model, and the response that a later failure continues.
    'response.created',
    'response.queued',
    'response.in_progress',
    ...LAST,
    '"error"',
  ],
  // Events such as `response.output_text.delta`.
  countOutput: outputCounter(/\.delta"/g),
  hasOutput: (frames) => OUTPUT.test(frames),
  observe(event) {
    const { type } = event;
    if (type === 'error') return { failure: failureIn(event) };
    if (!LAST.includes(String(type))) return {};
    const response = objectOf(event['response']);
    const hasUsage = isObject(response['usage']);
    const { usage, body } = observeAnswer(response);
    return {
      terminal: true,
      ...(usage && { usage }),
      ...((hasUsage || 'output_text' in body) && { rewritten: { ...event, response: body } }),
      ...(type === 'response.failed' && {
        failure: upstreamFailure(null, { error: response['error'] }),
      }),
    };
  },
  observeAnswer,
  finishReasons(body) {
    const { status, incomplete_details: details } = objectOf(body['response'] ?? body);
    if (status !== 'completed' && status !== 'incomplete') return [];
    return textsOf([objectOf(details)['reason'] ?? status]);
  },
};

/** Completes the usage and the text of a response. */
function observeAnswer(body: Json): { readonly usage: Usage | null; readonly body: Json } {
  const { usage: reported } = body;
  const usage = usageOf(reported);
  const own = body as Record<string, unknown>;
  if (usage !== null) completeUsage(reported as Json, usage);
  else if (isObject(reported)) own['usage'] = null;
  const { output } = body;
  if (Array.isArray(output) && typeof body['output_text'] !== 'string') {
    own['output_text'] = outputText(objectsOf(output));
  }
  return { usage, body };
}
