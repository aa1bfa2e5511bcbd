import type { Failure } from '../../../failure.ts';
import { upstreamFailure } from '../../../routing/upstream-failure.ts';
import type { Json, Usage } from '../../canonical.ts';
import { outputCounter } from '../count-output.ts';
import type { Observation } from '../dialect.ts';
import { completeUsage } from '../usage.ts';
import { usageOf } from './usage.ts';

/**
 * Most chunks hold none of these, though many hold `"usage":null` and `"finish_reason":null`. Inside
 * a text, quotes are escaped, so that no answer can speak like this.
 */
export const markers: readonly string[] = [
  '"usage":{',
  '"usage": {',
  '"finish_reason":"',
  '"finish_reason": "',
  '"error"',
];

/** Counts deltas that are not empty, however their JSON is spaced. */
export const countOutput = outputCounter(/"delta": ?\{ ?"/g);

/** Whether a chunk tells of a failure: in its own words, or as one of its choices. */
export function isFailed(chunk: Json): boolean {
  const error = chunk['error'];
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  return chunk['object'] === 'error';
}

interface Observed {
  readonly usage: Usage | null;
  /** Whether the answer or the chunk got some of the six integers of interface part 2.2. */
  readonly completed: boolean;
}

function usageWithin(own: Json, before: Usage | null): Observed {
  const told = own['usage'];
  const usage = typeof told === 'object' && told !== null ? usageOf(told, before) : null;
  return { usage, completed: usage !== null && completeUsage(told as Json, usage) };
}

/** What went wrong, by a chunk or a whole answer; null where nothing did. */
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

export function observe(chunk: Json, before: Usage | null = null): Observation {
  const choices = choicesOf(chunk);
  const failure = failureIn(chunk, choices);
  if (failure) return { failure };
  const { usage, completed } = usageWithin(chunk, before);
  const finished = choices.some((choice) => {
    return typeof choice?.['finish_reason'] === 'string';
  });
  return {
    ...(usage !== null && { usage }),
    ...(completed && { rewritten: chunk }),
    ...(finished && { terminal: true }),
    ...(usage !== null && choices.length === 0 && { usageOnly: true }),
  };
}

/** A whole answer, which gets the usage of interface part 2.2. */
export function observeAnswer(body: Json) {
  const { usage } = usageWithin(body, null);
  return { usage, body, failure: failureIn(body, choicesOf(body)) };
}
