import type { Failure } from '../../../failure.ts';
import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import { isObject, objectOf, textsOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { Usage } from '../../canonical/events.ts';
import { invalidAnswer } from '../answer-errors.ts';
import { outputCounter } from '../count-output.ts';
import type { AnswerObserver } from '../dialect.ts';
import { completeUsage } from '../usage.ts';
import { usageIn, usageOf } from './usage.ts';

/**
 * Most chunks have none of these, though many have `"usage":null` and `"finish_reason":null`. Texts
 * cannot contain them, since their quotes are escaped.
 */
const MARKERS = [
  '"usage":{',
  '"usage": {',
  '"finish_reason":"',
  '"finish_reason": "',
  '"error"',
  // Of MiniMax, which reports failures by it with status 200.
  '"base_resp"',
];

/** A delta with text, a call or anything else than a role and empty values, or the end of an answer. */
const OUTPUT =
  /"delta"\s*:\s*\{(?!(?:\s*"role"\s*:\s*"\w+"|\s*"\w+"\s*:\s*(?:""|null|\[\])|\s*,)*\s*\})|"finish_reason"\s*:\s*"/;

/** Whether a chunk or an answer is an error. */
export function isFailed(chunk: Json): boolean {
  const error = chunk['error'];
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  const status = objectOf(chunk['base_resp'])['status_code'];
  if (typeof status === 'number' && status !== 0) return true;
  return chunk['object'] === 'error';
}

interface UsageObservation {
  readonly usage: Usage | null;
  /** Whether the body got missing integers of the usage, or lost a usage without any. */
  readonly isCompleted: boolean;
}

function observedUsage(own: Json, before: Usage | null): UsageObservation {
  const reported = usageIn(own);
  if (!isObject(reported)) return { usage: null, isCompleted: false };
  const usage = usageOf(reported, before);
  if (usage !== null) return { usage, isCompleted: completeUsage(reported, usage) };
  return { usage, isCompleted: reported === own['usage'] && Reflect.deleteProperty(own, 'usage') };
}

/** The failure in a chunk, an answer or one of its choices; null for none. */
function failureIn(chunk: Json, choices: readonly (Json | null)[]): Failure | null {
  if (isFailed(chunk)) return upstreamFailure(null, chunk);
  for (const choice of choices) {
    const error = choice?.['error'];
    if (typeof error === 'object' && error !== null) return upstreamFailure(null, { error });
  }
  return null;
}

function choicesOf({ choices }: Json): readonly (Json | null)[] {
  return Array.isArray(choices) ? choices : [];
}

export const observer: AnswerObserver = {
  markers: [...MARKERS, '[DONE]'],
  // Deltas that are not empty, with or without blanks in their JSON.
  countOutput: outputCounter(/"delta": ?\{ ?"/g),
  hasOutput: (frames) => OUTPUT.test(frames),
  observe(chunk, before = null) {
    const choices = choicesOf(chunk);
    const failure = failureIn(chunk, choices);
    if (failure) return { failure };
    const isUsageOnly = choices.length === 0 && isObject(usageIn(chunk));
    const { usage, isCompleted } = observedUsage(chunk, before);
    const finished = choices.some((choice) => typeof choice?.['finish_reason'] === 'string');
    return {
      ...(usage !== null && { usage }),
      ...(isCompleted && { rewritten: chunk }),
      ...(finished && { terminal: true }),
      ...(isUsageOnly && { usageOnly: true }),
    };
  },
  observeAnswer(body) {
    const { usage } = observedUsage(body, null);
    const choices = choicesOf(body);
    const isEmpty = Array.isArray(body['choices']) && choices.length === 0;
    const failure = failureIn(body, choices);
    return {
      usage,
      body,
      failure: failure ?? (isEmpty ? invalidAnswer('an answer without choices') : null),
    };
  },
  finishReasons: (body) => textsOf(choicesOf(body).map((choice) => choice?.['finish_reason'])),
};
