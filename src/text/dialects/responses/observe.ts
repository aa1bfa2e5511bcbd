import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectOf, objectsOf } from '../../../schema/untrusted.ts';
import type { Json, Usage } from '../../canonical.ts';
import { outputCounter } from '../count-output.ts';
import type { Observation } from '../dialect.ts';
import { completeUsage } from '../usage.ts';
import { outputText } from './answer.ts';
import { usageOf } from './usage.ts';

/** Events without one of these say nothing that a relay must know. */
export const markers = [
  // Names the model, and tells whose answer it is, should it go wrong later.
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  '"error"',
] as const;

/** Counts events whose type ends so, as `response.output_text.delta` does. */
export const countOutput = outputCounter(/\.delta"/g);

/** What went wrong, by an event `error`: its details stand in it, or under a property of it. */
export function failureIn(event: Json) {
  const { error } = event;
  if (isObject(error) || typeof error === 'string') return upstreamFailure(null, { error });
  const { code, message, param } = event;
  return upstreamFailure(null, { error: { code, message, param } });
}

/** What one event tells a relay that passes it on. */
export function observe(event: Json): Observation {
  const { type } = event;
  if (type === 'error') return { failure: failureIn(event) };
  if (
    type !== 'response.completed' &&
    type !== 'response.incomplete' &&
    type !== 'response.failed'
  ) {
    return {};
  }
  const response = objectOf(event['response']);
  const { usage, body } = observeAnswer(response);
  return {
    terminal: true,
    ...(usage && { usage }),
    ...((usage || 'output_text' in body) && { rewritten: { ...event, response: body } }),
    ...(type === 'response.failed' && {
      failure: upstreamFailure(null, { error: response['error'] }),
    }),
  };
}

/** A whole answer, which gets the usage of interface part 2.2 and the text of part 2.7. */
export function observeAnswer(body: Json): { readonly usage: Usage | null; readonly body: Json } {
  const { usage: told } = body;
  const usage = usageOf(told);
  if (usage !== null) completeUsage(told as Json, usage);
  const { output } = body;
  if (Array.isArray(output) && typeof body['output_text'] !== 'string') {
    (body as Record<string, unknown>)['output_text'] = outputText(objectsOf(output));
  }
  return { usage, body };
}
